/* Sends and receives.
 *
 * A send whose message is eager needs no request: it is over when the interface has taken it. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/messages.h"
#include "mpi/errors.h"
#include "mpi/matching.h"
#include "mpi/messages.h"
#include "mpi/transport.h"

#define MESSAGE(buffer, peer)                                                                      \
    ((struct message){(void *)(uintptr_t)(buffer), count, datatype, peer, tag, comm})

/* Sends, and waits until the buffer may change. */
static OUT_OF_LINE int send(const struct message *message, enum send_mode mode,
                            const char *function) {
    struct request request;
    int error = set_up_send(&request, message, mode, function);
    if (error)
        return error;
    start_request(&request);
    wait_until_done(&request, function);
    return MPI_SUCCESS;
}

static OUT_OF_LINE int send_otherwise(const void *buffer, int count, MPI_Datatype datatype,
                                      int destination, int tag, MPI_Comm comm) {
    const struct communicator *found = find_communicator(comm);
    const struct datatype *type = look_up_datatype(datatype);
    if (is_plain(found, type, buffer, count, destination, tag) &&
        send_eager(world_rank(found, destination), found->context, tag, buffer, (size_t)count,
                   type))
        return MPI_SUCCESS;
    return send(&MESSAGE(buffer, destination), STANDARD, "MPI_Send");
}

int PMPI_Send(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
              MPI_Comm comm) {
    const struct communicator *found = find_communicator(comm);
    const struct datatype *type = look_up_datatype(datatype);
    if (is_plain(found, type, buffer, count, destination, tag) && type->is_contiguous &&
        send_few(world_rank(found, destination), found->context, tag, buffer,
                 (size_t)count * type->size))
        return MPI_SUCCESS;
    return send_otherwise(buffer, count, datatype, destination, tag, comm);
}
MPI_NAME(Send);

int PMPI_Ssend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm) {
    return send(&MESSAGE(buffer, destination), SYNCHRONOUS, FUNCTION);
}
MPI_NAME(Ssend);

int PMPI_Rsend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm) {
    return send(&MESSAGE(buffer, destination), READY, FUNCTION);
}
MPI_NAME(Rsend);

/* Receives with arguments that need more than a look. */
static OUT_OF_LINE int receive(const struct message *message, MPI_Status *status,
                               const char *function) {
    struct request request;
    int error = set_up_receive(&request, message, function);
    if (error)
        return error;
    start_request(&request);
    wait_until_done(&request, function);
    return end_request(&request, status, function);
}

int PMPI_Recv(void *buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Status *status) {
    struct communicator *found = find_communicator(comm);
    struct datatype *type = (struct datatype *)look_up_datatype(datatype);
    if (!is_plain(found, type, buffer, count, source, tag) || !type->name)
        return receive(&MESSAGE(buffer, source), status, FUNCTION);
    struct request request;
    fill_request(&request, RECEIVE_REQUEST, found, type, buffer, count, source, tag, FUNCTION);
    if (mpi_peers[request.peer].arrived)
        match_receive(&request);
    else
        post(&request);
    wait_until_done(&request, FUNCTION);
    if (request.error)
        return end_request(&request, status, FUNCTION);
    set_status(status, source, tag, request.bytes);
    return MPI_SUCCESS;
}
MPI_NAME(Recv);

/* Begins a send or a receive for its program, whose request it becomes. */
static int begin(struct request *prepared, MPI_Request *handle) {
    struct request *request = take_request();
    *request = *prepared;
    retain_communicator(request->comm);
    start_request(request);
    *handle = (MPI_Request)request;
    return MPI_SUCCESS;
}

static int isend(const struct message *message, enum send_mode mode, MPI_Request *handle,
                 const char *function) {
    struct request request;
    int error = set_up_send(&request, message, mode, function);
    if (error)
        return error;
    bool is_over = request.peer == MPI_PROC_NULL ||
                   (mode != SYNCHRONOUS && send_eager(request.peer, request.context, request.tag,
                                                      request.buffer, request.count, request.type));
    if (!is_over)
        return begin(&request, handle);
    *handle = (MPI_Request)&sent_request;
    return MPI_SUCCESS;
}

int PMPI_Isend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
               MPI_Comm comm, MPI_Request *request) {
    return isend(&MESSAGE(buffer, destination), STANDARD, request, FUNCTION);
}
MPI_NAME(Isend);

int PMPI_Issend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
                MPI_Comm comm, MPI_Request *request) {
    return isend(&MESSAGE(buffer, destination), SYNCHRONOUS, request, FUNCTION);
}
MPI_NAME(Issend);

