/* The fields of em3d: a bipartite graph of electric and magnetic values, and a part of it.
 *
 * Both kinds are dealt out evenly to the processors of the graph, in order. Every value has
 * `degree` edges: the values of the other kind that it is computed from.
 *
 *     processor  0          1          2          3
 *     electric   e e e e    e e e e    e e e e    e e e e
 *                |\ \______/|       edges: most within a processor, the others to
 *     magnetic   h h h h    h h h h    h h h h    h h h h    one at most `span` further
 *
 * A part is the values of some neighbouring processors of the graph. An edge to a value of another
 * part leads to a copy of it, which the owner of the part keeps up to date. */
#ifndef NARTHEX_PROGRAMS_EM3D_FIELD_H
#define NARTHEX_PROGRAMS_EM3D_FIELD_H

#include <stddef.h>
#include <stdint.h>

enum { ELECTRIC, MAGNETIC, KINDS };

struct graph {
    size_t values; /* of each kind, on each processor */
    int processors;
    int degree;
    int remote_percent; /* of the edges: lead to another processor */
    int span;           /* which is at most this many processors away, the last next to the first */
};

/* A node of the graph. As in the Split-C program that the papers cite, the nodes of a kind are a
 * linked list, each with an array of pointers to the values that it is computed from and one of
 * weights. */
struct vertex {
    double value;
    struct vertex *next;
    int degree;
    const double **neighbours; /* in the part, or copies */
    double *weights;
};

/* Those of one kind. */
struct side {
    struct vertex **vertices; /* by number; the list begins with the first */
    double *copies;           /* of other parts' values of this kind */
    size_t copy_count;
};

struct part {
    struct graph graph;
    size_t first, count; /* values of each kind: where they begin in the whole, how many */
    struct side sides[KINDS];
};

/* Is told of each value of another part, counted in the whole, that is copied to `copy`. */
typedef void need(int kind, size_t value, size_t copy);

/* The part of the graph with the processors first .. last-1, all values as they are at first. */
struct part part_make(struct graph graph, int first, int last, need *need);

/* Computes the values of a kind from those of the other. */
void part_compute(struct part *part, int kind);

/* The part's share in the sum of the squared values. */
double part_energy(const struct part *part, int kind);

#endif
