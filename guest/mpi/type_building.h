/* How a type of others is built: elements are added, and their blocks become runs. */
#ifndef NARTHEX_MPI_TYPE_BUILDING_H
#define NARTHEX_MPI_TYPE_BUILDING_H

#include "mpi/datatypes.h"

struct building {
    struct datatype *type; /* its runs and its size */
    size_t room;           /* for runs */
    bool is_structure;     /* its end is padded to the alignment of what it holds */
    bool has_bounds;
    intptr_t lower, upper; /* bounds */
};

struct building begin_type(void);

/* Adds `count` elements of a type, the first at `displacement` bytes. */
void add_elements(struct building *building, const struct datatype *old, size_t count,
                  intptr_t displacement);

/* The handle of what has been built, which has one owner and is not committed. */
MPI_Datatype finish_type(struct building *building);

/* Sets bounds other than those of the data. */
void set_bounds(struct datatype *type, intptr_t lower_bound, intptr_t extent);

#endif
