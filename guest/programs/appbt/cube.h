/* The cube of points, its division into one subcube a node, and where in shared memory everything
 * lies.
 *
 * A node's part of shared memory is contiguous; its pages have their homes by address:
 *
 *     fields     of each point of its subcube, z fastest
 *     passages   for each of the three directions and both senses: what this node hands to the next
 *                subcube in that sense while lines of points are solved
 *
 * A passage is written by its node and read by the next. It has rows, one for every row of lines,
 * and a count of the rows that are complete since the start. Rows and counts begin in blocks of
 * their own, so that none is taken away by a node that wants another. */
#ifndef NARTHEX_PROGRAMS_APPBT_CUBE_H
#define NARTHEX_PROGRAMS_APPBT_CUBE_H

#include <stdatomic.h>
#include <stddef.h>

#include "model.h"

/* Senses along a direction. */
enum sense { FORWARD, BACKWARD, SENSES };

/* What goes from subcube to subcube of a line: forward the block and the vector that its last point
 * leaves for the next, backward the change of its first point. */
enum { FORWARD_DOUBLES = BLOCK_ELEMENTS + FIELDS, BACKWARD_DOUBLES = FIELDS };

struct cube {
    int size;               /* points along an edge */
    int parts[DIRECTIONS];  /* subcubes along each direction */
    int part[DIRECTIONS];   /* which of them is this node's */
    int begin[DIRECTIONS];  /* its first point, counted from 1: 0 is on the surface */
    int count[DIRECTIONS];  /* its points along each direction */
    int stride[DIRECTIONS]; /* from one of its points to the next */
    int points;             /* all its points */
};

extern struct cube cube;

/* Divides a cube of `size` points along each edge among the nodes, and sets up shared memory in
 * blocks of `block_bytes`. Fails when the nodes cannot be divided into as many slices. */
void cube_start(int size, size_t block_bytes);

/* The number of this node's point at a place in its subcube. */
static inline int point_number(int x, int y, int z) {
    return x * cube.stride[0] + y * cube.stride[1] + z;
}

/* The fields of this node's point `number`, in shared memory. */
double *fields_of(int number);

/* The neighbours of a point, some of which may be other nodes' or on the surface. */
struct neighbours neighbours_of(int x, int y, int z);

/* The node whose subcube is next in a direction and sense; NOBODY at the surface. */
enum { NOBODY = -1 };
int next_node(int direction, enum sense sense);

/* Row `row` of a passage that `node` writes. */
double *passage_row(int node, int direction, enum sense sense, int row);

/* The passage's count of complete rows. */
atomic_long *passage_count(int node, int direction, enum sense sense);

#endif
