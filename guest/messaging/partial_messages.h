/* Messages of which some packets are missing: a network that returns packets to their sender may
 * deliver them out of order (ni-design-hpca98 Section 5.1.2). They are told apart by source and
 * message id. */
#ifndef NARTHEX_MESSAGING_PARTIAL_MESSAGES_H
#define NARTHEX_MESSAGING_PARTIAL_MESSAGES_H

#include "messaging/arrangement.h"
#include "messaging/buffers.h"

struct partial_message {
    struct partial_message *next;
    struct buffer *buffer;
    uint64_t key; /* source and message id */
    struct arrangement arrangement;
};

/* All of them, the one that began last first. */
extern struct partial_message *partial_messages;

/* The message with this key, or a new one, with a buffer for `bytes` bytes at least. */
struct partial_message *partial_search(uint64_t key, size_t bytes);

/* Takes a message that is complete off the list; its buffer is the caller's. */
void partial_end(struct partial_message *message);

#endif
