/* Shared memory of StarT-Voyager over the snooped space (Section 4.1).
 *
 *     voyager-shared-memory WHAT [SIZE [ROUNDS]]
 *
 * WHAT is latency (SIZE lines, 64 by default), grid (SIZE rows a rank, 4; ROUNDS steps, 8),
 * counters (SIZE counters, 8; ROUNDS additions to each, 20) or pipeline (SIZE values, 200). See
 * README.md. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "narthex.h"
#include "voyager/shared_memory.h"

enum { PAGE_BYTES = 4096, LINES_OF_PAGE = PAGE_BYTES / VOYAGER_SHARED_LINE_BYTES };

static const char *failure_of(int error) {
    switch (error) {
    case ENOENT:
        return "the machine has no interface of StarT-Voyager";
    case ENOSYS:
        return "the interface's firmware has no shared memory; set "
               "node.processors.service_processor.runs to firmware/voyager-shared, on an interface "
               "whose queues are not in the snooped space";
    case E2BIG:
        return "the job has more than 64 ranks";
    case ENOBUFS:
        return "the command queues are too short (interfaces.voyager.command_words)";
    case ENOMEM:
        return "the snooped space has fewer bytes (interfaces.voyager.snooped)";
    default:
        return strerror(error);
    }
}

static void *open_region(size_t bytes) {
    void *region = NULL;
    int error = voyager_open_shared_memory(&region, bytes);
    narthex_check(error == 0, "node %d: no region of %zu bytes of shared memory: %s",
                  narthex_node(), bytes, failure_of(error));
    return region;
}

/* All ranks have come here, and see what others have stored. */
static void meet(void) {
    atomic_thread_fence(memory_order_seq_cst);
    narthex_barrier();
}

/* latency: what an access takes whose line is elsewhere */

struct line {
    volatile uint64_t value;
    uint64_t rest[3];
};

/* Each step finds the lines as the one before has left them, the first one as the last. */
static const struct step {
    const char *what; /* NULL: it is not reported */
    int rank;
    bool is_write;
    bool empties; /* the rank's cache once it is over */
} STEPS[] = {
    {"home writes, read by another", 0, true, true},
    {"read, in the home's memory", 1, false, true},
    {"read, in own memory", 1, false, false},
    {"write, read before, at home besides", 1, true, false},
    {"read, written by a third", 2, false, false},
    {"write, read before, at a third besides", 2, true, false},
    {"write, written by a third", 1, true, false},
    {"home reads, written by another", 0, false, false},
    {NULL, 0, true, false},
    {"read, in the home's cache", 1, false, false},
};
enum { STEP_COUNT = sizeof STEPS / sizeof STEPS[0], MEASURING = 3 };

/* The first time all of it warms the firmware up. */
enum { TIMES = 2 };

/* The value that a step finds is the number of the last step that wrote. */
static uint64_t written_before(size_t number) {
    while (number-- > 0)
        if (STEPS[number % STEP_COUNT].is_write)
            return number + 1;
    return 0;
}

/* Reads more than the cache holds: to flush a line is an access as a store to it. */
static void empty_cache(void) {
    enum { BYTES = 1 << 18 };
    static volatile char other[BYTES];
    for (size_t each = 0; each < BYTES; each += VOYAGER_SHARED_LINE_BYTES)
        (void)other[each];
}

static void take_step(struct line *lines, long count, size_t number) {
    const struct step *step = &STEPS[number % STEP_COUNT];
    uint64_t expected = written_before(number), wrong = 0;
    uint64_t start = narthex_time_ns();
    for (long each = 0; each < count; each++)
        if (step->is_write) {
            lines[each].value = number + 1;
            atomic_thread_fence(memory_order_seq_cst);
        } else {
            wrong |= lines[each].value ^ expected;
        }
    uint64_t end = narthex_time_ns();
    narthex_check(wrong == 0, "node %d: a line has not the value of step %llu", narthex_node(),
                  (unsigned long long)expected);
    if (step->what && number / STEP_COUNT == TIMES - 1)
        narthex_report(step->what, (double)(end - start) / (double)count, "ns");
    if (step->empties)
        empty_cache();
}

static void measure_latency(long count) {
    narthex_check(narthex_nodes() >= MEASURING, "latency is between three ranks, here are %d",
                  narthex_nodes());
    char *page = open_region((size_t)narthex_nodes() * PAGE_BYTES);
    while (voyager_home_of(page) != 0)
        page += PAGE_BYTES;
    for (size_t number = 0; number < TIMES * STEP_COUNT; number++) {
        meet();
        if (narthex_node() == STEPS[number % STEP_COUNT].rank)
            take_step((struct line *)page, count, number);
    }
    meet();
}

/* grid: relaxation, rows of which neighbours read those at the edges */

enum { COLUMNS = 24 };

static double at_first(size_t row, size_t column) {
    return (double)((row * 31 + column * 17) % 64);
}

static void relax_row(const double *from, double *to) {
    to[0] = from[0];
    for (size_t column = 1; column < COLUMNS - 1; column++)
        to[column] = (from[column - COLUMNS] + from[column - 1] + from[column + 1] +
                      from[column + COLUMNS]) /
                     4;
    to[COLUMNS - 1] = from[COLUMNS - 1];
}

static void fill(double *grid, size_t first, size_t end) {
    for (size_t row = first; row < end; row++)
        for (size_t column = 0; column < COLUMNS; column++)
            grid[row * COLUMNS + column] = at_first(row, column);
}

