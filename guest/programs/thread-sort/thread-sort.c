/* Threads sort numbers in shared memory: each sorts its part of them, then the parts are merged in
 * pairs, in rounds that a barrier ends. How much was merged is counted under a lock. The result is
 * checked, and is the same for any number of threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../arguments.h"
#include "../measure.h"
#include "../pattern.h"
#include "runtime/marker.h"

#define MOST_THREADS 64
#define MOST_NUMBERS (1 << 20)

static long count, threads;
static bool spins;
static uint64_t *numbers, *merged;
static uint64_t moved;

/* A lock that a thread takes by test-and-set, and a barrier whose sense changes with each use;
 * those who wait read their own copy. */
static atomic_int lock;
static atomic_long arrived;
static atomic_int sense;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static void acquire(void) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    if (!spins) {
        pthread_mutex_lock(&mutex);
    } else {
        while (atomic_exchange_explicit(&lock, 1, memory_order_acquire))
            while (atomic_load_explicit(&lock, memory_order_relaxed))
                ;
    }
    LEAVE();
}

static void release(void) {
    if (spins)
        atomic_store_explicit(&lock, 0, memory_order_release);
    else
        pthread_mutex_unlock(&mutex);
}

static void meet(int *own_sense) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    if (!spins) {
        pthread_barrier_wait(&barrier);
    } else {
        *own_sense = !*own_sense;
        if (atomic_fetch_add(&arrived, 1) == threads - 1) {
            atomic_store_explicit(&arrived, 0, memory_order_relaxed);
            atomic_store_explicit(&sense, *own_sense, memory_order_release);
        } else {
            while (atomic_load_explicit(&sense, memory_order_acquire) != *own_sense)
                ;
        }
    }
    LEAVE();
}

static int ascending(const void *left, const void *right) {
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

/* Where the part with this number begins. */
static long part(long number) {
    return number >= threads ? count : count * number / threads;
}

/* Merges the sorted numbers from `begin` to `middle` with those from there to `end`. */
static void merge(long begin, long middle, long end) {
    long left = begin, right = middle;
    for (long place = begin; place < end; place++) {
        bool is_left = right >= end || (left < middle && numbers[left] <= numbers[right]);
        merged[place] = numbers[is_left ? left++ : right++];
    }
    memcpy(numbers + begin, merged + begin, (size_t)(end - begin) * sizeof(*numbers));
}

static void *work(void *argument) {
    long own = (long)argument;
    int own_sense = 0;
    qsort(numbers + part(own), (size_t)(part(own + 1) - part(own)), sizeof(*numbers), ascending);
    meet(&own_sense);
    for (long width = 1; width < threads; width *= 2) {
        long begin = part(own), middle = part(own + width), end = part(own + 2 * width);
        if (own % (2 * width) == 0 && middle < end) {
            merge(begin, middle, end);
            acquire();
            moved += (uint64_t)(end - begin);
            release();
        }
        meet(&own_sense);
    }
    return NULL;
}

/* The sum of the numbers, each with the weight of its place: it tells their order too. */
static uint64_t weighted_sum(void) {
    uint64_t sum = 0;
    for (long place = 0; place < count; place++) {
        narthex_check(!place || numbers[place - 1] <= numbers[place],
                      "the number at place %ld is less than the one before it", place);
        sum += (uint64_t)(place + 1) * (numbers[place] & 0xffff);
    }
    return sum;
}

int main(int argc, char **argv) {
    count = argument(argc, argv, 1, "numbers", 1, MOST_NUMBERS, 4096);
    threads = argument(argc, argv, 2, "threads", 0, MOST_THREADS, 0);
    spins = argument(argc, argv, 3, "barrier", 0, 1, 0);
    if (!threads)
        threads = sysconf(_SC_NPROCESSORS_ONLN);
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    numbers = malloc((size_t)count * sizeof(*numbers));
    merged = malloc((size_t)count * sizeof(*merged));
    narthex_check(numbers && merged, "there is no memory for %ld numbers", count);
    uint64_t state = 1, total = 0;
    for (long place = 0; place < count; place++)
        total += numbers[place] = random_next(&state);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    pthread_t others[MOST_THREADS];
    measure_begin();
    for (long other = 1; other < threads; other++) {
        int error = pthread_create(&others[other], NULL, work, (void *)other);
        narthex_check(!error, "thread %ld of %ld: %s", other, threads, strerror(error));
    }
    work(NULL);
    for (long other = 1; other < threads; other++)
        pthread_join(others[other], NULL);
    measure_end();
    for (long place = 0; place < count; place++)
        total -= numbers[place];
    narthex_check(!total, "numbers were lost");
    narthex_check(threads == 1 || moved >= (uint64_t)count, "%ld numbers were merged", (long)moved);
    if (narthex_node() == 0) {
        narthex_report("numbers", (double)count, "numbers");
        narthex_report("weighted sum", (double)weighted_sum(), "");
    }
    narthex_barrier();
    return 0;
}
