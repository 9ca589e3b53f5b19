/* What the parallel programs measure, in one way for all of them: the time from a barrier before
 * the main part to the barrier after it, on node 0. Preparing the input and checking the result
 * stand outside. */
#ifndef NARTHEX_PROGRAMS_MEASURE_H
#define NARTHEX_PROGRAMS_MEASURE_H

#include "narthex.h"

/* The region whose ledger and statistics the experiments look at. */
#define MEASURED_REGION "main"

static uint64_t measured_since_ns;

static inline void measure_begin(void) {
    narthex_barrier();
    narthex_region_begin(MEASURED_REGION);
    measured_since_ns = narthex_time_ns();
}

static inline void measure_end(void) {
    narthex_barrier();
    uint64_t elapsed_ns = narthex_time_ns() - measured_since_ns;
    narthex_region_end(MEASURED_REGION);
    if (narthex_node() == 0)
        narthex_report("execution time", (double)elapsed_ns, "ns");
}

#endif
