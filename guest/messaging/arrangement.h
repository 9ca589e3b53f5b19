/* The packets of one message, which may come in any order: each tells its own place, and the last
 * one by its place and its length how long the whole is. Messages to handlers and transfers of
 * channels are put together alike. */
#ifndef NARTHEX_MESSAGING_ARRANGEMENT_H
#define NARTHEX_MESSAGING_ARRANGEMENT_H

#include "messaging/packet.h"

/* More than a message has: counted as missing until the last packet tells the length. */
#define LENGTH_UNKNOWN ((size_t)1 << 32)

struct arrangement {
    size_t missing; /* bytes */
    size_t bytes;   /* of the whole, once its last packet has come */
};

/* Of a message of which no packet has come. */
#define NO_PACKETS ((struct arrangement){.missing = LENGTH_UNKNOWN})

static inline bool is_complete(const struct arrangement *all) {
    return all->missing == 0;
}

/* Enters a packet; returns whether the message is complete with it. */
static inline bool arrange(struct arrangement *all, uint64_t header) {
    size_t bytes = header_bytes(header);
    size_t missing = all->missing - bytes;
    if (header_is_last(header)) {
        all->bytes = header_place(header) + bytes;
        missing += all->bytes - LENGTH_UNKNOWN;
    }
    all->missing = missing;
    return missing == 0;
}

#endif
