#include "mpi/messages.h"

#include "mpi/errors.h"
#include "mpi/transport.h"

static int check_data(struct communicator *comm, const struct message *message,
                      const char *function) {
    if (message->count < 0)
        return mpi_error(comm, MPI_ERR_COUNT, function,
                         "the count is %d, and counts are not negative", message->count);
    struct datatype *type = find_datatype(message->datatype);
    if (!type || !type->is_committed)
        return mpi_error_datatype(comm, message->datatype, function);
    if (!message->buffer && message->count > 0 && type->name)
        return mpi_error(comm, MPI_ERR_BUFFER, function, "the buffer of %d elements is NULL",
                         message->count);
    return MPI_SUCCESS;
}

static int check_peer(struct communicator *comm, int peer, int tag, bool is_receive,
                      const char *function) {
    bool is_rank = (unsigned)peer < (unsigned)comm->size || peer == MPI_PROC_NULL;
    if (!is_rank && !(is_receive && peer == MPI_ANY_SOURCE))
        return mpi_error(comm, MPI_ERR_RANK, function, "the %s is rank %d, and ranks are 0 to %d",
                         is_receive ? "source" : "destination", peer, comm->size - 1);
    bool is_tag = (unsigned)tag <= LARGEST_TAG || (is_receive && tag == MPI_ANY_TAG);
    if (!is_tag)
        return mpi_error(comm, MPI_ERR_TAG, function, "the tag is %d, and tags are 0 to %d", tag,
                         LARGEST_TAG);
    return MPI_SUCCESS;
}

static int set_up(struct request *request, const struct message *message, enum request_kind kind,
                  const char *function) {
    struct communicator *comm = find_communicator(message->comm);
    if (!comm)
        return mpi_error_communicator(message->comm, function);
    int error = check_data(comm, message, function);
    if (!error)
        error = check_peer(comm, message->peer, message->tag, kind == RECEIVE_REQUEST, function);
    if (error)
        return error;
    fill_request(request, kind, comm, find_datatype(message->datatype), message->buffer,
                 message->count, message->peer, message->tag, function);
    return MPI_SUCCESS;
}

int set_up_send(struct request *request, const struct message *message, enum send_mode mode,
                const char *function) {
    int error = set_up(request, message, SEND_REQUEST, function);
    if (!error)
        request->is.mode = (uint8_t)mode;
    return error;
}

int set_up_receive(struct request *request, const struct message *message, const char *function) {
    return set_up(request, message, RECEIVE_REQUEST, function);
}

void start_request(struct request *request) {
    request->is.is_done = request->is.is_cancelled = false;
    if (request->peer == MPI_PROC_NULL) {
        request->source = MPI_PROC_NULL;
        request->source_tag = MPI_ANY_TAG;
        request->bytes = 0;
        request->is.is_done = true;
        return;
    }
    if (!request->is.is_persistent)
        retain_datatype(request->type);
    if (request->is.kind == SEND_REQUEST)
        start_send(request);
    else
        start_receive(request);
}

static int report_truncation(struct request *request, const char *function) {
    struct communicator *comm = request->comm;
    return mpi_error(comm, MPI_ERR_TRUNCATE, function,
                     "a message of %zu bytes from rank %d with tag %d does not fit into the %zu "
                     "bytes of the receive",
                     request->came, rank_of(comm, request->source), request->source_tag,
                     request->bytes);
}

int end_request(struct request *request, MPI_Status *status, const char *function) {
    if (request->is.kind != RECEIVE_REQUEST || request->is.is_cancelled) {
        set_empty_status(status);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_internal[2] = request->is.is_cancelled;
        return MPI_SUCCESS;
    }
    int source = request->source;
    if (status != MPI_STATUS_IGNORE)
        set_status(status, source < 0 ? source : rank_of(request->comm, source),
                   request->source_tag, request->bytes);
    return request->error ? report_truncation(request, function) : MPI_SUCCESS;
}