/* All rows but those at the edges are relaxed, in the same order as by a single rank. */
static void relax(const double *from, double *to, size_t first, size_t end, size_t rows) {
    for (size_t row = first; row < end; row++)
        if (row > 0 && row < rows - 1)
            relax_row(from + row * COLUMNS, to + row * COLUMNS);
        else
            memcpy(to + row * COLUMNS, from + row * COLUMNS, COLUMNS * sizeof *to);
}

static void relax_grid(long rows_of_rank, long steps) {
    size_t own = (size_t)rows_of_rank, rows = own * (size_t)narthex_nodes();
    size_t first = own * (size_t)narthex_node(), cells = rows * COLUMNS;
    double *shared = open_region(2 * cells * sizeof *shared);
    double *alone = malloc(2 * cells * sizeof *alone);
    narthex_check(alone != NULL, "no memory for %zu rows", rows);
    fill(shared, first, first + own);
    fill(alone, 0, rows);
    meet();
    uint64_t start = narthex_time_ns();
    for (long step = 0; step < steps; step++) {
        size_t from = (size_t)(step % 2) * cells, to = cells - from;
        relax(shared + from, shared + to, first, first + own, rows);
        meet();
    }
    if (narthex_node() == 0)
        narthex_report("time a step", (double)(narthex_time_ns() - start) / (double)steps, "ns");
    for (long step = 0; step < steps; step++) {
        size_t from = (size_t)(step % 2) * cells, to = cells - from;
        relax(alone + from, alone + to, 0, rows, rows);
    }
    size_t last = (size_t)(steps % 2) * cells;
    narthex_check(memcmp(shared + last, alone + last, cells * sizeof *alone) == 0,
                  "node %d: the shared grid is not what a single rank computes", narthex_node());
    meet();
    free(alone);
}

/* counters: all ranks add to all counters, and store to words of their own beside each other */

static void add_to_counters(long size, long rounds) {
    size_t count = (size_t)size, ranks = (size_t)narthex_nodes(), own = (size_t)narthex_node();
    _Atomic uint64_t *counters = open_region((count + ranks) * sizeof *counters);
    volatile uint64_t *words = (volatile uint64_t *)(counters + count);
    meet();
    for (long round = 0; round < rounds; round++)
        for (size_t each = 0; each < count; each++) {
            atomic_fetch_add(&counters[(each + own) % count], each + own + 1);
            words[own] += 1;
        }
    meet();
    uint64_t sum = 0, expected = 0;
    for (size_t each = 0; each < count; each++)
        sum += counters[each];
    for (size_t rank = 0; rank < ranks; rank++) {
        narthex_check(words[rank] == (uint64_t)rounds * count,
                      "node %d: the word of rank %zu is %llu, not %llu", narthex_node(), rank,
                      (unsigned long long)words[rank], (unsigned long long)rounds * count);
        expected += (uint64_t)rounds * count * (2 * rank + count + 1) / 2;
    }
    narthex_check(sum == expected, "node %d: the counters' sum is %llu, not %llu", narthex_node(),
                  (unsigned long long)sum, (unsigned long long)expected);
    if (narthex_node() == 0)
        narthex_report("sum of the counters", (double)sum, "");
    meet();
}

/* pipeline: each rank passes values to the next one by a ring, with a head and a tail in lines of
 * their own */

enum { RING = 16 };

struct ring {
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) _Atomic uint64_t head;
    _Alignas(64) uint64_t values[RING];
};

static void put(struct ring *ring, uint64_t value) {
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    while (tail - atomic_load_explicit(&ring->head, memory_order_acquire) == RING)
        ;
    ring->values[tail % RING] = value;
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
}

static uint64_t take(struct ring *ring) {
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    while (atomic_load_explicit(&ring->tail, memory_order_acquire) == head)
        ;
    uint64_t value = ring->values[head % RING];
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return value;
}

static void pass_values(long count) {
    int ranks = narthex_nodes(), own = narthex_node();
    narthex_check(ranks > 1, "a pipeline has two ranks at least");
    struct ring *rings = open_region((size_t)ranks * sizeof *rings);
    struct ring *in = &rings[own], *out = &rings[(own + 1) % ranks];
    meet();
    uint64_t start = narthex_time_ns();
    for (long each = 0; each < count; each++) {
        uint64_t value = (uint64_t)each * 0x9e3779b97f4a7c15;
        if (own == 0)
            put(out, value);
        else
            narthex_check(take(in) == value + (uint64_t)own - 1,
                          "node %d: value %ld is another one", own, each);
        if (own > 0 && own + 1 < ranks)
            put(out, value + (uint64_t)own);
    }
    meet();
    if (own == 0)
        narthex_report("time a value", (double)(narthex_time_ns() - start) / (double)count, "ns");
}

int main(int count, char **values) {
    const char *what = count > 1 ? values[1] : "";
    if (strcmp(what, "latency") == 0)
        measure_latency(argument(count, values, 2, "lines", 1, LINES_OF_PAGE, 64));
    else if (strcmp(what, "grid") == 0)
        relax_grid(argument(count, values, 2, "rows a rank", 1, 1000000, 4),
                   argument(count, values, 3, "steps", 1, 1000000, 8));
    else if (strcmp(what, "counters") == 0)
        add_to_counters(argument(count, values, 2, "counters", 1, 1000000, 8),
                        argument(count, values, 3, "rounds", 1, 1000000, 20));
    else if (strcmp(what, "pipeline") == 0)
        pass_values(argument(count, values, 2, "values", 1, 1000000, 200));
    else
        narthex_fail("voyager-shared-memory: latency, grid, counters or pipeline, not \"%s\"",
                     what);
    return 0;
}
