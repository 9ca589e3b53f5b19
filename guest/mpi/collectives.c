#include "mpi/collectives.h"

#include "messaging/narthex.h"

enum { NUMBER_BITS = 12, ROOT_BITS = 7 };

/* From these on ranks share the work of moving data in parts. */
enum { LONG_BYTES = 12288, LONG_RANKS = 4 };

static const char *const functions[] = {
    "MPI_Barrier",        "MPI_Bcast",      "MPI_Gather",     "MPI_Gatherv",
    "MPI_Scatter",        "MPI_Scatterv",   "MPI_Allgather",  "MPI_Allgatherv",
    "MPI_Alltoall",       "MPI_Alltoallv",  "MPI_Reduce",     "MPI_Allreduce",
    "MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Exscan"};

static int low_bits(int value, int bits) {
    return value & ((1 << bits) - 1);
}

struct schedule *begin_collective(struct communicator *comm, enum collective collective, int root,
                                  const char *function) {
    int number = low_bits(comm->collective++, NUMBER_BITS);
    int tag = ((int)collective << ROOT_BITS | low_bits(root, ROOT_BITS)) << NUMBER_BITS | number;
    return new_schedule(comm, tag, function);
}

void check_same_collective(const struct request *request, int source, int tag) {
    if (request->tag == tag || low_bits(request->tag ^ tag, NUMBER_BITS) != 0)
        return;
    int kind = tag >> (NUMBER_BITS + ROOT_BITS);
    bool is_kind = kind == request->tag >> (NUMBER_BITS + ROOT_BITS);
    struct communicator *comm = request->comm;
    narthex_fail("rank %d is in %s on %s, and rank %d is in %s%s in its place: all ranks of a "
                 "communicator make the same collectives in the same order",
                 comm->rank, functions[request->tag >> (NUMBER_BITS + ROOT_BITS)], comm->name,
                 rank_of(comm, source), functions[kind], is_kind ? " with another root" : "");
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
