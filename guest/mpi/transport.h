/* How messages travel: eager ones, credits, rendezvous, and the order between two ranks.
 *
 *     eager         envelope, data                                ──►
 *     announcement  envelope, bytes, the sender's slot            ──►
 *     grant         the sender's slot, the receiver's slot        ◄──   once it has been matched
 *     piece         the receiver's slot, place, data              ──►   as many as there are
 *     credit        units                                         ◄──   now and then
 *
 * An envelope has the context, the tag and the message's number between the two ranks. */
#ifndef NARTHEX_MPI_TRANSPORT_H
#define NARTHEX_MPI_TRANSPORT_H

#include "mpi/requests.h"

/* The longest eager message, and a piece of a longer one: a handler copies either from the
 * messaging library's buffer to its place, so that a buffer should stay in a first-level cache. */
enum { EAGER_BYTES = 8192, PIECE_BYTES = 8192 };

enum { TAG_BITS = 24, LARGEST_TAG = (1 << TAG_BITS) - 1 };

enum message_kind { EAGER, ANNOUNCEMENT };

/* bits 0-23 tag, 24-31 kind, 32-47 context, 48-63 number */
static inline uint64_t envelope_of(enum message_kind kind, uint16_t context, int tag) {
    return (uint64_t)(unsigned)tag | (uint64_t)kind << 24 | (uint64_t)context << 32;
}

static inline int envelope_tag(uint64_t envelope) {
    return (int)(envelope & LARGEST_TAG);
}

static inline enum message_kind envelope_kind(uint64_t envelope) {
    return (enum message_kind)(envelope >> 24 & 0xff);
}

static inline uint16_t envelope_context(uint64_t envelope) {
    return (uint16_t)(envelope >> 32);
}

/* Begins; before the first barrier. */
void transport_start(void);

/* Sends a message at once if it may be eager: whether it was. */
bool send_eager(int peer, uint16_t context, int tag, const void *buffer, size_t count,
                const struct datatype *type);

/* Begins the send of a request whose peer, context, tag, buffer, count, type and mode are set. It
 * may be done at once. */
void start_send(struct request *request);

/* Begins the receive of a request whose peer, context, tag, buffer, count and type are set. */
void start_receive(struct request *request);

/* Sends the next piece of a send that has been granted; there is one. */
void send_piece(void);

/* Grants the announced message to the receive that has matched it. */
void grant(struct request *request, int source, int tag, size_t bytes, uint64_t sender_slot);

/* Ends a receive with data that came at once. */
void receive_now(struct request *request, int source, int tag, const void *data, size_t bytes);

/* An eager message of so many bytes has left the receiver's memory. */
void give_credit(int source, size_t bytes);

#endif
