/* The header of a packet: four doublewords in the interface's memory, in front of nothing: the
 * payload may be elsewhere.
 *
 *     0    kind 0-7 | flags 8-15 | destination VI 16-31 | source VI 32-47 | bytes of payload 48-63
 *     1    offset of the payload in its message 0-31 | bytes of the message 32-63
 *     2    message number 0-15 | source node 16-31 | immediate data 32-63
 *     3    remote address 0-47 | memory handle 48-63, for RDMA
 *
 * A message's number counts those that take a receive descriptor of their VI. For its packet-to-
 * address table the device reads FLAG_PLACED, destination, offset, lengths, and number and node
 * together as the number. Packets about connections have other things in doublewords 1 and 3. */
#ifndef NARTHEX_FIRMWARE_VIA_PACKET_H
#define NARTHEX_FIRMWARE_VIA_PACKET_H

#include <stdint.h>

#include "firmware/devices.h"

enum kind {
    KIND_DATA = 1,
    KIND_RDMA_WRITE,
    KIND_READ_REQUEST,
    KIND_READ_RESPONSE,
    KIND_CONNECT_REQUEST, /* doubleword 1: the VI's attributes, 3: discriminator */
    KIND_CONNECT_ACCEPT,  /* doubleword 1: the VI's attributes */
    KIND_CONNECT_REJECT,  /* doubleword 1: a VIP_RETURN */
    KIND_DISCONNECT,      /* doubleword 1: a VIP_ERROR_CODE for the other side */
};

enum { FLAG_PLACED = VIA_PACKET_PLACED >> 8, FLAG_IMMEDIATE = 2 };

struct header {
    uint64_t words[4];
};

static inline uint64_t header_word(enum kind kind, uint64_t destination_vi, uint64_t source_vi) {
    return (uint64_t)kind | destination_vi << 16 | source_vi << 32;
}

/* To compare with a VI's `expected`: destination, source. */
static inline uint64_t header_ends(uint64_t word) {
    return word & 0x0000ffffffff0000ul;
}

static inline enum kind header_kind(uint64_t word) {
    return (enum kind)(word & 0xff);
}

static inline uint64_t header_flags(uint64_t word) {
    return word >> 8 & 0xff;
}

static inline uint64_t header_destination(uint64_t word) {
    return word >> 16 & 0xffff;
}

static inline uint64_t header_source(uint64_t word) {
    return word >> 32 & 0xffff;
}

static inline uint64_t header_bytes(uint64_t word) {
    return word >> 48;
}

static inline uint64_t header_node(uint64_t word2) {
    return word2 >> 16 & 0xffff;
}

#endif
