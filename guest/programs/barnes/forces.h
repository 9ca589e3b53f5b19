/* Forces by the tree, and by direct summation. */
#ifndef BARNES_FORCES_H
#define BARNES_FORCES_H

#include "tree.h"

/* What acts on a body. */
struct pull {
    double acceleration[3], potential;
    int32_t interactions;
};

/* The pull of all others on the body at `index`, by the tree. Polls now and then. */
struct pull forces_by_tree(uint32_t index);

/* Adds the pull of `source` at a place, where `offset` leads from there to the source and `square`
 * is its square. */
void forces_add(struct pull *pull, double mass, const double offset[3], double square);

/* The way from a place to another, and its square. */
double forces_offset(const double from[3], const double to[3], double offset[3]);

#endif
