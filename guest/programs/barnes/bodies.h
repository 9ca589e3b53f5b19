/* The bodies, and the shared memory that holds them.
 *
 * A node keeps the bodies of its zone in its own part of two arrays: the points, which every node
 * reads while it computes forces, and the motions, which the owner alone needs (and the next owner,
 * once). Both exist twice: a step reads one generation and writes the next, so that a position is
 * never changed while a node reads it, and a body moves to another node by being written there.
 *
 *     current    | node 0: points, 4 a block | node 1 | ...      read by all, written by none
 *     following  | node 0                    | node 1 | ...      written by each in its part
 *
 * Pages have their homes by address, so a node's part is mostly not at home there. */
#ifndef BARNES_BODIES_H
#define BARNES_BODIES_H

#include <stdint.h>

/* What a force needs of a body, or of a cell: 32 bytes. */
struct point {
    double mass, position[3];
};

/* The rest of a body: 32 bytes. */
struct motion {
    double velocity[3]; /* half a step behind the position */
    int32_t cost;       /* interactions of the last step */
    int32_t name;       /* 0 .. bodies-1, for life */
};

struct generation {
    struct point *points;
    struct motion *motions;
    uint32_t count; /* of this node's, which stand from `bodies.first` on */
};

/* Bodies in general: how many there are, and where this node's begin. */
struct bodies {
    uint32_t total;    /* of all nodes */
    uint32_t capacity; /* of one node's part */
    uint32_t first;    /* index of this node's first */
    struct generation current, following;
};

extern struct bodies bodies;

/* Allocates the shared arrays for `total` bodies, and makes this node's first bodies: a Plummer
 * model in virial units (mass 1, gravity 1, energy -1/4), in zones of equally many bodies. */
void bodies_create(uint32_t total);

/* The capacity for `total` bodies. A zone holds equal work, not equally many bodies: there is room
 * for a quarter more at least. It is an odd multiple of 512, so that the parts of 16 nodes begin
 * all over a direct-mapped cache and not at a few places of it. */
uint32_t bodies_capacity(uint32_t total);

/* The shared memory that all this takes, in bytes. */
uint64_t bodies_shared_bytes(uint32_t total);

/* The generation that was written becomes the current one. */
void bodies_turn(void);

#endif
