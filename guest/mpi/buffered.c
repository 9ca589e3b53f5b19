/* Buffered sends.
 *
 * A message that can leave at once does. Another one is copied, and counts against the size of the
 * buffer that its program has attached; the copy itself stands in the library's memory. */
#include "mpi/errors.h"
#include "mpi/messages.h"
#include "mpi/transport.h"

static struct {
    void *memory;
    size_t bytes, used;
} attached;

int buffer_reserve(struct communicator *comm, size_t bytes, const char *function) {
    size_t needed = bytes + MPI_BSEND_OVERHEAD;
    if (needed > attached.bytes - attached.used)
        return mpi_error(comm, MPI_ERR_BUFFER, function,
                         "the message needs %zu bytes of the attached buffer, which has %zu left",
                         needed, attached.bytes - attached.used);
    attached.used += needed;
    return MPI_SUCCESS;
}

void buffer_give_back(size_t bytes) {
    attached.used -= bytes + MPI_BSEND_OVERHEAD;
}

/* Sends at once, or in the background. */
static int send_buffered(struct request *prepared, const char *function) {
    if (prepared->peer == MPI_PROC_NULL ||
        send_eager(prepared->peer, prepared->context, prepared->tag, prepared->buffer,
                   prepared->count, prepared->type))
        return MPI_SUCCESS;
    size_t bytes = prepared->count * prepared->type->size;
    int error = buffer_reserve(prepared->comm, bytes, function);
    if (error)
        return error;
    struct request *request = new_request(SEND_REQUEST, prepared->comm);
    *request = *prepared;
    request->is.is_orphan = true;
    start_request(request);
    return MPI_SUCCESS;
}

int PMPI_Bsend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm) {
    struct message message = {(void *)(uintptr_t)buffer, count, datatype, destination, tag, comm};
    struct request request;
    int error = set_up_send(&request, &message, BUFFERED, FUNCTION);
    return error ? error : send_buffered(&request, FUNCTION);
}
MPI_NAME(Bsend);

int PMPI_Ibsend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
                MPI_Comm comm, MPI_Request *handle) {
    struct message message = {(void *)(uintptr_t)buffer, count, datatype, destination, tag, comm};
    struct request request;
    int error = set_up_send(&request, &message, BUFFERED, FUNCTION);
    if (!error)
        error = send_buffered(&request, FUNCTION);
    if (!error)
        *handle = (MPI_Request)&sent_request;
    return error;
}
MPI_NAME(Ibsend);

int PMPI_Buffer_attach(void *buffer, int size) {
    struct communicator *comm = NULL;
    CHECK_ACTIVE();
    CHECK(!attached.memory, MPI_ERR_BUFFER, "a buffer is attached already");
    CHECK(buffer && size >= 0, MPI_ERR_ARG, "the buffer of %d bytes is none", size);
    attached.memory = buffer;
    attached.bytes = (size_t)size;
    return MPI_SUCCESS;
}
MPI_NAME(Buffer_attach);

int PMPI_Buffer_detach(void *buffer_address, int *size) {
    CHECK_ACTIVE();
    while (attached.used > 0)
        progress();
    *(void **)buffer_address = attached.memory;
    *size = (int)attached.bytes;
    attached.memory = NULL;
    attached.bytes = 0;
    return MPI_SUCCESS;
}
MPI_NAME(Buffer_detach);
