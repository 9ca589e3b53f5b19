#include "firmware/via/transfer.h"

void copy_in(const struct region *region, uint64_t address, void *to, uint64_t bytes) {
    char *next = to;
    if (region->way == BY_STORE) {
        __builtin_memcpy(next, (const void *)copy_address(region, address), bytes);
        return;
    }
    while (bytes > 0) {
        uint64_t run = contiguous_bytes(region, address, bytes);
        dma_in(host_address(region, address), next, run);
        address += run;
        next += run;
        bytes -= run;
    }
}

/* Puts bytes coherently where a region is that has a copy. */
static void put(const char *from, uint64_t host, uint64_t bytes) {
    via_store(REGISTER_VIA_PUT_SOURCE, (uint64_t)from);
    via_store(REGISTER_VIA_PUT_ADDRESS, host);
    via_store(REGISTER_VIA_PUT_LENGTH, bytes);
    via_wait_for(VIA_UPDATED);
}

void copy_out(const void *from, const struct region *region, uint64_t address, uint64_t bytes) {
    const char *next = from;
    if (region->way == BY_STORE) {
        __builtin_memcpy((void *)copy_address(region, address), next, bytes);
        return;
    }
    while (bytes > 0) {
        uint64_t run = contiguous_bytes(region, address, bytes);
        uint64_t host = host_address(region, address);
        if (region->way == BY_UPDATE)
            put(next, host, run);
        else
            dma_out(next, host, run);
        address += run;
        next += run;
        bytes -= run;
    }
}

uint64_t read_doubleword(const struct region *region, uint64_t address) {
    static uint64_t value;
    if (!has_copy(region)) {
        dma_in(host_address(region, address), &value, sizeof value);
        return *(volatile uint64_t *)&value;
    }
    uint64_t copy = copy_address(region, address);
    await_copy(region, copy, sizeof value);
    return *(volatile uint64_t *)copy;
}

/* Bytes of a descriptor whose control segment is here; no more than there may be. */
static uint64_t bytes_of(const uint64_t *descriptor) {
    uint64_t count = segments_of(descriptor[WORD_CONTROL]);
    uint64_t bytes = CONTROL_SEGMENT_BYTES + count * SEGMENT_BYTES;
    return count > VIA_SEGMENTS_LIMIT ? sizeof(VIP_DESCRIPTOR) : bytes;
}

const uint64_t *fetch_descriptor(const struct region *region, uint64_t address) {
    static uint64_t fetched[WORD_SEGMENTS + VIA_SEGMENTS_LIMIT * SEGMENT_WORDS];
    const uint64_t first = sizeof(VIP_DESCRIPTOR);
    if (has_copy(region)) {
        const uint64_t *copy = (const uint64_t *)copy_address(region, address);
        await_copy(region, (uint64_t)copy, first);
        uint64_t bytes = bytes_of(copy);
        if (bytes > first)
            await_copy(region, (uint64_t)copy + first, bytes - first);
        return copy;
    }
    dma_in(host_address(region, address), fetched, first);
    uint64_t bytes = bytes_of(fetched);
    if (bytes > first && holds(region, address, bytes))
        copy_in(region, address + first, (char *)fetched + first, bytes - first);
    return fetched;
}
