/* What the programs over OpenSHMEM have in common: how they take their time, and checksums that do
 * not depend on the number of PEs. */
#ifndef NARTHEX_PROGRAMS_SHMEM_WORK_H
#define NARTHEX_PROGRAMS_SHMEM_WORK_H

#include <shmem.h>

#include "arguments.h"
#include "measure.h"
#include "pattern.h"

/* The time of the main part, as measure.h takes it: all that it has put is there at its end. */
static inline void shmem_measure_begin(void) {
    shmem_quiet();
    measure_begin();
}

static inline void shmem_measure_end(void) {
    shmem_quiet();
    measure_end();
}

/* The sum over all PEs. Every PE calls it. */
static inline uint64_t sum_of_all(uint64_t value) {
    static uint64_t sum;
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &sum, &value, 1);
    return sum;
}

/* As many bits as a report has. */
static inline double as_report(uint64_t checksum) {
    return (double)(checksum >> 12);
}

#endif
