/* How messages travel: eager ones, credits, rendezvous, and the order between two ranks.
 *
 *     eager         envelope, data                                ──►
 *     short         data                                          ──►
 *     announcement  envelope, bytes, the sender's slot            ──►
 *     grant         the sender's slot, the receiver's slot        ◄──   once it has been matched
 *     piece         the receiver's slot, place, data              ──►   as many as there are, or
 *     put           all data, by the interface alone              ══►   (mpi/puts.h)
 *     credit        units                                         ◄──   now and then
 *
 * An envelope has the context, the tag and the message's number between the two ranks.
 *
 * A short message fills no more than a packet and has the context and the tag of the message before
 * it, so that its number is all that it needs, and that stands in the packet's header, where
 * messages of several packets have theirs: eight bits, and two more in the handler's number. They
 * tell the messages apart that can be on their way: each costs a credit or more, of which there are
 * as many. So the data travel alone, from the sender's buffer to that of a receive that waits. */
#ifndef NARTHEX_MPI_TRANSPORT_H
#define NARTHEX_MPI_TRANSPORT_H

#include "messaging/messages.h"
#include "messaging/packet.h"
#include "mpi/requests.h"

/* The longest eager message, and a piece of a longer one: a handler copies either from the
 * messaging library's buffer to its place, so that a buffer should stay in a first-level cache. */
enum { EAGER_BYTES = 8192, PIECE_BYTES = 8192 };

enum { TAG_BITS = 24, LARGEST_TAG = (1 << TAG_BITS) - 1 };

enum message_kind { EAGER, ANNOUNCEMENT, SHORT };

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

/* The envelope of an eager message with this context and tag, without number. */
static inline uint64_t key_of(uint64_t envelope) {
    return envelope & UINT64_C(0xffff00ffffff);
}

/* Begins; before the first barrier. */
void transport_start(void);

/* Credits are units of this many bytes, of which each message costs one more than it fills; one
 * that is announced costs one, and goes without as well. A
 * receiver keeps at most 64 KB for each sender, so half a megabyte for eight, and gives a quarter
 * back at a time: a message in 256 short ones. */
enum { UNIT_BYTES = 64, ALL_CREDITS = 1024, RETURNED_CREDITS = 256 };

/* What this rank knows of another: a block of a cache, on most machines. */
struct peer {
    uint64_t sent_key;          /* of the last message to it */
    uint64_t key;               /* of the last message from it */
    uint16_t sent;              /* number of the next message to it */
    uint16_t expected;          /* number of the next one from it */
    int32_t credits;            /* that this rank has there; of itself none */
    int32_t owed;               /* that are to be given back */
    int32_t early;              /* messages that overtook others, and wait for them */
    struct request_list posted; /* receives from it that wait (mpi/matching.h) */
    struct waiting *arrived;    /* messages from it that wait for receives */
    struct waiting **arrived_end;
};

extern struct peer *mpi_peers; /* by rank of the world */

static inline int32_t cost(size_t bytes) {
    return (int32_t)(1 + bytes / UNIT_BYTES);
}

static inline uint64_t numbered(struct peer *peer, uint64_t envelope) {
    peer->sent_key = key_of(envelope);
    return envelope | (uint64_t)peer->sent++ << 48;
}

/* Up to so many bytes are not worth a call of a function that copies. */
enum { FEW_BYTES = 64 };

static inline void copy_few(void *to, const void *from, size_t bytes) {
    if (bytes == sizeof(uint64_t) && ((uintptr_t)to | (uintptr_t)from) % sizeof(uint64_t) == 0)
        *(doubleword *)to = *(const doubleword *)from;
    else
        copy(to, from, bytes);
}

/* Sends a message at once if it may be eager: whether it was. */
bool send_eager(int peer, uint16_t context, int tag, const void *buffer, size_t count,
                const struct datatype *type);

/* The largest payload of a packet. */
extern size_t mpi_packet_bytes;

/* Where a short message's number stands in its packet's header, and how many numbers there are. */
enum { SHORT_NUMBERS = ALL_CREDITS };
static inline uint64_t short_header(unsigned number) {
    return header_of(HANDLER_MPI_SHORT + (int)(number >> 8 & 3), number & 0xff);
}

/* The same for a message of one block to another rank that may be short. */
static inline bool send_short(int peer, uint16_t context, int tag, const void *buffer,
                              size_t bytes) {
    struct peer *there = &mpi_peers[peer];
    if (there->sent_key != envelope_of(EAGER, context, tag) || bytes > mpi_packet_bytes ||
        there->credits < cost(PACKET_PAYLOAD_LIMIT))
        return false;
    there->credits -= cost(bytes);
    send_packets(peer, short_header(there->sent++), buffer, bytes);
    return true;
}

/* The same for a message of one block of few bytes to another rank. */
static inline bool send_few(int peer, uint16_t context, int tag, const void *buffer, size_t bytes) {
    if (send_short(peer, context, tag, buffer, bytes))
        return true;
    struct peer *there = &mpi_peers[peer];
    if (bytes > FEW_BYTES || there->credits < cost(FEW_BYTES))
        return false;
    there->credits -= cost(bytes);
    uint64_t message[1 + FEW_BYTES / sizeof(uint64_t)];
    message[0] = numbered(there, envelope_of(EAGER, context, tag));
    copy_few(message + 1, buffer, bytes);
    send_message(peer, HANDLER_MPI_MESSAGE, message, sizeof *message + bytes);
    return true;
}

/* Begins the send of a request whose peer, context, tag, buffer, count, type and mode are set. It
 * may be done at once. */
void start_send(struct request *request);

/* Begins the receive of a request whose peer, context, tag, buffer, count and type are set. */
void start_receive(struct request *request);

/* Sends the next piece of a send that has been granted, if there is one. */
void send_piece(void);

/* All data of a put have come. The second is for interfaces that say so by a message. */
void put_arrives(uint32_t slot);
void put_arrives_as_message(int source, const void *payload, size_t bytes);

/* Grants the announced message to the receive that has matched it. */
void grant(struct request *request, int source, int tag, size_t bytes, uint64_t sender_slot);

/* Ends a receive with data that came at once. */
void receive_now(struct request *request, int source, int tag, const void *data, size_t bytes);

/* An eager message of so many bytes has left the receiver's memory. */
void give_credit(int source, size_t bytes);

#endif
