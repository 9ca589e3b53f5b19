/* What all collectives begin with: their place in the order of their communicator's.
 *
 * All ranks make the same collectives of a communicator in the same order. Each gets a tag: which
 * function it is, its root, and how many were before it, modulo a number that no rank gets ahead
 * of another. So a message tells a rank that another one is in a different collective. */
#ifndef NARTHEX_MPI_COLLECTIVES_H
#define NARTHEX_MPI_COLLECTIVES_H

#include "mpi/errors.h"
#include "mpi/schedules.h"

enum collective {
    BARRIER,
    BROADCAST,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCTION,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN
};

/* The contexts of collectives are the odd ones. */
static inline bool is_collective(uint16_t context) {
    return context & 1;
}

/* Begins a collective: a list without steps. `root` is 0 where there is none. */
struct schedule *begin_collective(struct communicator *comm, enum collective collective, int root,
                                  const char *function);

/* Ends the run if a message that has come is of the collective with this tag by its number, and of
 * another by its kind or its root; or of one that is over. */
void check_same_collective(const struct communicator *comm, int own_tag, int source, int tag);

/* Whether the data of so many bytes are worth an algorithm for long messages, on so many ranks. */
bool is_long(size_t bytes, int ranks);

/* The ranks of the largest hypercube in so many. */
int hypercube(int ranks);

/* Adds the steps of a broadcast of elements that the root has. */
void add_broadcast(struct schedule *schedule, struct communicator *comm, struct elements data,
                   int root);

#endif
