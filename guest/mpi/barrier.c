/* The barrier: in round r each rank tells the one 2^r further that it has come (dissemination). */
#include "mpi/overrides.h"

static int barrier(MPI_Comm handle, MPI_Request *request, const char *function) {
    FIND_COMMUNICATOR_IN(function, comm, handle);
    struct schedule *schedule = begin_collective(comm, BARRIER, 0, function);
    int error;
    if (!request &&
        override_collective(schedule,
                            &(struct collective_call){.collective = BARRIER, .comm = comm}, &error))
        return error;
    int rank = comm->rank, size = comm->size;
    for (int distance = 1; distance < size; distance *= 2) {
        step_signal(schedule, (rank + distance) % size);
        step_await_signal(schedule, (rank - distance + size) % size);
        step_fence(schedule);
    }
    return finish_schedule(schedule, request);
}

int PMPI_Barrier(MPI_Comm comm) {
    return barrier(comm, NULL, FUNCTION);
}
MPI_NAME(Barrier);

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    return barrier(comm, request, FUNCTION);
}
MPI_NAME(Ibarrier);
