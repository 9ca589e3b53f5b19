/* The equations: a model of compressible flow in the unit cube, five coupled fields
 *
 *     density r, velocity v = (v1, v2, v3), temperature t
 *
 *     dr/dt + v.grad r + c div v            = n lap r + f0
 *     dv/dt + v.grad v + c grad r + c grad t = n lap v + f1..3
 *     dt/dt + v.grad t + c div v            = n lap t + f4
 *
 * or du/dt + A1(u) du/dx + A2(u) du/dy + A3(u) du/dz = n lap u + f, where each 5 x 5 matrix A is
 * the velocity in its direction times the identity, and c where density and temperature meet that
 * velocity. The fields are known on the surface of the cube. The sources f are those for which a
 * polynomial of the second degree solves the equations: central differences are exact for it, so it
 * solves the equations of the grid as well, and is what a solver must come to. */
#ifndef NARTHEX_PROGRAMS_APPBT_MODEL_H
#define NARTHEX_PROGRAMS_APPBT_MODEL_H

#include "../exact.h"
#include "block.h"

enum { DIRECTIONS = 3 };

/* A point's neighbours: before and behind it in each direction. */
struct neighbours {
    const double *before[DIRECTIONS], *behind[DIRECTIONS];
};

/* Sets the distance between the points of a grid of `size` points along each edge, the surface not
 * counted. To be called first. */
void model_start(int size);

/* The solution at point `place` of the grid: 0 and size + 1 are on the surface. */
void model_solution(const int place[DIRECTIONS], double *fields);

/* What the iteration starts from there: the solution with a bump that vanishes on the surface. */
void model_first_guess(const int place[DIRECTIONS], double *fields);

/* The change per time of the fields at a point, without the sources, by central differences. */
void model_change(const double *fields, const struct neighbours *neighbours, double *change);

/* The blocks of a point in the implicit equation along one direction, (1 + step * (A d/dx - n
 * d2/dx2)) * change = right-hand side: that for the point before, for itself and for that behind.
 */
void model_blocks(int direction, const double *fields, block before, block own, block behind);

/* The step of (pseudo-)time. */
double model_step(void);

#endif
