/* The protocol of one-sided operations: each is a message that the target's library carries out.
 * requests.c sends them, handling.c carries them out, tells.c is what collectives say to each
 * other.
 *
 *     put      header, data                        -> copied to its place
 *     get      header, reply address, bytes        -> data come back in packets
 *     update   header, operand                     -> an atomic; a fetch's value comes back
 *     flush    header                              -> "confirmed", once all before it is done
 *     offer    header, bytes                       -> a grant, and the data as a block transfer
 *     block    header, reply address, bytes, grant -> the data as one
 *     key      header                              -> how RDMA reaches its memory
 *
 * Messages may overtake each other (messaging/narthex.h), so order is made here. A PE counts what
 * it sends to each other one, and the other counts what of that it has done. Every message says
 * after how many it may be done: those that were sent to this PE before the last fence. One that
 * comes too early is kept until the others have come. So a fence sends nothing and waits for
 * nothing; and a put with a signal is its data and then a message that comes after all of them.
 *
 * shmem_quiet asks each PE to which something has gone since it was last asked to say when all of
 * that is done: two messages a PE, however many puts there were. Where stores reach other PEs'
 * memory without messages, these do not wait for messages: a fence has to complete all, there. */
#ifndef NARTHEX_SHMEM_PROTOCOL_H
#define NARTHEX_SHMEM_PROTOCOL_H

#include <string.h>

#include "messaging/copy.h"
#include "messaging/messages.h"
#include "messaging/packet.h"
#include "shmem/library.h"
#include "shmem/requests.h"

/* Of the library's own handlers (messaging/messages.h). */
enum { HANDLER_SHMEM = 241 };

/* The most that are copied by doublewords. */
enum { SMALL_BYTES = 64 };

/* Every structure below and an element fit: with a smaller packet, a message is several. */
enum { SMALLEST_MESSAGE_BYTES = 64 };

enum kind {
    PUT,
    PUT_STRIDED,
    PUT_SIGNAL,
    GET,
    GET_STRIDED,
    UPDATE,
    FETCH,
    DATA,
    DATA_STRIDED,
    FLUSH,
    CONFIRMED,
    TELL,
    LOCK,
    LOCK_ANSWER,
    EXIT,
#ifdef LONG_MESSAGES
    PUT_OFFER, /* shmem/long_transfers.h */
    PUT_GRANT,
    GET_BLOCK,
    BLOCK_CAME,
    BLOCK_REFUSED
#elif defined(RDMA)
    KEY_ASKED, /* shmem/rdma.h */
    KEY_ANSWERED
#endif
};

enum { IS_ORDERED = 1, IS_COUNTED = 2 }; /* flags */

struct header {
    uint64_t place; /* of a reply: the address */
    uint32_t after; /* how many counted ones it waits for */
    uint8_t kind;
    /* Of an atomic, a signal, a lock; of a reply its completion; of a tell its round. */
    uint8_t operation;
    uint8_t width;
    uint8_t flags;
};

struct put_signal {
    struct header header;
    uint64_t place, value;
};

struct strided {
    struct header header;
    int64_t step;
};

struct get {
    struct header header;
    uint64_t reply;
    uint64_t count;
    int64_t step, reply_step;
};

struct atomic {
    struct header header;
    uint64_t operand, condition, reply;
};

/* The header's place has the team. */
struct tell {
    struct header header;
    uint16_t sequence, instance;
    uint32_t function; /* its name's address: the same in every PE's program */
};

/* A message on its way out: one of these structures, and data behind it. */
struct packet {
    _Alignas(uint64_t) char bytes[PACKET_PAYLOAD_LIMIT];
};

/* A message that waits for others, or a tell for its call. */
struct kept {
    struct kept *next;
    int source;
    const struct header *header;
    size_t bytes;
};

struct peer {
    uint32_t sent;   /* counted ones, to this PE */
    uint32_t after;  /* of them those before a fence */
    uint32_t fences; /* which one: the last if this is how many there were */
    uint32_t done;   /* counted ones from this PE */
    bool is_dirty;   /* something has gone since the last quiet */
    struct kept *early;
};

/* The header's operation is the atomic's, so its condition of completion goes with the width. */
enum { WIDTH_MASK = 0x7f, IS_NONBLOCKING = 0x80 };

/* Of the other PEs, by their numbers. */
extern struct peer *shmem_peers;
extern size_t shmem_outstanding[COMPLETIONS]; /* bytes that have been asked for */
extern int shmem_unconfirmed;                 /* PEs asked by a quiet */
extern size_t shmem_packet_bytes;

/* Copies as most data are: a few doublewords. Volatile, or the compiler calls memcpy for them. */
static inline void copy_data(void *to, const void *from, size_t bytes) {
    if (bytes > SMALL_BYTES ||
        ((uintptr_t)to | (uintptr_t)from | bytes) % sizeof(doubleword) != 0) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t place = 0; place < bytes / sizeof(doubleword); place++)
        ((volatile doubleword *)to)[place] = ((const doubleword *)from)[place];
}

static inline void send(int pe, const void *message, size_t bytes) {
    send_message(pe, HANDLER_SHMEM, message, bytes);
}

/* One that comes after all before it. */
static inline struct header last(int pe, enum kind kind, uint64_t place) {
    return (struct header){
        .place = place, .after = shmem_peers[pe].sent, .kind = kind, .flags = IS_ORDERED};
}

/* Puts the message, its header as `head` of `head_bytes`, and data together, and sends them. */
static inline void send_with_data(int pe, const void *head, size_t head_bytes, const void *data,
                                  size_t bytes) {
    struct packet packet;
    memcpy(packet.bytes, head, head_bytes);
    copy_data(packet.bytes + head_bytes, data, bytes);
    send(pe, &packet, head_bytes + bytes);
}

/* As many elements as a packet takes, of `count` that lie `own_step` bytes apart. Returns how many.
 */
size_t shmem_send_strided(int pe, struct header header, int64_t step, const char *from,
                          ptrdiff_t own_step, size_t count);

/* Makes a list's new first element, and takes one back that is on no list. */
void shmem_keep(struct kept **list, int source, const struct header *header, size_t bytes);
void shmem_forget(struct kept *kept);

/* A tell that has come, whose payload has been kept. */
void shmem_tell_arrived(int source, const struct header *header, size_t bytes);

/* The handler. */
void shmem_arrive(int source, const void *payload, size_t bytes);

#endif
