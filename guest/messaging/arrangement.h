/* Where the packets of one message go, which may come in any order: packet `index` holds the bytes
 * from index * payload on, and the last one tells by its index and its length how long the whole
 * is. Messages to handlers and transfers of channels are put together alike. */
#ifndef NARTHEX_MESSAGING_ARRANGEMENT_H
#define NARTHEX_MESSAGING_ARRANGEMENT_H

#include "messaging/packet.h"

struct arrangement {
    size_t bytes;    /* end of the last byte placed so far */
    size_t received; /* packets so far */
    size_t packets;  /* of the message; 0 until its last packet has come */
    size_t index;    /* of the packet that comes next if they come in order */
    size_t offset;   /* where its payload goes: kept, because a multiplication takes 17 cycles */
};

/* Enters a packet and returns where its payload goes. */
static inline size_t arrange(struct arrangement *all, uint64_t header, size_t payload_bytes) {
    size_t index = header_index(header);
    size_t offset = index == all->index ? all->offset : index * payload_bytes;
    size_t end = offset + header_bytes(header);
    all->index = index + 1;
    all->offset = offset + payload_bytes;
    all->received += 1;
    if (end > all->bytes)
        all->bytes = end;
    if (header_is_last(header))
        all->packets = index + 1;
    return offset;
}

static inline bool is_complete(const struct arrangement *all) {
    return all->received == all->packets && all->packets > 0;
}

#endif
