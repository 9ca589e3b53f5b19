/* Solves the implicit equations of all lines of points along a direction. */
#ifndef NARTHEX_PROGRAMS_APPBT_LINES_H
#define NARTHEX_PROGRAMS_APPBT_LINES_H

#include "cube.h"

/* To be called once, after cube_start. */
void lines_start(void);

/* Turns `changes`, FIELDS numbers for each of this node's points, from the right-hand sides of the
 * equations along `direction` into their solution. Every node calls it for the same direction. */
void lines_solve(int direction, double *changes);

#endif
