/* Memory by which library and firmware speak to each other, beside descriptors: the command page
 * of a process, and completion queues. The interface writes a part of one coherence block at a
 * time, so that each entry is there whole or not at all. */
#ifndef NARTHEX_VIA_PAGES_H
#define NARTHEX_VIA_PAGES_H

#include <stdint.h>

#define VIA_PAGE_BYTES 4096
#define VIA_VALUES 2
#define VIA_ANSWERS 8 /* the newest; a process has no more requests under way */
#define VIA_EVENTS 64

/* The answer to a request of the kernel agent. */
struct via_answer {
    uint64_t sequence; /* of the request */
    uint64_t status;   /* a VIP_RETURN */
    uint64_t values[VIA_VALUES];
};

/* An error that belongs to no call. */
struct via_event {
    uint64_t number; /* counts the process's events from 1 */
    uint64_t codes;  /* VIP_ERROR_CODE, VIP_RESOURCE_CODE in the upper half */
    uint64_t vi;     /* or completion queue */
    uint64_t descriptor;
};

struct via_command_page {
    _Alignas(VIA_PAGE_BYTES) struct via_answer answers[VIA_ANSWERS];  /* by sequence */
    _Alignas(VIA_PAGE_BYTES / 2) struct via_event events[VIA_EVENTS]; /* the newest */
};

/* A completion queue: how many entries the program has taken, in a block of its own, then the
 * entries. Their lowest bit, the sense, is 1 in the first pass of the queue, 0 in the second, and
 * so on: an entry is new when it has the sense of its pass. */
#define VIA_CQ_ENTRIES_AT 256 /* bytes from the beginning */
#define VIA_CQ_ENTRIES_LIMIT 4096

static inline uint64_t via_cq_entry(uint64_t vi, uint64_t is_receive, uint64_t sense) {
    return vi << 2 | is_receive << 1 | sense;
}

/* What stands in front of a descriptor's address in a doorbell: its memory handle. */
#define VIA_HANDLE_SHIFT 48
/* The handle of the process's window, whose addresses are offsets in it. */
#define VIA_WINDOW_HANDLE 0xfffful

#endif
