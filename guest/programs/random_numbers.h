/* Pseudo-random numbers of the programs that sample distributions. They use the square root alone
 * of the functions of the C library, which is rounded alike everywhere. */
#ifndef NARTHEX_PROGRAMS_RANDOM_NUMBERS_H
#define NARTHEX_PROGRAMS_RANDOM_NUMBERS_H

#include <math.h>

#include "pattern.h"

/* A uniform number from 0 to below 1. */
static inline double random_uniform(uint64_t *state) {
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* A vector of `length` in a random direction: a point drawn in a ball, scaled. */
static inline void random_direction(uint64_t *state, double length, double vector[3]) {
    double square;
    do {
        square = 0;
        for (int axis = 0; axis < 3; axis++) {
            vector[axis] = 2 * random_uniform(state) - 1;
            square += vector[axis] * vector[axis];
        }
    } while (square > 1 || square < 0x1p-20);
    double factor = length / sqrt(square);
    for (int axis = 0; axis < 3; axis++)
        vector[axis] *= factor;
}

#endif
