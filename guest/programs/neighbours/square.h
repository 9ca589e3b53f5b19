/* A node's square of temperatures, with a border of its neighbours' edges around it. */
#ifndef NARTHEX_PROGRAMS_NEIGHBOURS_SQUARE_H
#define NARTHEX_PROGRAMS_NEIGHBOURS_SQUARE_H

#include <stddef.h>

#include "torus.h"

struct square {
    size_t side;       /* points in a row of the node's own */
    size_t pitch;      /* from a row to the next, with the border */
    double *now, *new; /* temperatures, and those of the next step */
};

/* A square without temperatures. */
struct square square_make(size_t side);

/* The node's point in this row and column, from 0 on. */
static inline double *square_point(const struct square *square, size_t row, size_t column) {
    return square->now + (row + 1) * square->pitch + column + 1;
}

/* Gets ready to exchange edges; a barrier must follow. */
void square_connect(const struct square *square, const struct torus *torus);

/* One step. */
void square_step(struct square *square);

#endif
