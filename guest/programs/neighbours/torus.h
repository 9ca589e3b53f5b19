/* The nodes of the machine as a torus of rows x columns, as square as their number allows, and each
 * node's four neighbours in it. Along an axis with one node the node is its own neighbour. */
#ifndef NARTHEX_PROGRAMS_NEIGHBOURS_TORUS_H
#define NARTHEX_PROGRAMS_NEIGHBOURS_TORUS_H

#include "narthex.h"

/* Opposite directions differ in the lowest bit. */
enum direction { NORTH, SOUTH, WEST, EAST, DIRECTIONS };

static inline enum direction opposite(enum direction direction) {
    return direction ^ 1;
}

struct torus {
    int rows, columns;
    int row, column; /* of this node */
};

static inline struct torus torus_make(void) {
    int nodes = narthex_nodes(), rows = 1;
    for (int divisor = 1; divisor * divisor <= nodes; divisor++)
        if (nodes % divisor == 0)
            rows = divisor;
    int columns = nodes / rows;
    return (struct torus){rows, columns, narthex_node() / columns, narthex_node() % columns};
}

static inline int torus_neighbour(const struct torus *torus, enum direction direction) {
    static const int down[DIRECTIONS] = {-1, 1, 0, 0}, right[DIRECTIONS] = {0, 0, -1, 1};
    int row = (torus->row + down[direction] + torus->rows) % torus->rows;
    int column = (torus->column + right[direction] + torus->columns) % torus->columns;
    return row * torus->columns + column;
}

#endif
