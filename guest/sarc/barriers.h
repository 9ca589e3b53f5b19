/* Barriers of tiles (syslib): over a lock, over coherent memory, over counters. */
#ifndef NARTHEX_SARC_BARRIERS_H
#define NARTHEX_SARC_BARRIERS_H

#include "sarc/locks.h"

/* A count in a scratchpad under a lock of the lock box; the last to come stores the flag of each
 * tile. */
struct sarc_mutex_barrier {
    uint64_t *lock;
    uint64_t *count;      /* of one tile */
    uint64_t *first_flag; /* of tile 0: those of the others are at the same place */
    uint64_t *flag;       /* of the own tile */
    unsigned tiles;
};
void sarc_mutex_wait(const struct sarc_mutex_barrier *barrier);

/* Centralised, whose sense changes with each use. */
struct sarc_central_barrier {
    _Alignas(SARC_LINE_BYTES) atomic_uint arrived;
    _Alignas(SARC_LINE_BYTES) atomic_uint sense;
};
void sarc_central_wait(struct sarc_central_barrier *barrier, unsigned tiles, unsigned *own_sense);

/* The tree of Mellor-Crummey and Scott: up by four, down by two. One for each tile. */
enum { SARC_TREE_UP = 4, SARC_TREE_DOWN = 2 };
struct sarc_tree_barrier {
    _Alignas(SARC_LINE_BYTES) atomic_uchar child_waits[SARC_TREE_UP];
    _Alignas(SARC_LINE_BYTES) atomic_uchar sense;
    _Alignas(SARC_LINE_BYTES) atomic_uchar *parent; /* which is told of arrivals; NULL: the root */
    atomic_uchar *children[SARC_TREE_DOWN];         /* which are told to go on; NULL: none */
    unsigned char has_child[SARC_TREE_UP];
    unsigned char own_sense;
};
void sarc_make_tree_barrier(struct sarc_tree_barrier *all, unsigned tile, unsigned tiles);
void sarc_tree_wait(struct sarc_tree_barrier *own);

/* A tree of counters for arrivals, and one that tells each tile's flag to go on (Section 5.3). */
struct sarc_counter_barrier {
    uint64_t *leaf; /* the counter to which an arrival is stored */
    uint64_t *flag;
};

/* Lines of each tile for it: the flag's, and the counters of both trees that it holds. */
enum { SARC_COUNTER_LEVELS = 4 };
enum { SARC_COUNTER_BARRIER_LINES = 1 + 2 * SARC_COUNTER_LEVELS };

/* Makes the counters of one tile, out of lines at the same place in each. */
void sarc_make_counter_barrier(struct sarc_counter_barrier *barrier, uint64_t *lines, unsigned tile,
                               unsigned tiles);

/* Returns when the counters above this tile have been made: before its first wait. */
void sarc_await_counter_barrier(uint64_t *lines, unsigned tile, unsigned tiles);

static inline void sarc_counter_wait(const struct sarc_counter_barrier *barrier) {
    sarc_add(barrier->leaf, 1);
    sarc_await_flag(barrier->flag);
}

#endif
