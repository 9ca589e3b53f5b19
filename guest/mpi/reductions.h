/* Collectives that reduce: their arguments, checked, and how partial results are kept. */
#ifndef NARTHEX_MPI_REDUCTIONS_H
#define NARTHEX_MPI_REDUCTIONS_H

#include "mpi/collectives.h"

/* The arguments of a call, and what it has found of them. */
struct reduction {
    const void *send;
    void *receive;
    int count;
    MPI_Datatype datatype;
    MPI_Op op;
    int root;
    MPI_Comm handle;
    MPI_Request *request; /* NULL where it blocks */
    const char *function;
    struct communicator *comm;
    struct datatype *type;
    struct operation *operation;
};

/* A call's arguments, by their names in the standard. */
#define REDUCTION(how_many, of_root, of_request)                                                   \
    &(struct reduction){.send = send,                                                              \
                        .receive = receive,                                                        \
                        .count = (how_many),                                                       \
                        .datatype = datatype,                                                      \
                        .op = op,                                                                  \
                        .root = (of_root),                                                         \
                        .handle = comm,                                                            \
                        .request = (of_request),                                                   \
                        .function = FUNCTION}

int find_reduction(struct reduction *reduction);

/* A partial result: of a range of ranks, in memory that may change places with another. */
struct partial {
    struct schedule *schedule;
    const struct reduction *reduction;
    char *values, *other;
    size_t count;
};

/* A partial result of this rank's own values; with no more than these elements. */
struct partial new_partial(struct schedule *schedule, const struct reduction *reduction,
                           const void *own, size_t count);

/* Steps: the values of ranks before these, or behind them, are received and combined. */
void add_before(struct partial *partial, int rank);
void add_behind(struct partial *partial, int rank);

/* The elements of the result. */
struct elements partial_elements(const struct partial *partial);

/* Where the values of the call are that this rank gives. */
static inline const void *own_values(const struct reduction *reduction) {
    return reduction->send == MPI_IN_PLACE ? reduction->receive : reduction->send;
}

/* The ranks as a hypercube: of the first ones beyond it, each even one gives its values to the odd
 * one behind it. */
struct cube {
    int size, folded; /* ranks in it; ranks of which one half is not */
    int place;        /* this rank's; -1 if it is not in it */
};

static inline struct cube cube_of(const struct communicator *comm) {
    struct cube cube = {.size = hypercube(comm->size)};
    int rank = comm->rank;
    cube.folded = 2 * (comm->size - cube.size);
    cube.place = rank >= cube.folded ? rank - cube.folded / 2 : rank % 2 == 1 ? rank / 2 : -1;
    return cube;
}

static inline int rank_at(const struct cube *cube, int place) {
    return place < cube->folded / 2 ? 2 * place + 1 : place + cube->folded / 2;
}

/* Adds the steps after which every rank has the result at `receive`. */
void add_all_reduce(struct schedule *schedule, const struct reduction *reduction, const void *own,
                    void *receive, size_t count);

#endif
