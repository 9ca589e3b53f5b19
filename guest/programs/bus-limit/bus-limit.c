/* The most that two processors on a bus can move from one cache to the other (cni-isca96 Section
 * 5.1.2). Process 0 writes blocks in the node's memory, process 1 copies them to a buffer of its
 * own.
 *
 *     bus-limit [COUNT [WARM-UP]]        by default 20 stretches, 2 to warm up
 *
 * See README.md for what is inside the measured time and what is not. */
#include <stdatomic.h>
#include <stdbool.h>

#include "../arguments.h"
#include "../pattern.h"
#include "messaging/copy.h"

enum {
    HALF_BYTES = 16 * 1024, /* what is handed over at a time */
    HALVES = 2,             /* one is written while the other is copied */
    SETTLING_ROUNDS = 2,    /* of a stretch, before the clock starts: after a check the */
    MEASURED_ROUNDS = 4,    /* writer is ahead by all halves, and has to be caught up with */
    STRETCH_ROUNDS = SETTLING_ROUNDS + MEASURED_ROUNDS,
    STRETCH_BYTES = STRETCH_ROUNDS * HALF_BYTES,
    COLOURS_BYTES = 256 * 1024 /* addresses that differ by this share a line of a cache */
};

/* What the two processes have in common; each counter is alone in its block. */
struct shared {
    _Alignas(256) char halves[HALVES][HALF_BYTES];
    _Alignas(256) _Atomic long written; /* rounds so far */
    _Alignas(256) _Atomic long copied;
};

static char own_memory[COLOURS_BYTES + STRETCH_BYTES];

/* A place in own memory that shares no line of a direct-mapped cache with what is shared. */
static char *find_copy(const struct shared *shared) {
    uintptr_t behind = (uintptr_t)(shared + 1), own = (uintptr_t)own_memory;
    return own_memory + (behind - own) % COLOURS_BYTES;
}

static void wait_for(_Atomic long *counter, long least) {
    while (atomic_load_explicit(counter, memory_order_acquire) < least)
        ;
}

/* A word of the data says in which round it was written, and where. */
static inline word data_word(long round, size_t index) {
    return (word)((unsigned long)round << 16 ^ index);
}

static void write_half(char *half, long round) {
    volatile word *words = (volatile word *)(void *)half;
    for (size_t index = 0; index < HALF_BYTES / sizeof(word); index++)
        words[index] = data_word(round, index);
}

static void write_all(struct shared *shared, long rounds) {
    for (long round = 0; round < rounds; round++) {
        wait_for(&shared->copied, round - HALVES + 1);
        write_half(shared->halves[round % HALVES], round);
        atomic_store_explicit(&shared->written, round + 1, memory_order_release);
    }
}

static void copy_half(struct shared *shared, char *to, long round) {
    wait_for(&shared->written, round + 1);
    copy(to, shared->halves[round % HALVES], HALF_BYTES);
    atomic_store_explicit(&shared->copied, round + 1, memory_order_release);
}

static void check(const char *copied, long first_round) {
    const word *words = (const word *)(const void *)copied;
    for (long round = 0; round < STRETCH_ROUNDS; round++)
        for (size_t index = 0; index < HALF_BYTES / sizeof(word); index++, words++)
            narthex_check(*words == data_word(first_round + round, index),
                          "node %d: word %zu of round %ld arrived as %#x", narthex_node(), index,
                          first_round + round, (unsigned)*words);
}

/* Copies and checks one stretch; the time of its measured rounds. */
static uint64_t copy_stretch_ns(struct shared *shared, char *copied, long first_round) {
    uint64_t start_ns = 0;
    for (long round = 0; round < STRETCH_ROUNDS; round++) {
        if (round == SETTLING_ROUNDS)
            start_ns = narthex_time_ns();
        copy_half(shared, copied + round * HALF_BYTES, first_round + round);
    }
    uint64_t time_ns = narthex_time_ns() - start_ns;
    check(copied, first_round);
    return time_ns;
}

static void copy_all(struct shared *shared, long stretches, long warm_up) {
    char *copied = find_copy(shared);
    uint64_t time_ns = 0;
    for (long stretch = 0; stretch < stretches; stretch++) {
        if (stretch == warm_up)
            narthex_region_begin("transfer");
        uint64_t stretch_ns = copy_stretch_ns(shared, copied, stretch * STRETCH_ROUNDS);
        time_ns += stretch < warm_up ? 0 : stretch_ns;
    }
    narthex_region_end("transfer");
    double bytes = (double)(stretches - warm_up) * MEASURED_ROUNDS * HALF_BYTES;
    narthex_report("bandwidth", bytes * 1e3 / (double)time_ns, "MB/s");
}

int main(int count, char **values) {
    long measured = argument(count, values, 1, "count", 1, 1000000, 20);
    long warm_up = argument(count, values, 2, "warm-up", 0, 1000000, 2);
    narthex_check(narthex_processes() >= 2,
                  "bus-limit needs two processors on a node: narthex run bus-limit --set "
                  "machine.processors_per_node=2");
    struct shared *shared = narthex_node_memory(NULL);
    if (narthex_node() == 0)
        write_all(shared, (warm_up + measured) * STRETCH_ROUNDS);
    else if (narthex_node() == 1)
        copy_all(shared, warm_up + measured, warm_up);
    return 0;
}
