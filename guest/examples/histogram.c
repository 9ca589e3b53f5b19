/* Shared memory: all nodes count into one histogram, each bin under a lock. */
#include <stdio.h>

#include "narthex.h"
#include "shared_memory/shared_memory.h"

enum { BINS = 8, NUMBERS = 40, BLOCK_BYTES = 64 };

int main(void) {
    narthex_shared_start(1 << 16, BLOCK_BYTES);
    long *bins = narthex_shared_allocate(BINS * sizeof *bins, 0, BLOCK_BYTES);
    narthex_barrier();
    for (int number = 0; number < NUMBERS; number++) {
        int bin = (number + narthex_node()) % BINS;
        narthex_lock(bin);
        bins[bin] += 1;
        narthex_unlock(bin);
    }
    narthex_barrier();
    if (narthex_node() == 0) {
        long sum = 0;
        for (int bin = 0; bin < BINS; bin++)
            sum += bins[bin];
        printf("%ld numbers counted\n", sum);
        narthex_check(sum == (long)NUMBERS * narthex_nodes(), "a count was lost");
    }
    narthex_barrier();
    return 0;
}
