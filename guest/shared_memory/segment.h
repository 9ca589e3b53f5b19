/* The shared segment: its blocks, and where each of them has its home. */
#ifndef NARTHEX_SHARED_MEMORY_SEGMENT_H
#define NARTHEX_SHARED_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Blocks are numbered from the segment's start; on the wire a number takes 4 bytes. */
struct segment {
    char *start;
    size_t bytes;       /* of the segment */
    size_t block_bytes; /* a power of two */
    size_t allocated;   /* bytes handed out so far, from the start */
};

extern struct segment segment;

/* Fails unless the segment has been set up; `function` is the public call that asks. */
void segment_check_started(const char *function);

#endif
