#include "mpi/collectives.h"

#include "messaging/narthex.h"

enum { NUMBER_BITS = 12, ROOT_BITS = 7 };

/* From these on ranks share the work of moving data in parts. */
enum { LONG_BYTES = 12288, LONG_RANKS = 4 };

static const char *const functions[] = {
    "MPI_Barrier",   "MPI_Bcast",          "MPI_Gather",
    "MPI_Gatherv",   "MPI_Scatter",        "MPI_Scatterv",
    "MPI_Allgather", "MPI_Allgatherv",     "MPI_Alltoall",
    "MPI_Alltoallv", "MPI_Alltoallw",      "MPI_Reduce",
    "MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Scan",      "MPI_Exscan"};

static int low_bits(int value, int bits) {
    return value & ((1 << bits) - 1);
}

struct schedule *begin_collective(struct communicator *comm, enum collective collective, int root,
                                  const char *function) {
    int number = low_bits(comm->collective++, NUMBER_BITS);
    int tag = ((int)collective << ROOT_BITS | low_bits(root, ROOT_BITS)) << NUMBER_BITS | number;
    return new_schedule(comm, tag, function);
}

static const char *function_of(int tag) {
    return functions[tag >> (NUMBER_BITS + ROOT_BITS)];
}

static const char in_order[] =
    "all ranks of a communicator make the same collectives in the same order";

/* Whether the number of a tag is before that of another. */
static bool is_before(int tag, int other) {
    int behind = low_bits(other - tag, NUMBER_BITS);
    return behind > 0 && behind < 1 << (NUMBER_BITS - 1);
}

void check_same_collective(const struct communicator *comm, int own_tag, int source, int tag) {
    const char *own = function_of(own_tag), *other = function_of(tag);
    int rank = rank_of(comm, source);
    bool is_same = low_bits(own_tag ^ tag, NUMBER_BITS) == 0;
    if (is_same && own_tag != tag)
        narthex_fail("rank %d is in %s on %s, and rank %d is in %s%s in its place: %s", comm->rank,
                     own, comm->name, rank, other, own == other ? " with another root" : "",
                     in_order);
    if (is_before(tag, own_tag) && !are_schedules_under_way())
        narthex_fail(
            "rank %d is in %s on %s, and a message of rank %d's %s before it was taken by no "
            "collective of this rank: %s",
            comm->rank, own, comm->name, rank, other, in_order);
}

bool is_long(size_t bytes, int ranks) {
    return bytes >= LONG_BYTES && ranks >= LONG_RANKS;
}

int hypercube(int ranks) {
    int cube = 1;
    while (cube * 2 <= ranks)
        cube *= 2;
    return cube;
}
