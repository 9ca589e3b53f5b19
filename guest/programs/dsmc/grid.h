/* The box, its cells, and which node has which.
 *
 * The box is a channel: periodic along x, with walls that reflect molecules at the ends of y and z.
 * Its cells are cubes with edges of length 1. The nodes divide it into blocks, as many along each
 * axis as make their surfaces smallest: 16 nodes make 4 x 2 x 2 blocks of 36 x 18 x 15 cells. */
#ifndef DSMC_GRID_H
#define DSMC_GRID_H

#include <stdint.h>

struct grid {
    int cells[3];         /* along x, y and z */
    double edge[3];       /* the same as lengths */
    uint32_t total;       /* cells of all nodes */
    uint32_t most;        /* cells that the largest block has */
    int parts[3];         /* blocks along each axis */
    int *offset[2];       /* of a coordinate along x or y in the number of a cell; a
                             multiplication takes 17 cycles */
    uint16_t *node;       /* of a cell */
    uint16_t *node_place; /* of a cell among those of its node */
    uint32_t *own;        /* this node's cells in ascending order, at their places */
    uint32_t own_count;
};

extern struct grid grid;

/* Divides x * y * z cells among the nodes. */
void grid_create(const int cells[3]);

/* The cell with these coordinates. */
static inline uint32_t grid_cell(int x, int y, int z) {
    return (uint32_t)(grid.offset[0][x] + grid.offset[1][y] + z);
}

#endif
