/* The walk through the tree. A cell whose edge is shorter than THETA times its distance acts as one
 * point in its centre of mass; others are opened. The walk is written with a stack of its own, and
 * what it does depends on the tree alone, so forces are the same to the last bit on any node. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#include "forces.h"

#include <math.h>

#include "narthex.h"

#define THETA 1.0
#define SOFTENING 0.05

enum { STACK_ITEMS = 1024, POLL_ITEMS = 64 };

struct walk {
    struct {
        child item;
        double edge_square; /* of its cube */
    } stack[STACK_ITEMS];
    int depth;
};

double forces_offset(const double from[3], const double to[3], double offset[3]) {
    for (int axis = 0; axis < 3; axis++)
        offset[axis] = to[axis] - from[axis];
    return offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2];
}

void forces_add(struct pull *pull, double mass, const double offset[3], double square) {
    double softened = square + SOFTENING * SOFTENING;
    double potential = mass / sqrt(softened), factor = potential / softened;
    for (int axis = 0; axis < 3; axis++)
        pull->acceleration[axis] += factor * offset[axis];
    pull->potential -= potential;
    pull->interactions++;
}

static void open(struct walk *walk, uint32_t cell, double edge_square) {
    const child *children = tree.cells[cell].children;
    narthex_check(walk->depth + 8 <= STACK_ITEMS, "node %d: the tree is too deep", narthex_node());
    for (int octant = 0; octant < 8; octant++)
        if (children[octant] != NOTHING) {
            walk->stack[walk->depth].item = children[octant];
            walk->stack[walk->depth++].edge_square = edge_square / 4;
        }
}

struct pull forces_by_tree(uint32_t index) {
    static struct walk walk;
    static unsigned visits;
    struct point body = bodies.current.points[index];
    struct pull pull = {0};
    open(&walk, ROOT, 4 * tree.space.half * tree.space.half);
    while (walk.depth > 0) {
        child item = walk.stack[--walk.depth].item;
        double edge_square = walk.stack[walk.depth].edge_square, offset[3];
        const struct point *source = point_of(item);
        double square = forces_offset(body.position, source->position, offset);
        if (!is_body(item) && edge_square >= THETA * THETA * square)
            open(&walk, item, edge_square);
        else if (item != (BODY | index))
            forces_add(&pull, source->mass, offset, square);
        if (++visits % POLL_ITEMS == 0)
            narthex_poll();
    }
    return pull;
}
