#include "mpi/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"

enum { TEXT_BYTES = 400 };

/* The communicators of MPICH before it had this ABI are these numbers. */
enum { MPICH_WORLD = 0x44000000, MPICH_SELF = 0x44000001 };

static const struct {
    int class;
    const char *name, *words;
} classes[] = {
    {MPI_SUCCESS, "MPI_SUCCESS", "no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER", "invalid buffer"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT", "invalid count"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE", "invalid datatype"},
    {MPI_ERR_TAG, "MPI_ERR_TAG", "invalid tag"},
    {MPI_ERR_COMM, "MPI_ERR_COMM", "invalid communicator"},
    {MPI_ERR_RANK, "MPI_ERR_RANK", "invalid rank"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST", "invalid request"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT", "invalid root"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP", "invalid group"},
    {MPI_ERR_OP, "MPI_ERR_OP", "invalid operation"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY", "invalid topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS", "invalid dimensions"},
    {MPI_ERR_ARG, "MPI_ERR_ARG", "invalid argument"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN", "unknown error"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE", "message truncated"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER", "other error"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN", "internal error"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING", "request not complete"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS", "the error is in the status"},
    {MPI_ERR_DISP, "MPI_ERR_DISP", "invalid displacement"},
    {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE", "invalid type of lock"},
    {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE", "not within the window"},
    {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC", "wrong order of calls that begin and end epochs"},
    {MPI_ERR_SIZE, "MPI_ERR_SIZE", "invalid size"},
    {MPI_ERR_WIN, "MPI_ERR_WIN", "invalid window"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL", "invalid key of an attribute"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM", "no memory left"},
    {MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER", "invalid error handler"},
};

enum { CLASSES = sizeof classes / sizeof classes[0] };

static size_t place_of(int class) {
    size_t place = 0;
    while (place < CLASSES && classes[place].class != class)
        place += 1;
    return place;
}

const char *error_name(int class) {
    size_t place = place_of(class);
    return place < CLASSES ? classes[place].name : "an error of the program's own";
}

int mpi_error(struct communicator *comm, int class, const char *function, const char *format, ...) {
    struct communicator *owner = comm ? comm : &world;
    MPI_Errhandler handler = owner->error_handler;
    if (handler == MPI_ERRORS_RETURN)
        return class;
    if (!is_constant(handler)) {
        MPI_Comm handle = communicator_handle(owner);
        ((struct error_handler *)handler)->function(&handle, &class);
        return class;
    }
    char text[TEXT_BYTES], on[sizeof owner->name + 8] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (comm)
        snprintf(on, sizeof on, " on %s", comm->name);
    narthex_fail("rank %d calls %s%s: %s (%s)", owner->rank, function, on, text, error_name(class));
}

int mpi_error_communicator(MPI_Comm comm, const char *function) {
    uintptr_t handle = (uintptr_t)comm;
    if (mpi_state == BEFORE_INIT)
        narthex_fail("rank %d calls %s before MPI_Init", narthex_node(), function);
    if (mpi_state == FINALIZED)
        narthex_fail("rank %d calls %s after MPI_Finalize", narthex_node(), function);
    if (handle == MPICH_WORLD || handle == MPICH_SELF)
        narthex_fail("rank %d calls %s with a communicator of MPICH's own header: compile the "
                     "program with the mpi.h that comes with narthex mpicc",
                     world.rank, function);
    if (comm == MPI_COMM_NULL)
        return mpi_error(NULL, MPI_ERR_COMM, function, "the communicator is MPI_COMM_NULL");
    return mpi_error(NULL, MPI_ERR_COMM, function,
                     "the communicator is none: it has been freed, or its handle was never set");
}

int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function,
                                MPI_Errhandler *errhandler) {
    struct communicator *comm = NULL;
    CHECK(function, MPI_ERR_ARG, "the function is NULL");
    struct error_handler *handler = mpi_allocate(sizeof *handler);
    handler->function = function;
    *errhandler = (MPI_Errhandler)handler;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_create_errhandler);

int PMPI_Comm_set_errhandler(MPI_Comm handle, MPI_Errhandler errhandler) {
    FIND_COMMUNICATOR(comm, handle);
    bool is_one = errhandler == MPI_ERRORS_ARE_FATAL || errhandler == MPI_ERRORS_ABORT ||
                  errhandler == MPI_ERRORS_RETURN || !is_constant(errhandler);
    CHECK(is_one, MPI_ERR_ERRHANDLER, "the error handler is none");
    comm->error_handler = errhandler;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_set_errhandler);

int PMPI_Comm_get_errhandler(MPI_Comm handle, MPI_Errhandler *errhandler) {
    FIND_COMMUNICATOR(comm, handle);
    *errhandler = comm->error_handler;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_get_errhandler);

int PMPI_Comm_call_errhandler(MPI_Comm handle, int errorcode) {
    FIND_COMMUNICATOR(comm, handle);
    mpi_error(comm, errorcode, FUNCTION, "the program reports an error");
    return MPI_SUCCESS;
}
MPI_NAME(Comm_call_errhandler);

/* Communicators may still have it: its memory stays. */
int PMPI_Errhandler_free(MPI_Errhandler *errhandler) {
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
MPI_NAME(Errhandler_free);

int PMPI_Error_class(int errorcode, int *errorclass) {
    *errorclass = errorcode;
    return MPI_SUCCESS;
}
MPI_NAME(Error_class);

int PMPI_Error_string(int errorcode, char *string, int *length) {
    size_t place = place_of(errorcode);
    struct communicator *comm = NULL;
    CHECK(place < CLASSES, MPI_ERR_ARG, "there is no error %d", errorcode);
    *length =
        snprintf(string, MPI_MAX_ERROR_STRING, "%s: %s", classes[place].name, classes[place].words);
    return MPI_SUCCESS;
}
MPI_NAME(Error_string);
