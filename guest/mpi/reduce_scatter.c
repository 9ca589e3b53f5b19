/* Reduce-scatter: each rank gets its block of the result.
 *
 * Of an operation that commutes each rank combines its block alone, from what every other one sends
 * to it. Otherwise all ranks reduce all blocks in order, and each keeps its own. */
#include "mpi/reductions.h"

static size_t sum(const int counts[], int ranks) {
    size_t all = 0;
    for (int rank = 0; rank < ranks; rank++)
        all += (size_t)counts[rank];
    return all;
}

/* The block of a rank among the values of all. */
static struct elements block(const struct reduction *reduction, const int counts[], int rank,
                             const void *values) {
    return elements(element_at(values, sum(counts, rank), reduction->type), (size_t)counts[rank],
                    reduction->type);
}

static void add_pairs(struct schedule *schedule, const struct reduction *reduction,
                      const int counts[]) {
    int size = reduction->comm->size, rank = reduction->comm->rank;
    const void *values = own_values(reduction);
    struct elements own = block(reduction, counts, rank, values);
    struct partial partial = new_partial(schedule, reduction, own.buffer, own.count);
    for (int distance = 1; distance < size; distance++) {
        int to = (rank + distance) % size, from = (rank - distance + size) % size;
        step_send(schedule, to, block(reduction, counts, to, values));
        add_before(&partial, from);
    }
    step_fence(schedule);
    step_copy(schedule, partial_elements(&partial),
              elements(reduction->receive, own.count, own.type));
}

static void add_in_order(struct schedule *schedule, const struct reduction *reduction,
                         const int counts[]) {
    size_t all = sum(counts, reduction->comm->size);
    void *result = step_memory(schedule, all, reduction->type);
    add_all_reduce(schedule, reduction, own_values(reduction), result, all);
    struct elements own = block(reduction, counts, reduction->comm->rank, result);
    step_copy(schedule, own, elements(reduction->receive, own.count, own.type));
}

static int reduce_scatter(struct reduction *reduction, const int given_counts[],
                          enum collective kind) {
    int error = find_reduction(reduction);
    if (error)
        return error;
    struct communicator *comm = reduction->comm;
    for (int rank = 0; given_counts && rank < comm->size; rank++)
        CHECK_COUNT_IN(reduction->function, given_counts[rank]);
    struct schedule *schedule = begin_collective(comm, kind, 0, reduction->function);
    int *counts = step_memory(schedule, (size_t)comm->size, find_datatype(MPI_INT));
    for (int rank = 0; rank < comm->size; rank++)
        counts[rank] = given_counts ? given_counts[rank] : reduction->count;
    if (reduction->operation->commutes)
        add_pairs(schedule, reduction, counts);
    else
        add_in_order(schedule, reduction, counts);
    return finish_schedule(schedule, reduction->request);
}

#define ARGUMENTS                                                                                  \
    const void *send, void *receive, const int receive_counts[], MPI_Datatype datatype, MPI_Op op, \
        MPI_Comm comm
#define BLOCK_ARGUMENTS                                                                            \
    const void *send, void *receive, int receive_count, MPI_Datatype datatype, MPI_Op op,          \
        MPI_Comm comm

int PMPI_Reduce_scatter(ARGUMENTS) {
    return reduce_scatter(REDUCTION(0, 0, NULL), receive_counts, REDUCE_SCATTER);
}
MPI_NAME(Reduce_scatter);

int PMPI_Ireduce_scatter(ARGUMENTS, MPI_Request *request) {
    return reduce_scatter(REDUCTION(0, 0, request), receive_counts, REDUCE_SCATTER);
}
MPI_NAME(Ireduce_scatter);

int PMPI_Reduce_scatter_block(BLOCK_ARGUMENTS) {
    return reduce_scatter(REDUCTION(receive_count, 0, NULL), NULL, REDUCE_SCATTER_BLOCK);
}
MPI_NAME(Reduce_scatter_block);

int PMPI_Ireduce_scatter_block(BLOCK_ARGUMENTS, MPI_Request *request) {
    return reduce_scatter(REDUCTION(receive_count, 0, request), NULL, REDUCE_SCATTER_BLOCK);
}
MPI_NAME(Ireduce_scatter_block);
