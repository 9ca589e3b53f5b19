/* All-to-all whose blocks have types of their own, and displacements in bytes: straight, as
 * alltoall.c does it. */
#include "mpi/collectives.h"

struct typed_blocks {
    char *buffer;
    const int *counts, *displacements;
    const MPI_Datatype *types;
};

static struct elements block_of(const struct typed_blocks *blocks, int rank) {
    return elements(blocks->buffer + blocks->displacements[rank], (size_t)blocks->counts[rank],
                    find_datatype(blocks->types[rank]));
}

static int check_blocks(struct communicator *comm, const struct typed_blocks *blocks,
                        const char *function) {
    for (int rank = 0; rank < comm->size; rank++) {
        FIND_DATATYPE_IN(function, type, blocks->types[rank]);
        CHECK_COUNT_IN(function, blocks->counts[rank]);
    }
    return MPI_SUCCESS;
}

/* What a rank is sent: in place, a copy of what stands where it is received. */
static struct elements sent_to(struct schedule *schedule, const struct typed_blocks *send,
                               const struct typed_blocks *receive, int rank) {
    if (send->buffer != (char *)MPI_IN_PLACE)
        return block_of(send, rank);
    struct elements there = block_of(receive, rank);
    struct datatype *byte = find_datatype(MPI_BYTE);
    size_t bytes = there.count * there.type->size;
    struct elements packed = elements(step_memory(schedule, bytes, byte), bytes, byte);
    step_copy(schedule, there, packed);
    return packed;
}

static int all_to_all(const struct typed_blocks *send, const struct typed_blocks *receive,
                      MPI_Comm handle, MPI_Request *request, const char *function) {
    FIND_COMMUNICATOR_IN(function, comm, handle);
    int error = check_blocks(comm, receive, function);
    if (!error && send->buffer != (char *)MPI_IN_PLACE)
        error = check_blocks(comm, send, function);
    if (error)
        return error;
    struct schedule *schedule = begin_collective(comm, ALLTOALLW, 0, function);
    struct elements *out =
        step_memory(schedule, (size_t)comm->size * sizeof *out, find_datatype(MPI_BYTE));
    for (int rank = 0; rank < comm->size; rank++)
        out[rank] = sent_to(schedule, send, receive, rank);
    step_copy(schedule, out[comm->rank], block_of(receive, comm->rank));
    for (int distance = 1; distance < comm->size; distance++) {
        int to = (comm->rank + distance) % comm->size;
        int from = (comm->rank - distance + comm->size) % comm->size;
        step_receive(schedule, from, block_of(receive, from));
        step_send(schedule, to, out[to]);
    }
    return finish_schedule(schedule, request);
}

#define ARGUMENTS                                                                                  \
    const void *send, const int send_counts[], const int send_displacements[],                     \
        const MPI_Datatype send_types[], void *receive, const int receive_counts[],                \
        const int receive_displacements[], const MPI_Datatype receive_types[], MPI_Comm comm
#define BLOCKS                                                                                     \
    &(struct typed_blocks){(char *)(uintptr_t)send, send_counts, send_displacements, send_types},  \
        &(struct typed_blocks) {                                                                   \
        receive, receive_counts, receive_displacements, receive_types                              \
    }

int PMPI_Alltoallw(ARGUMENTS) {
    return all_to_all(BLOCKS, comm, NULL, FUNCTION);
}
MPI_NAME(Alltoallw);

int PMPI_Ialltoallw(ARGUMENTS, MPI_Request *request) {
    return all_to_all(BLOCKS, comm, request, FUNCTION);
}
MPI_NAME(Ialltoallw);
