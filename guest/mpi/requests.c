#include "mpi/requests.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/messages.h"
#include "mpi/schedules.h"
#include "mpi/transport.h"

static struct request *unused; /* their memory stays theirs: a stale handle is told from others */

struct request sent_request = {.mark = REQUEST_MARK, .is = {.kind = SEND_REQUEST, .is_done = true}};

struct awaited mpi_awaited;
int mpi_under_way;

struct request *take_request(void) {
    struct request *request = unused;
    if (!request)
        return mpi_allocate(sizeof *request);
    unused = request->next;
    return request;
}

struct request *new_request(enum request_kind kind, struct communicator *comm) {
    struct request *request = take_request();
    *request = (struct request){.mark = REQUEST_MARK, .is.kind = (uint8_t)kind, .comm = comm};
    retain_communicator(comm);
    return request;
}

void give_back_request(struct request *request) {
    request->mark = 0;
    request->next = unused;
    unused = request;
}

void free_request(struct request *request) {
    if (request == &sent_request)
        return;
    if (request->comm)
        release_communicator(request->comm);
    give_back_request(request);
}

void complete_with_care(struct request *request) {
    if (request->owns_packed) {
        free(request->packed);
        request->owns_packed = false;
    }
    if (request->is.mode == BUFFERED)
        buffer_give_back(request->bytes);
    if (request->type && !request->is.is_persistent)
        release_datatype(request->type);
    request->is.is_done = true;
    if (request->is.is_orphan)
        free_request(request);
}

void go_on(void) {
    if (mpi_put_way && mpi_put_way->poll)
        mpi_put_way->poll();
    send_piece();
    advance_schedules();
}

/* Where the bytes are in a status, which is 4-byte aligned, and that it is of a cancelled one. */
enum { BYTES_FIELD = 0, CANCELLED_FIELD = 2 };

void set_status(MPI_Status *status, int source, int tag, size_t bytes) {
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memcpy(&status->MPI_internal[BYTES_FIELD], &bytes, sizeof bytes);
    status->MPI_internal[CANCELLED_FIELD] = 0;
}

void set_empty_status(MPI_Status *status) {
    if (status == MPI_STATUS_IGNORE)
        return;
    set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    status->MPI_ERROR = MPI_SUCCESS;
}

size_t status_bytes(const MPI_Status *status) {
    size_t bytes;
    memcpy(&bytes, &status->MPI_internal[BYTES_FIELD], sizeof bytes);
    return bytes;
}
