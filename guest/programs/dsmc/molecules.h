/* A node's molecules: moving them, and handing those that leave to other nodes. */
#ifndef DSMC_MOLECULES_H
#define DSMC_MOLECULES_H

#include "gas.h"

/* This node's molecules, in the order of their cells, and in a cell in that of their names. Those
 * of the cell at place p are `start[p]` to before `start[p + 1]`. */
struct molecules {
    struct molecule *all;
    uint32_t count;
    uint32_t *start;
    uint64_t sent; /* to other nodes, so far */
};

extern struct molecules molecules;

/* Fills the node's cells with `per_cell` molecules each. */
void molecules_create(int per_cell);

/* One iteration's motion: returns when every molecule is where it belongs, on every node that has
 * returned too. Between two calls there must be a barrier. */
void molecules_move(void);

#endif
