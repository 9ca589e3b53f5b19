/* Transfers whose place the programs' libraries agree on by messages of their own, as MPI's
 * rendezvous do: long messages (messaging/long_messages.h) without request, grant and buffer.
 *
 * long_puts.c is in few programs, and what it shares with long_messages.c has names of its own, as
 * in messaging/packets.h. All of it is there in programs that have long messages alone. */
#ifndef NARTHEX_MESSAGING_LONG_PUTS_H
#define NARTHEX_MESSAGING_LONG_PUTS_H

#include "messaging/long_messages.h"
#include "runtime/registers.h"

/* Whether the program has long messages. */
bool long_puts_are_there(void);

/* Whether a transfer may read this memory from now on. */
bool long_may_leave(const void *memory, size_t bytes);

/* Lets process `source` transfer so many bytes to `memory`; once all have come, the handler runs
 * here on the message. False where the memory cannot be registered, or too much is offered. */
bool long_offer(int source, int handler, const void *message, size_t message_bytes, void *memory,
                size_t bytes, struct long_grant *grant);

/* Transfers them there; returns when they have left. */
void long_put(int destination, const struct long_grant *grant, const void *memory, size_t bytes);

/* What is being sent. */
struct long_sending {
    enum { NOTHING, REQUESTED, GRANTED, LEAVING, GONE, REFUSED } state;
    int destination;
    const void *payload;
    size_t bytes;
    struct long_grant grant;
};

enum { OWN_QUEUE = 0, CHANNELS_LIMIT = 64 }; /* the driver's receive queue, and its notices */
enum { LEFT = 0, FIRST_CHANNEL_NOTICE = 1 }; /* a notice's value: 1 more than a channel */

extern struct long_sending long_sending;
extern struct long_message *long_granted[CHANNELS_LIMIT], *long_unused;
extern unsigned long_first_channel, long_channels;

/* Packets of a block: they end at multiples of their size. */
static inline size_t long_packets(const char *place, size_t bytes) {
    const size_t each = VOYAGER_BLOCK_PACKET_BYTES;
    return ((uintptr_t)place % each + bytes + each - 1) / each;
}

#endif
