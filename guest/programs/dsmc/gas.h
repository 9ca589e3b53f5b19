/* The gas: molecules of two atoms, hard spheres that also turn.
 *
 * Units: a molecule's mass, a cell's edge, the speed with which all molecules start. The mean free
 * path is a cell's edge, and a molecule crosses a third of a cell in an iteration. */
#ifndef DSMC_GAS_H
#define DSMC_GAS_H

#include <stddef.h>
#include <stdint.h>

#define TIME_STEP (1.0 / 3)

/* A molecule's 36 bytes are a message of 44 with its header. It is aligned so that copying it takes
 * five doublewords, and no call. */
struct molecule {
    _Alignas(8) float position[3];
    float velocity[3];
    float rotation; /* energy of the rotation about two axes */
    uint32_t name;  /* 0 .. molecules-1, for life */
    uint32_t cell;
};

enum { MOLECULE_BYTES = offsetof(struct molecule, cell) + sizeof(uint32_t) };

/* Molecule `name` as it starts, in `cell`. */
struct molecule gas_create(uint32_t name, uint32_t cell);

/* The gas has `per_cell` molecules in a cell, on average. */
void gas_start(int per_cell);

/* The area that two molecules must not come within. */
double gas_cross_section(void);

/* Lets the `count` molecules of a cell collide for an iteration and returns how often they did.
 * `*fastest` is the largest relative speed that this cell has met so far. Results depend on the
 * molecules' order, not on the node. */
uint32_t gas_collide(struct molecule *molecules, uint32_t count, uint32_t iteration,
                     double *fastest);

#endif
