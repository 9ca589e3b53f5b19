/* Each message has its slot in a table, by source and number. Of two that fall on the same slot,
 * the one that gets a packet displaces the other, which waits in a list. The table is so large that
 * this is rare, although a packet that returned may find no buffer again and again while dozens of
 * its source's later messages pass it.
 *
 * What a packet needs nearly always, a slot that holds its message or none and a buffer that it
 * fits into, is a leaf function without a frame; all else is done by `prepare`, and then it is
 * tried again. */
#include "messaging/partial_messages.h"

#include <stdlib.h>

#include "messaging/messages.h"
#include "messaging/narthex.h"

enum { SLOTS = 64 };

/* A message without a slot. */
struct displaced {
    struct displaced *next;
    struct partial_message message;
};

static struct partial_message slots[SLOTS];
static struct displaced *displaced;
static size_t largest_bytes; /* of a message in parts so far: the next one gets as much room, so
                                that its buffer need not grow packet by packet */

static inline struct partial_message *slot_of(uint64_t header) {
    return &slots[(header + (header >> HEADER_NUMBER_SHIFT)) % SLOTS];
}

static inline uint64_t identity_of(uint64_t header) {
    return header | ~HEADER_MESSAGE;
}

static inline size_t end_of(uint64_t header) {
    return header_place(header) + header_bytes(header);
}

static void displace(const struct partial_message *message) {
    struct displaced *other = malloc(sizeof *other);
    narthex_check(other, "node %d has no memory left for arriving messages", narthex_node());
    *other = (struct displaced){displaced, *message};
    displaced = other;
}

/* Puts the message of this identity back into its slot; false if it was not displaced. */
static bool replace(struct partial_message *slot, uint64_t identity) {
    for (struct displaced **link = &displaced; *link; link = &(*link)->next) {
        struct displaced *other = *link;
        if (other->message.identity == identity) {
            *slot = other->message;
            *link = other->next;
            free(other);
            return true;
        }
    }
    return false;
}

/* Begins a message in a slot that has none, in the spare buffer used last; false if it is too small
 * for as much as the largest so far. */
static inline bool begin(struct partial_message *slot, uint64_t identity, size_t bytes) {
    struct buffer *buffer = spare_buffers;
    if (bytes > largest_bytes || !buffer || buffer->capacity < largest_bytes)
        return false;
    spare_buffers = buffer->next;
    *slot = (struct partial_message){identity, buffer, NO_PACKETS};
    return true;
}

/* Sees to it that the packet's message has its slot, and room for the packet. */
static void prepare(struct partial_message *slot, uint64_t identity, size_t bytes) {
    if (bytes > largest_bytes)
        largest_bytes = bytes;
    if (slot->identity != identity) {
        if (slot->identity != 0)
            displace(slot);
        if (!replace(slot, identity))
            *slot = (struct partial_message){identity, buffer_take(largest_bytes), NO_PACKETS};
    }
    if (bytes > slot->buffer->capacity)
        slot->buffer = buffer_grow(slot->buffer, bytes);
}

static OUT_OF_LINE struct deposit prepare_and_deposit(uint64_t header) {
    prepare(slot_of(header), identity_of(header), end_of(header));
    return partial_deposit(header);
}

struct deposit partial_deposit(uint64_t header) {
    struct partial_message *slot = slot_of(header);
    uint64_t identity = identity_of(header);
    size_t end = end_of(header);
    bool is_there = slot->identity == identity && end <= slot->buffer->capacity;
    if (!is_there && (slot->identity != 0 || displaced || !begin(slot, identity, end)))
        return prepare_and_deposit(header);
    struct deposit deposit = {buffer_data(slot->buffer) + header_place(header), NULL};
    if (arrange(&slot->arrangement, header)) {
        slot->identity = 0;
        deposit.completed = slot;
    }
    return deposit;
}