int PMPI_Irsend(const void *buffer, int count, MPI_Datatype datatype, int destination, int tag,
                MPI_Comm comm, MPI_Request *request) {
    return isend(&MESSAGE(buffer, destination), READY, request, FUNCTION);
}
MPI_NAME(Irsend);

int PMPI_Irecv(void *buffer, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request *handle) {
    struct request *request = take_request();
    int error = set_up_receive(request, &MESSAGE(buffer, source), FUNCTION);
    if (error) {
        give_back_request(request);
        return error;
    }
    retain_communicator(request->comm);
    start_request(request);
    *handle = (MPI_Request)request;
    return MPI_SUCCESS;
}
MPI_NAME(Irecv);

/* Posts the receive, sends, and waits for both. */
static int exchange(struct request *receive, struct request *sent, MPI_Status *status,
                    const char *function) {
    start_request(receive);
    start_request(sent);
    wait_until_done(sent, function);
    wait_until_done(receive, function);
    return end_request(receive, status, function);
}

int PMPI_Sendrecv(const void *send_buffer, int send_count, MPI_Datatype send_type, int destination,
                  int send_tag, void *receive_buffer, int receive_count, MPI_Datatype receive_type,
                  int source, int receive_tag, MPI_Comm comm, MPI_Status *status) {
    struct request receive, sent;
    struct message out = {
        (void *)(uintptr_t)send_buffer, send_count, send_type, destination, send_tag, comm};
    struct message in = {receive_buffer, receive_count, receive_type, source, receive_tag, comm};
    int error = set_up_receive(&receive, &in, FUNCTION);
    if (!error)
        error = set_up_send(&sent, &out, STANDARD, FUNCTION);
    return error ? error : exchange(&receive, &sent, status, FUNCTION);
}
MPI_NAME(Sendrecv);

int PMPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype datatype, int destination,
                          int send_tag, int source, int receive_tag, MPI_Comm comm,
                          MPI_Status *status) {
    struct request receive, sent;
    struct message out = {buffer, count, datatype, destination, send_tag, comm};
    struct message in = {buffer, count, datatype, source, receive_tag, comm};
    int error = set_up_receive(&receive, &in, FUNCTION);
    if (!error)
        error = set_up_send(&sent, &out, STANDARD, FUNCTION);
    if (error)
        return error;
    char *packed = mpi_allocate(sent.count * sent.type->size);
    pack(packed, buffer, sent.count, sent.type);
    sent.buffer = packed;
    sent.count *= sent.type->size;
    sent.type = find_datatype(MPI_BYTE);
    error = exchange(&receive, &sent, status, FUNCTION);
    free(packed);
    return error;
}
MPI_NAME(Sendrecv_replace);

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count) {
    struct communicator *comm = NULL;
    CHECK(status != MPI_STATUS_IGNORE, MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE");
    FIND_DATATYPE(type, datatype);
    size_t bytes = status_bytes(status);
    bool is_whole = type->size > 0 ? bytes % type->size == 0 : bytes == 0;
    size_t elements = is_whole && type->size > 0 ? bytes / type->size : 0;
    *count = is_whole && elements <= INT_MAX ? (int)elements : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_NAME(Get_count);

/* The message that a receive would take; NULL if none has come. One of no rank's has come. */
static int look(const struct message *message, int *flag, MPI_Status *status,
                const char *function) {
    struct request request;
    int error = set_up_receive(&request, message, function);
    if (error)
        return error;
    *flag = 1;
    if (request.peer == MPI_PROC_NULL) {
        set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        return MPI_SUCCESS;
    }
    const struct arrival *arrival = peek(request.peer, request.tag, request.context);
    if (arrival)
        set_status(status, rank_of(request.comm, arrival->source), envelope_tag(arrival->envelope),
                   arrival->bytes);
    else
        *flag = 0;
    return MPI_SUCCESS;
}

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    struct message message = {NULL, 0, MPI_BYTE, source, tag, comm};
    if (mpi_state == ACTIVE)
        progress();
    return look(&message, flag, status, FUNCTION);
}
MPI_NAME(Iprobe);

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    struct message message = {NULL, 0, MPI_BYTE, source, tag, comm};
    struct request request;
    int flag, error = set_up_receive(&request, &message, FUNCTION);
    if (error)
        return error;
    awaits(&request, FUNCTION);
    while (!(error = look(&message, &flag, status, FUNCTION)) && !flag)
        progress();
    awaits(NULL, NULL);
    return error;
}
MPI_NAME(Probe);
