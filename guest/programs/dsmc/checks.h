/* What dsmc checks, and reports. */
#ifndef DSMC_CHECKS_H
#define DSMC_CHECKS_H

#include <stdint.h>

/* Conserved quantities, summed over all nodes. */
struct invariants {
    double count, names, momentum, energy; /* momentum: along x, where there is no wall */
};

/* Adds this node's molecules to the other nodes': every node calls it. */
struct invariants checks_invariants(void);

/* Checks what `start` was, and the gas as it is now, after `iterations`. `collisions` and `knudsen`
 * are this node's sums. */
void checks_report(struct invariants start, int iterations, uint64_t collisions, double knudsen);

#endif
