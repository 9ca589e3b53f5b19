/* Messages of which some packets are missing, and where their packets go.
 *
 * A network that returns packets to their sender may deliver them out of order
 * (ni-design-hpca98 Section 5.1.2), and packets of several messages from one source may then be
 * mixed. A packet tells by source and message number which one it belongs to, and by its place
 * where in it, so its payload is copied from the interface to where the handler will find it, and a
 * packet out of order costs no more than one in order. */
#ifndef NARTHEX_MESSAGING_PARTIAL_MESSAGES_H
#define NARTHEX_MESSAGING_PARTIAL_MESSAGES_H

#include "messaging/arrangement.h"
#include "messaging/buffers.h"

struct partial_message {
    uint64_t identity; /* its headers' HEADER_MESSAGE and all other bits; 0 while there is none */
    struct buffer *buffer;
    struct arrangement arrangement;
};

/* Where a packet's payload goes, and the message that it completes, or NULL. */
struct deposit {
    char *place;
    const struct partial_message *completed;
};

/* Enters an arriving packet of a message of several. A message that it completes is the caller's,
 * with its buffer, until the next call. */
struct deposit partial_deposit(uint64_t header);

#endif
