/* Registered memory: two levels of translation (Section 6). A region, found by its memory handle,
 * leads from a process's address to the one of the node's memory. "The second memory translation is
 * performed by looking up the tag entries": it leads from there to the copy in the interface's
 * memory. A window's addresses are offsets of its memory and need neither. */
#ifndef NARTHEX_FIRMWARE_VIA_REGIONS_H
#define NARTHEX_FIRMWARE_VIA_REGIONS_H

#include "firmware/via/state.h"

enum { PAGE_SHIFT = 12 };

/* Where the address of a region is in the node. */
static inline uint64_t host_address(const struct region *region, uint64_t address) {
    uint64_t page = (address >> PAGE_SHIFT) - (region->base >> PAGE_SHIFT);
    return region->frames[page] | (address & (VIA_PAGE_BYTES - 1));
}

/* Whether the interface has a copy of it. */
static inline bool has_copy(const struct region *region) {
    return region->way != BY_DMA;
}

/* Where an address of the node has its copy; only if a valid tag covers it. */
uint64_t look_up_tag(uint64_t host);

/* Where the copy of a region's address is, and of those behind it in the region; only if it has
 * one. */
static inline uint64_t copy_address(const struct region *region, uint64_t address) {
    if (region->way == BY_STORE)
        return region->memory + address;
    return look_up_tag(host_address(region, address));
}

static inline bool holds(const struct region *region, uint64_t address, uint64_t bytes) {
    uint64_t offset = address - region->base;
    return offset <= region->length && bytes <= region->length - offset;
}

/* The region that a VI may use by this handle, if it holds these bytes; else NULL. */
static inline const struct region *find_region(const struct vi *vi, uint64_t handle,
                                               uint64_t address, uint64_t bytes) {
    const struct region *region;
    if (handle < REGIONS) {
        region = &regions[handle];
        if (region->ptag != vi->ptag)
            return NULL;
    } else {
        region = &processes[vi->process].window;
        if (handle != VIA_WINDOW_HANDLE || region->memory == 0)
            return NULL;
    }
    return holds(region, address, bytes) ? region : NULL;
}

/* Bytes from an address on that follow each other in the node, `bytes` at most. */
uint64_t contiguous_bytes(const struct region *region, uint64_t address, uint64_t bytes);

/* Enters memory of these pages; the list of their frames is in the node. It has no copy yet.
 * Returns whether there was memory for its frames. */
bool region_enter(struct region *region, uint64_t address, uint64_t length, uint64_t list);

/* Gives a region a copy in the eager schemes, unless it shares a block with another one. Returns
 * false if there are no tags or no memory for it now: without a copy its data go by DMA. */
bool region_give_copy(struct region *region);

/* Whether any region has a copy by tags. */
bool regions_have_copies(void);

/* Leaves nothing of it; nothing that was posted names it any more. */
void region_drop(struct region *region);

void regions_start(void);

#endif
