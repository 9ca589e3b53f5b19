/* A word passes between two threads by compare-and-swap, as core-to-core-latency measures it
 * (N. Viennot, github.com/nviennot/core-to-core-latency).
 *
 *     core-to-core [FIRST [SECOND [ROUNDS [METHOD]]]]      by default 0, 1, 1000, exclusive
 *
 * FIRST and SECOND are processors of the node. METHOD is exclusive (each look at the word takes its
 * block away from the other, as x86's compare-and-swap does) or reserved (LR and SC: a look shares
 * the block). See README.md. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "../arguments.h"
#include "runtime/marker.h"

enum { MOST_THREADS = 128, WARM_UP = 64 };

static _Alignas(128) atomic_long word;
static _Alignas(128) long first, second, rounds;
static bool is_exclusive;
static double elapsed_ns;
static pthread_barrier_t ready, done;

/* Waits for this value, and replaces it. */
static void pass(long awaited) {
    if (is_exclusive) {
        while (atomic_fetch_or_explicit(&word, 0, memory_order_acquire) != awaited)
            ;
        atomic_store_explicit(&word, awaited + 1, memory_order_release);
        return;
    }
    long expected = awaited;
    while (!atomic_compare_exchange_weak(&word, &expected, awaited + 1))
        expected = awaited;
}

/* The first one passes on even values, the second odd ones. */
static void play(bool is_first) {
    uint64_t start_ns = 0;
    for (long round = 0; round < WARM_UP + rounds; round++) {
        if (is_first && round == WARM_UP)
            start_ns = narthex_time_ns();
        pass(2 * round + !is_first);
    }
    if (is_first) {
        while (atomic_load(&word) != 2 * (WARM_UP + rounds))
            ;
        elapsed_ns = (double)(narthex_time_ns() - start_ns);
    }
}

static void *work(void *argument) {
    long own = (long)argument;
    pthread_barrier_wait(&ready);
    if (own == first || own == second)
        play(own == first);
    pthread_barrier_wait(&done);
    return NULL;
}

int main(int argc, char **argv) {
    first = argument(argc, argv, 1, "first", 0, MOST_THREADS - 1, 0);
    second = argument(argc, argv, 2, "second", 0, MOST_THREADS - 1, 1);
    rounds = argument(argc, argv, 3, "rounds", 1, 1 << 20, 1000);
    const char *method = argc > 4 ? argv[4] : "exclusive";
    is_exclusive = !strcmp(method, "exclusive");
    narthex_check(is_exclusive || !strcmp(method, "reserved"),
                  "\"%s\" is no method; there are exclusive and reserved", method);
    narthex_check(first != second, "processor %ld has nobody to pass the word to", first);
    long threads = (first > second ? first : second) + 1;
    pthread_barrier_init(&ready, NULL, (unsigned)threads);
    pthread_barrier_init(&done, NULL, (unsigned)threads);
    pthread_t others[MOST_THREADS];
    for (long other = 1; other < threads; other++) {
        int error = pthread_create(&others[other], NULL, work, (void *)other);
        narthex_check(!error, "thread %ld of %ld: %s", other, threads, strerror(error));
    }
    work(NULL);
    for (long other = 1; other < threads; other++)
        pthread_join(others[other], NULL);
    narthex_check(atomic_load(&word) == 2 * (WARM_UP + rounds), "the word was passed %ld times",
                  (long)atomic_load(&word));
    narthex_report("one way", elapsed_ns / (double)(2 * rounds), "ns");
    narthex_report("passed", (double)atomic_load(&word), "times");
    return 0;
}
