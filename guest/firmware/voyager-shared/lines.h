/* Lines of shared memory, and what is done for them.
 *
 * Each process has a copy of the whole region in its part of the snooped space. Every rank of the
 * job is the home of some pages: it knows who has copies of their lines (homes.c). A process's copy
 * of a line may be read or written as the line's permission says (copies.c). */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SHARED_LINES_H
#define NARTHEX_FIRMWARE_VOYAGER_SHARED_LINES_H

#include "firmware/voyager/nic.h"

enum { SHARED_PROCESSES = 8, RANKS_LIMIT = 64 };
enum { SHARED_LINES = 1 << 14 }; /* of all processes of a node */
enum { LINES_OF_PAGE = 4096 / LINE_BYTES };

/* Where a rank is. */
struct rank_place {
    uint16_t node;
    uint8_t process;
};

struct sharer {
    uint64_t start; /* the address of its first line */
    uint32_t ranks; /* of its job; 0: it has no shared memory */
    uint32_t own;   /* its rank */
    struct rank_place places[RANKS_LIMIT];
};

extern struct sharer sharers[SHARED_PROCESSES];

/* Lines of a process. */
extern uint32_t shared_lines;

/* A line of a process: its number among all lines of the node. */
static inline uint32_t number_of(uint64_t process, uint32_t line) {
    return (uint32_t)process * shared_lines + line;
}

static inline uint64_t address_of(uint64_t process, uint32_t line) {
    return sharers[process].start + (uint64_t)line * LINE_BYTES;
}

static inline uint32_t home_of(uint64_t process, uint32_t line) {
    return line / LINES_OF_PAGE % sharers[process].ranks;
}

/* Something that is done for a line, and has two lines of SRAM in which that is sent: a request at
 * its home, or what a home asks of a copy. */
struct task {
    uint64_t room;   /* the first line; it is followed by the line's bytes */
    uint32_t line;   /* of the process */
    uint16_t rank;   /* that asks */
    uint8_t process; /* of this node */
    bool is_used;
    bool is_at_home;
    bool is_write;      /* else it wants to read */
    bool has_bytes;     /* in its room */
    uint8_t permission; /* that is set here; UNCHANGED if none is */
    bool is_flushed;    /* out of this node's caches */
    uint8_t awaited;    /* acknowledgements */
};

enum { UNCHANGED = 0xff };

/* The home of a request, or a copy, is done with the line here. */
void request_is_ready(struct task *task);
void copy_is_ready(struct task *task);

#endif
