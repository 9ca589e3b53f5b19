/* Transfers to and from windows with requests.
 *
 * What is sent has left its buffer when the transfer's call returns, so a request of that is over.
 * What is fetched is waited for in the call. */
#include "mpi/windows.h"

/* The request of a transfer of which the origin's part is over. */
static int finish(int error, MPI_Request *request) {
    if (!error)
        *request = (MPI_Request)&sent_request;
    return error;
}

/* Waits for what a call has begun to fetch. */
static int wait_for(int error, int rank, MPI_Win handle, MPI_Request *request,
                    const char *function) {
    if (!error && rank != MPI_PROC_NULL)
        flush_window(find_window(handle), rank, function);
    return finish(error, request);
}

#define TARGET int rank, MPI_Aint displacement, int target_count, MPI_Datatype target_type
#define ORIGIN const void *origin, int origin_count, MPI_Datatype origin_type

int PMPI_Rput(ORIGIN, TARGET, MPI_Win window, MPI_Request *request) {
    return finish(PMPI_Put(origin, origin_count, origin_type, rank, displacement, target_count,
                           target_type, window),
                  request);
}
MPI_NAME(Rput);

int PMPI_Raccumulate(ORIGIN, TARGET, MPI_Op op, MPI_Win window, MPI_Request *request) {
    return finish(PMPI_Accumulate(origin, origin_count, origin_type, rank, displacement,
                                  target_count, target_type, op, window),
                  request);
}
MPI_NAME(Raccumulate);

int PMPI_Rget(void *origin, int origin_count, MPI_Datatype origin_type, TARGET, MPI_Win window,
              MPI_Request *request) {
    int error = PMPI_Get(origin, origin_count, origin_type, rank, displacement, target_count,
                         target_type, window);
    return wait_for(error, rank, window, request, FUNCTION);
}
MPI_NAME(Rget);

int PMPI_Rget_accumulate(ORIGIN, void *result, int result_count, MPI_Datatype result_type, TARGET,
                         MPI_Op op, MPI_Win window, MPI_Request *request) {
    int error =
        PMPI_Get_accumulate(origin, origin_count, origin_type, result, result_count, result_type,
                            rank, displacement, target_count, target_type, op, window);
    return wait_for(error, rank, window, request, FUNCTION);
}
MPI_NAME(Rget_accumulate);
