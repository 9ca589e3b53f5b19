/* Recursive coordinate bisection: divides points among parts so that each part is compact. */
#ifndef NARTHEX_UNSTRUCTURED_PARTITION_H
#define NARTHEX_UNSTRUCTURED_PARTITION_H

typedef double vector[3];

/* Writes to `owner` the part, 0 .. parts - 1, of each of `count` points. Parts have equal numbers
 * of points but for rounding. Depends only on the arguments. */
void partition(const vector *points, int count, int parts, int *owner);

#endif
