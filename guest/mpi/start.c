/* Beginning and end, versions and time. */
#include <stdio.h>
#include <stdlib.h>

#include "messaging/narthex.h"
#include "mpi/errors.h"
#include "mpi/overrides.h"
#include "mpi/transport.h"

enum mpi_state mpi_state = BEFORE_INIT;

/* One thread at a time may call. */
enum { MOST_THREADS = MPI_THREAD_SERIALIZED };

static int provided_threads = MPI_THREAD_SINGLE;

static int start(const char *function) {
    if (mpi_state != BEFORE_INIT)
        narthex_fail("rank %d calls %s a second time", narthex_node(), function);
    transport_start();
    communicators_start();
    overrides_start();
    mpi_state = ACTIVE;
    narthex_barrier(); /* messages may come from here on */
    return MPI_SUCCESS;
}

int PMPI_Init(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return start(FUNCTION);
}
MPI_NAME(Init);

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    (void)argc, (void)argv;
    provided_threads = required < MOST_THREADS ? required : MOST_THREADS;
    *provided = provided_threads;
    return start(FUNCTION);
}
MPI_NAME(Init_thread);

int PMPI_Query_thread(int *provided) {
    CHECK_ACTIVE();
    *provided = provided_threads;
    return MPI_SUCCESS;
}
MPI_NAME(Query_thread);

int PMPI_Is_thread_main(int *flag) {
    CHECK_ACTIVE();
    *flag = 1;
    return MPI_SUCCESS;
}
MPI_NAME(Is_thread_main);

int PMPI_Initialized(int *flag) {
    *flag = mpi_state != BEFORE_INIT;
    return MPI_SUCCESS;
}
MPI_NAME(Initialized);

int PMPI_Finalized(int *flag) {
    *flag = mpi_state == FINALIZED;
    return MPI_SUCCESS;
}
MPI_NAME(Finalized);

/* After the first barrier nobody waits for this rank's messages; after the second no credits are
 * on their way, which ranks may have given in the first. */
int PMPI_Finalize(void) {
    CHECK_ACTIVE();
    int error = PMPI_Barrier(MPI_COMM_WORLD);
    narthex_barrier();
    mpi_state = FINALIZED;
    return error;
}
MPI_NAME(Finalize);

int PMPI_Abort(MPI_Comm comm, int errorcode) {
    (void)comm;
    narthex_fail("rank %d calls MPI_Abort with error code %d", narthex_node(), errorcode);
}
MPI_NAME(Abort);

int PMPI_Get_version(int *version, int *subversion) {
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}
MPI_NAME(Get_version);

int PMPI_Get_library_version(char *version, int *length) {
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
                       "MPI %d.%d in part, over Narthex's messaging library", MPI_VERSION,
                       MPI_SUBVERSION);
    return MPI_SUCCESS;
}
MPI_NAME(Get_library_version);

int PMPI_Abi_get_version(int *major, int *minor) {
    *major = MPI_ABI_VERSION;
    *minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}
MPI_NAME(Abi_get_version);

int PMPI_Get_processor_name(char *name, int *length) {
    CHECK_ACTIVE();
    *length =
        snprintf(name, MPI_MAX_PROCESSOR_NAME, "node %d", narthex_node() / narthex_processes());
    return MPI_SUCCESS;
}
MPI_NAME(Get_processor_name);

double PMPI_Wtime(void) {
    return (double)narthex_time_ns() * 1e-9;
}
MPI_NAME(Wtime);

double PMPI_Wtick(void) {
    return 1e-9;
}
MPI_NAME(Wtick);

int PMPI_Pcontrol(const int level, ...) {
    (void)level;
    return MPI_SUCCESS;
}
MPI_NAME(Pcontrol);
