/* Scans, by recursive doubling: in each step a rank and the one whose number differs in one bit
 * exchange what they have reduced of their blocks of ranks; what comes from ranks before also goes
 * into this rank's result. */
#include "mpi/reductions.h"

static int scan(struct reduction *reduction, enum collective kind) {
    int error = find_reduction(reduction);
    if (error)
        return error;
    struct communicator *comm = reduction->comm;
    size_t count = (size_t)reduction->count;
    struct schedule *schedule = begin_collective(comm, kind, 0, reduction->function);
    struct partial partial = new_partial(schedule, reduction, own_values(reduction), count);
    struct elements result = elements(reduction->receive, count, reduction->type);
    bool has_result = kind == SCAN;
    if (has_result && reduction->send != MPI_IN_PLACE)
        step_copy(schedule, elements(reduction->send, count, reduction->type), result);
    for (int bit = 1; bit < comm->size; bit *= 2) {
        int other = comm->rank ^ bit;
        if (other >= comm->size)
            continue;
        step_send(schedule, other, partial_elements(&partial));
        if (other > comm->rank) {
            add_behind(&partial, other);
            continue;
        }
        add_before(&partial, other);
        struct elements received = elements(partial.other, count, reduction->type);
        if (has_result)
            step_reduce(schedule, reduction->operation, received.buffer, result);
        else
            step_copy(schedule, received, result);
        has_result = true;
    }
    return finish_schedule(schedule, reduction->request);
}

#define ARGUMENTS                                                                                  \
    const void *send, void *receive, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm

int PMPI_Scan(ARGUMENTS) {
    return scan(REDUCTION(count, 0, NULL), SCAN);
}
MPI_NAME(Scan);

int PMPI_Iscan(ARGUMENTS, MPI_Request *request) {
    return scan(REDUCTION(count, 0, request), SCAN);
}
MPI_NAME(Iscan);

int PMPI_Exscan(ARGUMENTS) {
    return scan(REDUCTION(count, 0, NULL), EXSCAN);
}
MPI_NAME(Exscan);

int PMPI_Iexscan(ARGUMENTS, MPI_Request *request) {
    return scan(REDUCTION(count, 0, request), EXSCAN);
}
MPI_NAME(Iexscan);
