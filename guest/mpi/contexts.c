/* Contexts: which numbers are free.
 *
 * Each rank has a set of those that none of its own communicators has. The members of the old
 * communicator intersect theirs and take the lowest that is left. Several new communicators of one
 * split may have the same number, because no rank is in two of them. */
#include <string.h>

#include "mpi/communicators.h"

enum { CONTEXTS = 2048, WORDS = CONTEXTS / 64 };

static uint64_t taken[WORDS];

/* The lowest that is in none of the sets. */
static int lowest_free(const uint64_t *sets) {
    for (int index = 0; index < WORDS; index++)
        if (~sets[index])
            return index * 64 + __builtin_ctzll(~sets[index]);
    return -1;
}

int agree_on_context(struct communicator *comm, bool takes_it) {
    uint64_t sets[WORDS];
    memcpy(sets, taken, sizeof sets);
    if (comm) {
        int error = PMPI_Allreduce(MPI_IN_PLACE, sets, WORDS, MPI_UINT64_T, MPI_BOR,
                                   communicator_handle(comm));
        if (error)
            return -1;
    }
    int number = lowest_free(sets);
    if (number < 0)
        return -1;
    if (takes_it)
        taken[number / 64] |= UINT64_C(1) << number % 64;
    return 2 * number;
}

void free_context(int context) {
    int number = context / 2;
    taken[number / 64] &= ~(UINT64_C(1) << number % 64);
}
