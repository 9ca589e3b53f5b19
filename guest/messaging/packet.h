/* The packet: what crosses the network, at most 256 bytes (cni-isca96 Section 3; ni-design-hpca98
 * Table 3), and its header, one doubleword in front of the payload:
 *
 *   bits  0-15  peer: the destination when sending, the source when receiving
 *        16-23  bytes of payload in this packet
 *        24-31  handler number
 *        32-39  message number: counts the source's messages of several packets, wraps
 *        40-60  where the payload belongs in its message, in words of 4 bytes: every packet tells
 *               its own place, whichever comes first
 *           61  last packet of the message
 *           62  packet of a channel: copied to its place, never handled (messaging/channels.c)
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

#define PACKET_PAYLOAD_LIMIT 248        /* bytes; no interface carries more in one packet */
#define PACKETS_PER_MESSAGE_LIMIT 32768 /* their places fit into the header */
#define HEADER_EXTRA_BYTES 4            /* of a larger header */
#define HEADER_BYTES_SHIFT 16
#define HEADER_NUMBER_SHIFT 32
#define HEADER_PLACE_SHIFT 40
#define HEADER_PLACE_UNIT 4 /* bytes */
#define HEADER_LAST (UINT64_C(1) << 61)
#define HEADER_CHANNEL (UINT64_C(1) << 62)
#define HEADER_SENSE_SHIFT 63

/* What two packets of one message have in common: the source and the message's number. */
#define HEADER_MESSAGE (UINT64_C(0xff) << HEADER_NUMBER_SHIFT | UINT64_C(0xffff))

/* The header of a message's first packet, still without peer and length. */
static inline uint64_t header_of(int handler, unsigned number) {
    return (uint64_t)handler << 24 | (uint64_t)number << HEADER_NUMBER_SHIFT;
}

/* To add to a header: the header of the packet that comes after `bytes` bytes of payload. */
static inline uint64_t header_behind(size_t bytes) {
    return (uint64_t)(bytes / HEADER_PLACE_UNIT) << HEADER_PLACE_SHIFT;
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

static inline unsigned header_number(uint64_t header) {
    return header >> HEADER_NUMBER_SHIFT & 0xff;
}

/* Where the payload belongs in its message, in bytes. */
static inline size_t header_place(uint64_t header) {
    return (header >> HEADER_PLACE_SHIFT & 0x1fffff) * HEADER_PLACE_UNIT;
}

static inline bool header_is_last(uint64_t header) {
    return header & HEADER_LAST;
}

/* Whether the packet is a whole message to a handler. */
static inline bool header_is_alone(uint64_t header) {
    return (header << 1 >> (HEADER_PLACE_SHIFT + 1)) == HEADER_LAST >> HEADER_PLACE_SHIFT;
}

#endif
