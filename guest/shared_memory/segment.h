/* The shared segment: its blocks, their homes, protocols and tags. */
#ifndef NARTHEX_SHARED_MEMORY_SEGMENT_H
#define NARTHEX_SHARED_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/access_tags.h"
#include "shared_memory/protocol.h"

/* Blocks are numbered from the segment's start. */
struct segment {
    char *start;
    size_t bytes;       /* of the segment */
    size_t block_bytes; /* a power of two */
    int block_shift;    /* its logarithm */
    size_t allocated;   /* bytes handed out so far, from the start */
    bool is_tagged;     /* on a machine of several nodes */
    /* For each block: its home, and the tag of this node's copy (an enum narthex_tag). */
    uint16_t *homes;
    uint8_t *tags;
};

extern struct segment segment;

/* Fails unless the segment has been set up; `function` is the public call that asks. */
void segment_check_started(const char *function);

/* `bytes` bytes that are zero and cost nothing until they are touched. */
void *segment_memory(size_t bytes);

static inline size_t segment_blocks(void) {
    return segment.bytes >> segment.block_shift;
}

static inline size_t segment_block(const void *address) {
    return (size_t)((const char *)address - segment.start) >> segment.block_shift;
}

static inline char *segment_address(size_t block) {
    return segment.start + (block << segment.block_shift);
}

static inline void segment_set_tag(size_t block, enum narthex_tag tag) {
    if (segment.tags[block] != tag) {
        segment.tags[block] = (uint8_t)tag;
        if (segment.is_tagged)
            access_tags_set(segment_address(block), tag);
    }
}

/* The instruction at `instruction` has made an access to `address` that its tag forbids: returns
 * when it is allowed. */
void segment_fault(uintptr_t address, bool is_store, uintptr_t instruction);

#endif
