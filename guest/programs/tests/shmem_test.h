/* What the tests of OpenSHMEM share: each is divided into parts, which check themselves. */
#ifndef NARTHEX_TESTS_SHMEM_TEST_H
#define NARTHEX_TESTS_SHMEM_TEST_H

#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narthex.h"

enum { COUNT = 24, MOST_PES = 64 };

static int me, pes, next, previous;

#define CHECK(...) narthex_check((__VA_ARGS__), "PE %d finds wrong: %s", me, #__VA_ARGS__)

/* Of an element that PE `pe` has or puts. */
static inline int number(int pe, int index) {
    return (pe * 31 + index * 7) % 100 + 1;
}

struct part {
    const char *name;
    void (*run)(void);
    bool is_alone; /* not among "all" */
};

static inline void begin(void) {
    shmem_init();
    me = shmem_my_pe(), pes = shmem_n_pes();
    next = (me + 1) % pes, previous = (me + pes - 1) % pes;
}

/* Runs the parts that are wanted: one by its name, or "all". */
static inline void run_parts(const struct part *parts, size_t count, const char *wanted) {
    for (size_t each = 0; each < count; each++)
        if (strcmp(wanted, parts[each].name) == 0 ||
            (!parts[each].is_alone && strcmp(wanted, "all") == 0))
            parts[each].run();
}

static inline void end(const char *wanted) {
    if (me == 0)
        printf("OpenSHMEM: %s over %d PEs\n", wanted, pes);
    shmem_finalize();
}

#endif
