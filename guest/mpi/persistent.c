/* Persistent requests. */
#include "mpi/errors.h"
#include "mpi/messages.h"

static int prepare(const struct message *message, enum request_kind kind, enum send_mode mode,
                   MPI_Request *handle, const char *function) {
    struct request prepared;
    int error = kind == SEND_REQUEST ? set_up_send(&prepared, message, mode, function)
                                     : set_up_receive(&prepared, message, function);
    if (error)
        return error;
    struct request *request = new_request(kind, prepared.comm);
    *request = prepared;
    request->is.is_persistent = request->is.is_done = true;
    request->is.is_plain = false;
    retain_datatype(request->type);
    *handle = (MPI_Request)request;
    return MPI_SUCCESS;
}

#define DEFINE_SEND_INIT(name, mode)                                                               \
    int PMPI_##name(const void *buffer, int count, MPI_Datatype datatype, int destination,         \
                    int tag, MPI_Comm comm, MPI_Request *request) {                                \
        struct message message = {                                                                 \
            (void *)(uintptr_t)buffer, count, datatype, destination, tag, comm};                   \
        return prepare(&message, SEND_REQUEST, mode, request, FUNCTION);                           \
    }                                                                                              \
    MPI_NAME(name)

DEFINE_SEND_INIT(Send_init, STANDARD);
DEFINE_SEND_INIT(Ssend_init, SYNCHRONOUS);
DEFINE_SEND_INIT(Rsend_init, READY);
DEFINE_SEND_INIT(Bsend_init, BUFFERED);

int PMPI_Recv_init(void *buffer, int count, MPI_Datatype datatype, int source, int tag,
                   MPI_Comm comm, MPI_Request *request) {
    struct message message = {buffer, count, datatype, source, tag, comm};
    return prepare(&message, RECEIVE_REQUEST, STANDARD, request, FUNCTION);
}
MPI_NAME(Recv_init);

static int start(MPI_Request handle, const char *function) {
    struct request *request = is_constant(handle) ? NULL : (struct request *)handle;
    bool is_one = request && request->mark == REQUEST_MARK && request->is.is_persistent;
    if (!is_one)
        return mpi_error(NULL, MPI_ERR_REQUEST, function, "the request is not a persistent one");
    if (request->is.is_active)
        return mpi_error(request->comm, MPI_ERR_REQUEST, function,
                         "the request has been started already, and not waited for");
    if (request->is.mode == BUFFERED && request->peer != MPI_PROC_NULL) {
        int error = buffer_reserve(request->comm, request->count * request->type->size, function);
        if (error)
            return error;
    }
    request->is.is_active = true;
    request->function = function;
    start_request(request);
    return MPI_SUCCESS;
}

int PMPI_Start(MPI_Request *request) {
    CHECK_ACTIVE();
    return start(*request, FUNCTION);
}
MPI_NAME(Start);

int PMPI_Startall(int count, MPI_Request requests[]) {
    int error = MPI_SUCCESS;
    CHECK_ACTIVE();
    for (int index = 0; index < count && !error; index++)
        error = start(requests[index], FUNCTION);
    return error;
}
MPI_NAME(Startall);
