/* Moving descriptors, data and statuses between the host's memory and the interface's: by the DMA
 * engine, or in place where the interface has a copy. Which it is, the region says. */
#ifndef NARTHEX_FIRMWARE_VIA_TRANSFER_H
#define NARTHEX_FIRMWARE_VIA_TRANSFER_H

#include "firmware/via/dma.h"
#include "firmware/via/regions.h"

/* Waits until no block of a copy is on its way: a doorbell may overtake the blocks that were
 * written before it. The window has no such blocks. */
static inline void await_copy(const struct region *region, uint64_t copy, uint64_t bytes) {
    if (region->way != BY_UPDATE)
        return;
    via_store(REGISTER_VIA_AWAIT_ADDRESS, copy);
    via_store(REGISTER_VIA_AWAIT_LENGTH, bytes);
    via_wait_for(VIA_AWAITED);
}

/* A doubleword of a region, as write_doubleword wants it: its place in the node or in the
 * interface, and the way. */
static inline uint64_t place_of(const struct region *region, uint64_t address) {
    if (region->way == BY_STORE)
        return copy_address(region, address) | BY_STORE;
    return host_address(region, address) | region->way;
}

/* Stores a doubleword in the host's memory, or in the window, and does not wait for it. */
static inline void write_doubleword(uint64_t place, uint64_t value) {
    uint64_t address = place & ~(uint64_t)WAYS_MASK;
    switch (place & WAYS_MASK) {
    case BY_DMA:
        dma_write(address, value);
        return;
    case BY_UPDATE:
        via_wait_for(VIA_UPDATED);
        via_store(REGISTER_VIA_UPDATE_ADDRESS, address);
        via_store(REGISTER_VIA_UPDATE_VALUE, value);
        return;
    case BY_STORE:
        *(volatile uint64_t *)address = value;
        return;
    default:
        return;
    }
}

/* Copies bytes of a region to the interface's memory. */
void copy_in(const struct region *region, uint64_t address, void *to, uint64_t bytes);

/* Copies bytes of the interface's memory to a region. */
void copy_out(const void *from, const struct region *region, uint64_t address, uint64_t bytes);

/* A doubleword of a region, read now. */
uint64_t read_doubleword(const struct region *region, uint64_t address);

/* A descriptor with all its segments, in the interface's memory until the next call. */
const uint64_t *fetch_descriptor(const struct region *region, uint64_t address);

/* Doublewords of a descriptor. */
enum { WORD_CONTROL = 1, WORD_IMMEDIATE = 2, WORD_LENGTH = 3, WORD_SEGMENTS = 4 };
enum { SEGMENT_WORDS = 2, SEGMENT_BYTES = 16, CONTROL_SEGMENT_BYTES = 32 };

static inline uint64_t segments_of(uint64_t control_word) {
    return control_word >> 32 & 0xffff;
}

static inline uint64_t control_of(uint64_t control_word) {
    return control_word >> 48;
}

/* Enters what `count` data segments name; returns VIP_STATUS_... errors. */
static inline uint64_t take_pieces(const struct vi *vi, const uint64_t *segment, uint64_t count,
                                   struct work *work) {
    uint64_t bytes = 0;
    work->count = count;
    for (uint64_t each = 0; each < count; each++, segment += SEGMENT_WORDS) {
        uint64_t address = segment[0], length = segment[1] >> 32;
        const struct region *region = find_region(vi, (uint32_t)segment[1], address, length);
        if (!region)
            return VIP_STATUS_PROTECTION_ERROR;
        work->pieces[each] = (struct piece){region, address, length};
        bytes += length;
    }
    work->bytes = bytes;
    return 0;
}

#endif
