/* Operations of reductions. */
#ifndef NARTHEX_MPI_OPERATIONS_H
#define NARTHEX_MPI_OPERATIONS_H

#include "mpi/datatypes.h"

/* Combines `count` elements: inout = in op inout. */
typedef void combine_function(const void *in, void *inout, size_t count);

struct operation {
    uint32_t mark; /* OPERATION_MARK while it is one */
    bool commutes;
    MPI_User_function *function; /* a program's; NULL otherwise */
    const char *name;
    combine_function *const *of_element; /* by `enum element`; NULL where there is none */
};

enum { OPERATION_MARK = 0x6f706572 };

/* The operation of a handle; NULL if it is none. */
struct operation *find_operation(MPI_Op handle);

/* Whether the operation can be used with elements of the type. */
bool can_operate(const struct operation *operation, const struct datatype *type);

void operate(struct operation *operation, const void *in, void *inout, size_t count,
             struct datatype *type);

/* Finds an operation that takes a type, or returns an error. */
#define FIND_OPERATION_IN(function, operation, handle, type)                                       \
    struct operation *operation = find_operation(handle);                                          \
    CHECK_IN(function, operation, MPI_ERR_OP, "the operation is %s",                               \
             (handle) == MPI_OP_NULL ? "MPI_OP_NULL" : "none: it has been freed, or never set");   \
    CHECK_IN(function, can_operate(operation, type), MPI_ERR_OP, "%s does not take %s",            \
             operation->name, (type)->name ? (type)->name : "a type that the program has made")

#endif
