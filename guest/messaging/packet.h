/* The packet: what crosses the network, at most 256 bytes (cni-isca96 Section 3; ni-design-hpca98
 * Table 3), and its header, one doubleword in front of the payload:
 *
 *   bits  0-15  peer: the destination when sending, the source when receiving
 *        16-23  bytes of payload in this packet
 *        24-31  handler number
 *        32-39  message id: counts the source's messages, wraps
 *        40-54  the packet's index within its message
 *           55  last packet of the message
 *           56  packet of a channel: copied to its place, never handled (messaging/channels.c)
 *        57-62  zero
 *           63  sense: the message valid bit of a cachable queue
 *
 * A machine may state a larger header (`header_bytes` of the information page): cni-isca96 has 12
 * bytes (Section 5.1). The word beyond the doubleword travels in front of the payload and counts as
 * payload in the header on its way; what software kept there the paper does not say, here it is 0.
 */
#ifndef NARTHEX_MESSAGING_PACKET_H
#define NARTHEX_MESSAGING_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACKET_PAYLOAD_LIMIT 248 /* bytes; no interface carries more in one packet */
#define PACKETS_PER_MESSAGE_LIMIT 32768
#define HEADER_EXTRA_BYTES 4 /* of a larger header */
#define HEADER_BYTES_SHIFT 16
#define HEADER_NEXT_INDEX                                                                          \
    (UINT64_C(1) << 40) /* to add: the header of the message's next packet                         \
                         */
#define HEADER_LAST (UINT64_C(1) << 55)
#define HEADER_CHANNEL (UINT64_C(1) << 56)
#define HEADER_SENSE_SHIFT 63

/* The header of a message's first packet, still without peer and length. */
static inline uint64_t header_of(int handler, unsigned message) {
    return (uint64_t)handler << 24 | (uint64_t)message << 32;
}

static inline int header_peer(uint64_t header) {
    return (int)(header & 0xffff);
}

static inline size_t header_bytes(uint64_t header) {
    return header >> 16 & 0xff;
}

static inline int header_handler(uint64_t header) {
    return (int)(header >> 24 & 0xff);
}

static inline unsigned header_message(uint64_t header) {
    return header >> 32 & 0xff;
}

static inline size_t header_index(uint64_t header) {
    return header >> 40 & 0x7fff;
}

static inline bool header_is_last(uint64_t header) {
    return header & HEADER_LAST;
}

/* Whether the packet is a whole message to a handler. */
static inline bool header_is_alone(uint64_t header) {
    return (header & (UINT64_C(0x7fff) << 40 | HEADER_LAST | HEADER_CHANNEL)) == HEADER_LAST;
}

#endif
