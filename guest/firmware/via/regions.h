/* Registered memory: two levels of translation, from a process's address to the frame that holds it
 * in the node, and to the copy of it in the interface's memory (Section 6). A region is found by
 * its memory handle; the tags of its copy are the region's own. */
#ifndef NARTHEX_FIRMWARE_VIA_REGIONS_H
#define NARTHEX_FIRMWARE_VIA_REGIONS_H

#include "firmware/via/state.h"

enum { PAGE_SHIFT = 12 };

/* Where the address of a region is in the node. */
static inline uint64_t host_address(const struct region *region, uint64_t address) {
    uint64_t page = (address >> PAGE_SHIFT) - (region->base >> PAGE_SHIFT);
    return region->frames[page] | (address & (VIA_PAGE_BYTES - 1));
}

/* Where its copy is; only if the region has one. */
static inline uint64_t copy_address(const struct region *region, uint64_t address) {
    return region->buffer + (address - region->base);
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
        if (handle != VIA_WINDOW_HANDLE || region->buffer == 0)
            return NULL;
    }
    return holds(region, address, bytes) ? region : NULL;
}

/* Bytes from an address on that follow each other in the node, `bytes` at most. */
uint64_t contiguous_bytes(const struct region *region, uint64_t address, uint64_t bytes);

/* Enters memory of these pages; the list of their frames is in the node. In the eager schemes it
 * gets a copy, if there are tags and memory for it. Returns whether there was memory for its
 * frames. */
bool region_enter(struct region *region, uint64_t address, uint64_t length, uint64_t list);

/* Leaves nothing of it; nothing that was posted names it any more. */
void region_drop(struct region *region);

void regions_start(void);

#endif
