/* The octree, in shared memory.
 *
 * A cell is a cube that holds two bodies or more; each of its eight octants is empty, one body, or
 * a cell again. So the tree follows from the positions alone, by whichever node and in whatever
 * order it is built. A cell fills one block of shared memory: nodes that change different cells do
 * not disturb each other. */
#ifndef BARNES_TREE_H
#define BARNES_TREE_H

#include <stdbool.h>

#include "bodies.h"

enum { BLOCK_BYTES = 128 };

/* What stands in an octant: nothing, a body's index or a cell's. The root, cell 0, is no cell's
 * child. */
typedef uint32_t child;
#define NOTHING ((child)0)
#define BODY ((child)1 << 31)
#define ROOT ((child)0)

static inline bool is_body(child item) {
    return item & BODY;
}

struct cell {
    _Alignas(BLOCK_BYTES) struct point centre; /* mass, and centre of mass */
    int64_t cost;                              /* of its bodies */
    child children[8];
    int32_t level; /* the root's is 0 */
    int32_t stale; /* something below has changed since mass, centre and cost were computed */
};

/* The space of a cell. */
struct cube {
    double centre[3], half; /* half the length of an edge */
};

struct tree {
    struct cell *cells;
    struct cube space; /* of the root */
};

extern struct tree tree;

/* Allocates shared memory for the tree of the bodies: as many cells as places for bodies,
 * about twice what it takes. */
void tree_create(void);
uint64_t tree_shared_bytes(uint32_t total);

/* Builds the tree of the current bodies, with masses, centres and costs. Every node calls it. */
void tree_build(void);

/* The mass and place of a body or cell. */
static inline const struct point *point_of(child item) {
    return is_body(item) ? &bodies.current.points[item & ~BODY] : &tree.cells[item].centre;
}

static inline int64_t cost_of(child item) {
    return is_body(item) ? bodies.current.motions[item & ~BODY].cost : tree.cells[item].cost;
}

#endif
