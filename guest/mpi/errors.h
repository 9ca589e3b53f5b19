/* Errors: their classes in words, and the handlers that communicators have for them. */
#ifndef NARTHEX_MPI_ERRORS_H
#define NARTHEX_MPI_ERRORS_H

#include "mpi/communicators.h"

/* An error handler of a program. */
struct error_handler {
    MPI_Comm_errhandler_function *function;
};

/* Has the communicator's handler deal with an error of `class`; returns the class if that returns.
 * The message is like printf's. `comm` is NULL where none is known: then it is the world's. */
#ifdef __GNUC__
__attribute__((format(printf, 4, 5), cold, noinline))
#endif
int mpi_error(struct communicator *comm, int class, const char *function, const char *format, ...);

/* The same, with the library's words, for an MPI_Comm that is none; for MPI before its beginning
 * or after its end, which ends the run. */
int mpi_error_communicator(MPI_Comm comm, const char *function);

/* The name of a class: "MPI_ERR_RANK". */
const char *error_name(int class);

/* The common checks. Each returns from the calling function with an error; `comm` is a struct
 * communicator's pointer in its scope. Those that end in _IN are for functions that work for
 * others, and are given the name of the one that the program has called. */
#define CHECK_IN(function, condition, class, ...)                                                  \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            return mpi_error(comm, class, function, __VA_ARGS__);                                  \
    } while (0)
#define CHECK(condition, class, ...) CHECK_IN(FUNCTION, condition, class, __VA_ARGS__)

/* Finds the communicator of a handle, or returns an error. */
#define FIND_COMMUNICATOR_IN(function, comm, handle)                                               \
    struct communicator *comm = find_communicator(handle);                                         \
    if (__builtin_expect(!comm, 0))                                                                \
    return mpi_error_communicator(handle, function)
#define FIND_COMMUNICATOR(comm, handle) FIND_COMMUNICATOR_IN(FUNCTION, comm, handle)

/* Finds the type of a handle, or returns an error. */
#define FIND_DATATYPE_IN(function, type, handle)                                                   \
    struct datatype *type = find_datatype(handle);                                                 \
    if (__builtin_expect(!type || !type->is_committed, 0))                                         \
    return mpi_error_datatype(comm, handle, function)
#define FIND_DATATYPE(type, handle) FIND_DATATYPE_IN(FUNCTION, type, handle)

/* For functions that no communicator is given to: MPI must be active. */
#define CHECK_ACTIVE_IN(function)                                                                  \
    do {                                                                                           \
        if (__builtin_expect(mpi_state != ACTIVE, 0))                                              \
            return mpi_error_communicator(MPI_COMM_WORLD, function);                               \
    } while (0)
#define CHECK_ACTIVE() CHECK_ACTIVE_IN(FUNCTION)

#define CHECK_COUNT_IN(function, count)                                                            \
    CHECK_IN(function, (count) >= 0, MPI_ERR_COUNT,                                                \
             "the count is %d, and counts are not negative", (count))
#define CHECK_COUNT(count) CHECK_COUNT_IN(FUNCTION, count)

#define CHECK_ROOT_IN(function, root)                                                              \
    CHECK_IN(function, (unsigned)(root) < (unsigned)comm->size, MPI_ERR_ROOT,                      \
             "the root is rank %d, and ranks are 0 to %d", (root), comm->size - 1)

/* NULL is no buffer of a basic type's data. */
#define CHECK_BUFFER_IN(function, buffer, count, type)                                             \
    CHECK_IN(function, (buffer) || (count) == 0 || !(type)->name, MPI_ERR_BUFFER,                  \
             "the buffer of %d elements is NULL", (int)(count))

#endif
