/* The bandwidth of memory by the four kernels of STREAM (J. D. McCalpin, "Memory Bandwidth and
 * Machine Balance in Current High Performance Computers", IEEE TCCA Newsletter 1995).
 *
 *     stream [ELEMENTS [THREADS [PASSES]]]     by default 65536 of each array, 1 thread, 3 passes
 *
 *     copy c = a      scale b = 3 c      add c = a + b      triad a = b + 3 c
 *
 * The best pass but for the first one counts. See README.md. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"

enum { MOST_THREADS = 64, COPY = 0, SCALE, ADD, TRIAD, KERNELS };

static const struct kernel {
    const char *name;
    double arrays; /* that it reads and writes */
} KERNEL[KERNELS] = {{"copy", 2}, {"scale", 2}, {"add", 3}, {"triad", 3}};

static const double FACTOR = 3;
static long elements, threads, passes;
static double *a, *b, *c;
static double best_ns[KERNELS];
static pthread_barrier_t barrier;

static void run(int kernel, long begin, long end) {
    switch (kernel) {
    case COPY:
        for (long element = begin; element < end; element++)
            c[element] = a[element];
        break;
    case SCALE:
        for (long element = begin; element < end; element++)
            b[element] = FACTOR * c[element];
        break;
    case ADD:
        for (long element = begin; element < end; element++)
            c[element] = a[element] + b[element];
        break;
    default:
        for (long element = begin; element < end; element++)
            a[element] = b[element] + FACTOR * c[element];
    }
}

static void *work(void *argument) {
    long own = (long)argument;
    long begin = elements * own / threads, end = elements * (own + 1) / threads;
    for (long element = begin; element < end; element++)
        a[element] = 1, b[element] = 2, c[element] = 0;
    for (long pass = 0; pass < passes; pass++)
        for (int kernel = 0; kernel < KERNELS; kernel++) {
            pthread_barrier_wait(&barrier);
            uint64_t start_ns = narthex_time_ns();
            run(kernel, begin, end);
            pthread_barrier_wait(&barrier);
            double elapsed_ns = (double)(narthex_time_ns() - start_ns);
            if (own == 0 && pass > 0 && (pass == 1 || elapsed_ns < best_ns[kernel]))
                best_ns[kernel] = elapsed_ns;
        }
    return NULL;
}

/* What each element of the three arrays has after all passes. All values are whole, so that no
 * rounding excuses a difference. */
static void check(void) {
    double in_a = 1, in_b = 2, in_c = 0;
    for (long pass = 0; pass < passes; pass++) {
        in_c = in_a;
        in_b = FACTOR * in_c;
        in_c = in_a + in_b;
        in_a = in_b + FACTOR * in_c;
    }
    for (long element = 0; element < elements; element++)
        narthex_check(a[element] == in_a && b[element] == in_b && c[element] == in_c,
                      "element %ld is %g, %g, %g", element, a[element], b[element], c[element]);
    narthex_report("a", in_a, "");
}

static double *array(void) {
    double *all = aligned_alloc(64, ((size_t)elements * sizeof *all + 63) / 64 * 64);
    narthex_check(all, "there is no memory for %ld elements", elements);
    return all;
}

int main(int argc, char **argv) {
    elements = argument(argc, argv, 1, "elements", 8, 1 << 26, 65536);
    threads = argument(argc, argv, 2, "threads", 1, MOST_THREADS, 1);
    passes = argument(argc, argv, 3, "passes", 2, 12, 3);
    a = array(), b = array(), c = array();
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    pthread_t others[MOST_THREADS];
    for (long other = 1; other < threads; other++) {
        int error = pthread_create(&others[other], NULL, work, (void *)other);
        narthex_check(!error, "thread %ld of %ld: %s", other, threads, strerror(error));
    }
    work(NULL);
    for (long other = 1; other < threads; other++)
        pthread_join(others[other], NULL);
    check();
    double bytes = (double)elements * sizeof *a;
    for (int kernel = 0; kernel < KERNELS; kernel++)
        narthex_report(KERNEL[kernel].name, KERNEL[kernel].arrays * bytes / best_ns[kernel],
                       "GB/s");
    return 0;
}
