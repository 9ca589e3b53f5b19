/* What sends and receives have in common: their arguments, checked, as a request. */
#ifndef NARTHEX_MPI_MESSAGES_H
#define NARTHEX_MPI_MESSAGES_H

#include "mpi/requests.h"
#include "mpi/transport.h"

/* The arguments of a send or a receive. */
struct message {
    void *buffer;
    int count;
    MPI_Datatype datatype;
    int peer, tag;
    MPI_Comm comm;
};

/* Whether the arguments of a send to a rank, or of a receive from one, are right; nothing is said
 * of nobody's, or of anybody's. */
static inline bool is_plain(const struct communicator *comm, const struct datatype *type,
                            const void *buffer, int count, int peer, int tag) {
    return comm && type && type->is_committed && buffer && count >= 0 &&
           (unsigned)peer < (unsigned)comm->size && (unsigned)tag <= LARGEST_TAG;
}

/* Fills a request with the arguments, which have been checked. */
static inline void fill_request(struct request *request, enum request_kind kind,
                                struct communicator *comm, struct datatype *type, void *buffer,
                                int count, int peer, int tag, const char *function) {
    request->mark = REQUEST_MARK;
    request->peer = peer >= 0 ? world_rank(comm, peer) : peer;
    request->tag = tag;
    request->context = comm->context;
    request->owns_packed = false;
    request->comm = comm;
    request->function = function;
    request->is = (struct request_flags){.kind = (uint8_t)kind};
    request->is.is_plain =
        kind == RECEIVE_REQUEST && peer >= 0 && tag >= 0 && type->name && type->is_contiguous;
    request->key = envelope_of(EAGER, comm->context, tag);
    request->source = request->peer;
    request->source_tag = tag;
    request->error = MPI_SUCCESS;
    request->buffer = buffer;
    request->count = (size_t)count;
    request->type = type;
    request->bytes = (size_t)count * type->size;
}

/* Sets a request up for a message; returns an error's class. */
int set_up_send(struct request *request, const struct message *message, enum send_mode mode,
                const char *function);
int set_up_receive(struct request *request, const struct message *message, const char *function);

/* Begins a request that has been set up; one of nobody's message is done. */
void start_request(struct request *request);

/* Ends one that is done: enters its status, and returns its error as its communicator wants it. */
int end_request(struct request *request, MPI_Status *status, const char *function);

/* Reserves room of the attached buffer for a message, and gives it back. */
int buffer_reserve(struct communicator *comm, size_t bytes, const char *function);
void buffer_give_back(size_t bytes);

#endif
