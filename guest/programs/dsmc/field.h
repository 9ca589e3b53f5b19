/* The gas as a field: averages over each cell, in shared memory. */
#ifndef DSMC_FIELD_H
#define DSMC_FIELD_H

#include <stddef.h>

/* What a cell publishes: 32 bytes, four cells a block. */
struct state {
    float density, velocity[3];
    float temperature, rotation; /* of flight and of rotation, as energies */
    float pressure, free_path;
};

enum { BLOCK_BYTES = 128 };

/* Starts shared memory and allocates the field, whose pages have their homes by address. */
void field_create(void);

/* Adds the present molecules to the averages and publishes them, which are of `samples` then. */
void field_publish(int samples);

/* The sum over this node's cells of the local Knudsen number, from the published averages of the
 * cells and their neighbours: the mean free path over the length in which density or temperature
 * change. The continuum breaks down above about 0.05 (Boyd, Chen and Candler 1995). */
double field_knudsen(void);

#endif
