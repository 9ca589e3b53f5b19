/* The walk through the tree. A cell whose edge is shorter than THETA times its distance acts as one
 * point in its centre of mass; others are opened. The walk is written with a stack of its own, and
 * what it does depends on the tree alone, so forces are the same to the last bit on any node. */
#include "../exact.h"

#include "forces.h"

#include <math.h>

#include "narthex.h"

#define THETA 1.0
#define SOFTENING 0.05

enum { STACK_ITEMS = 512, POLL_VISITS = 32 };

/* What is still to be visited. */
struct visit {
    child item;
    double edge_square; /* of its cube */
};

double forces_offset(const double from[3], const double to[3], double offset[3]) {
    for (int axis = 0; axis < 3; axis++)
        offset[axis] = to[axis] - from[axis];
    return offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2];
}

void forces_add(struct pull *pull, double mass, const double offset[3], double square) {
    double softened = square + SOFTENING * SOFTENING;
    double inverse = 1 / sqrt(softened), potential = mass * inverse;
    double factor = potential * inverse * inverse;
    for (int axis = 0; axis < 3; axis++)
        pull->acceleration[axis] += factor * offset[axis];
    pull->potential -= potential;
    pull->interactions++;
}

/* Puts the children of a cell on the stack and returns its new depth. */
static int open(struct visit *stack, int depth, uint32_t cell, double edge_square) {
    const child *children = tree.cells[cell].children;
    narthex_check(depth + 8 <= STACK_ITEMS, "node %d: the tree is too deep", narthex_node());
    for (int octant = 0; octant < 8; octant++)
        if (children[octant] != NOTHING)
            stack[depth++] = (struct visit){children[octant], edge_square / 4};
    return depth;
}

struct pull forces_by_tree(uint32_t index) {
    struct visit stack[STACK_ITEMS];
    struct point body = bodies.current.points[index];
    struct pull pull = {0};
    int depth = open(stack, 0, ROOT, 4 * tree.space.half * tree.space.half);
    for (unsigned visits = 1; depth > 0; visits++) {
        struct visit visit = stack[--depth];
        const struct point *source = point_of(visit.item);
        double offset[3], square = forces_offset(body.position, source->position, offset);
        if (!is_body(visit.item) && visit.edge_square >= THETA * THETA * square)
            depth = open(stack, depth, visit.item, visit.edge_square);
        else if (visit.item != (BODY | index))
            forces_add(&pull, source->mass, offset, square);
        if (visits % POLL_VISITS == 0)
            narthex_poll();
    }
    return pull;
}
