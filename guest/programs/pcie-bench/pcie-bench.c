/* pcie-bench's tests (Neugebauer et al., "Understanding PCIe performance for end host networking",
 * SIGCOMM 2018, Section 4): a card behind a PCIe link reads and writes a window of this program's
 * memory, and takes the time.
 *
 *     pcie-bench [TEST [SIZE [WINDOW [CACHE [PATTERN [COUNT [OFFSET]]]]]]]
 *                by default LAT_DMA_RD, 64 bytes, 8192 bytes, HWarm, random, 1000, 0
 *
 * TEST is LAT_CMD_RD, LAT_CMD_WRRD, LAT_DMA_RD, LAT_DMA_WRRD, BW_DMA_RD, BW_DMA_WR or BW_DMA_RW.
 * CACHE is Cold (nobody has touched the window), HWarm (this processor has written it), DWarm (the
 * card has written it) or DThrash (the card has written as much elsewhere since). See README.md. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "runtime/information.h"

enum { CACHE_LINE = 64, PAGE = 4096, POLL_CYCLES = 20000, THRASH_BYTES = 16 << 20 };
enum { LARGEST_SIZE = 2048, LARGEST_WINDOW = 64 << 20, MOST_SAMPLES = 1 << 16 };

struct test {
    const char *name;
    uint64_t number;
    bool is_latency;
    int accesses_of_a_round; /* a read and a write in turn are one round of BW_DMA_RW */
};

static const struct test TESTS[] = {
    {"LAT_DMA_RD", BENCH_LAT_RD + BENCH_DMA, true, 1},
    {"LAT_DMA_WRRD", BENCH_LAT_WRRD + BENCH_DMA, true, 1},
    {"LAT_CMD_RD", BENCH_LAT_RD, true, 1},
    {"LAT_CMD_WRRD", BENCH_LAT_WRRD, true, 1},
    {"BW_DMA_RD", BENCH_BW_RD + BENCH_DMA, false, 1},
    {"BW_DMA_WR", BENCH_BW_WR + BENCH_DMA, false, 1},
    {"BW_DMA_RW", BENCH_BW_RW + BENCH_DMA, false, 2},
};
enum { TEST_COUNT = sizeof TESTS / sizeof TESTS[0] };

enum cache { HWARM, COLD, DWARM, DTHRASH, CACHES };
static const char *const CACHE_NAMES[CACHES] = {"HWarm", "Cold", "DWarm", "DThrash"};
enum pattern { RANDOM, SEQUENTIAL, PATTERNS };
static const char *const PATTERN_NAMES[PATTERNS] = {"Rand", "Seq"};

/* What the card gets for a test. */
struct setup {
    const char *window;
    uint64_t units, unit, offset, size, seed, count;
};

static volatile uint64_t *at(uint64_t offset) {
    return (volatile uint64_t *)(narthex_information()->register_page + offset);
}

/* Runs a test to its end. */
static void run(uint64_t number, const struct setup *setup) {
    *at(REGISTER_BENCH_WINDOW) = (uintptr_t)setup->window;
    *at(REGISTER_BENCH_UNITS) = setup->units;
    *at(REGISTER_BENCH_UNIT) = setup->unit;
    *at(REGISTER_BENCH_OFFSET) = setup->offset;
    *at(REGISTER_BENCH_SIZE) = setup->size;
    *at(REGISTER_BENCH_PATTERN) = setup->seed;
    *at(REGISTER_BENCH_COUNT) = setup->count;
    *at(REGISTER_BENCH_START) = number;
    do
        narthex_pause(POLL_CYCLES);
    while (*at(REGISTER_BENCH_LEFT) > 0);
}

/* Lets the card write all of some memory. */
static void write_by_card(const char *memory, size_t bytes) {
    uint64_t unit = bytes < LARGEST_SIZE ? bytes : LARGEST_SIZE;
    struct setup setup = {memory, bytes / unit, unit, 0, unit, 0, bytes / unit};
    run(BENCH_BW_WR + BENCH_DMA, &setup);
}

static void prepare(enum cache cache, char *window, size_t bytes) {
    if (cache == HWARM)
        for (size_t place = 0; place < bytes; place += CACHE_LINE)
            *(volatile uint64_t *)(window + place) = place;
    if (cache == DWARM)
        write_by_card(window, bytes);
    if (cache == DTHRASH) {
        const char *elsewhere = aligned_alloc(PAGE, THRASH_BYTES);
        narthex_check(elsewhere, "there are no %d bytes to thrash the caches with", THRASH_BYTES);
        write_by_card(elsewhere, THRASH_BYTES);
    }
}

static int compare(const void *one, const void *other) {
    uint64_t left = *(const uint64_t *)one, right = *(const uint64_t *)other;
    return (left > right) - (left < right);
}

static void report_latency(uint64_t count) {
    uint64_t *samples = malloc(count * sizeof *samples);
    narthex_check(samples, "there is no memory for %llu samples", (unsigned long long)count);
    uint64_t sum = 0;
    for (uint64_t each = 0; each < count; each++)
        sum += samples[each] = *at(REGISTER_BENCH_SAMPLE);
    qsort(samples, count, sizeof *samples, compare);
    double step_ns = (double)*at(REGISTER_BENCH_TIMER) / 1000;
    narthex_report("latency", (double)samples[count / 2] * step_ns, "ns");
    narthex_report("latency, mean", (double)sum / (double)count * step_ns, "ns");
    narthex_report("latency, 95th percentile", (double)samples[count * 95 / 100] * step_ns, "ns");
}

static void report_bandwidth(const struct test *test, const struct setup *setup) {
    double rounds = (double)setup->count / test->accesses_of_a_round;
    double elapsed_ns = (double)*at(REGISTER_BENCH_ELAPSED) / 1000;
    narthex_report("bandwidth", rounds * (double)setup->size * 8 / elapsed_ns, "Gb/s");
    narthex_report("rate", rounds * 1000 / elapsed_ns, "M/s");
}

/* Which of the names argument `index` is; the first if it is not given. */
static int choice(int count, char **values, int index, const char *what, const char *const *names,
                  int names_count) {
    char allowed[256] = "";
    for (int each = 0; each < names_count; each++) {
        if (index >= count || strcmp(values[index], names[each]) == 0)
            return each;
        strcat(strcat(allowed, each > 0 ? ", " : ""), names[each]);
    }
    narthex_fail("%s: argument %d (%s) is \"%s\"; allowed are %s", values[0], index, what,
                 values[index], allowed);
}

int main(int count, char **values) {
    const char *names[TEST_COUNT];
    for (int each = 0; each < TEST_COUNT; each++)
        names[each] = TESTS[each].name;
    const struct test *test = &TESTS[choice(count, values, 1, "test", names, TEST_COUNT)];
    long size = argument(count, values, 2, "size", 1, LARGEST_SIZE, 64);
    long window = argument(count, values, 3, "window", CACHE_LINE, LARGEST_WINDOW, 2 * PAGE);
    enum cache cache = (enum cache)choice(count, values, 4, "cache", CACHE_NAMES, CACHES);
    int pattern = choice(count, values, 5, "pattern", PATTERN_NAMES, PATTERNS);
    long accesses = argument(count, values, 6, "count", 1, MOST_SAMPLES, 1000);
    long offset = argument(count, values, 7, "offset", 0, CACHE_LINE - 1, 0);
    uint64_t unit = (uint64_t)((offset + size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    narthex_check((uint64_t)window >= unit, "a window of %ld bytes holds no access of %ld at %ld",
                  window, size, offset);
    narthex_check(narthex_is_simulated() && narthex_information()->send_driver == DRIVER_PCIE_BENCH,
                  "pcie-bench needs its card: run it with --interface PcieBench");
    size_t bytes = (size_t)(window + PAGE - 1) / PAGE * PAGE;
    char *memory = aligned_alloc(PAGE, bytes);
    narthex_check(memory, "there are no %zu bytes for the window", bytes);
    prepare(cache, memory, (size_t)window);
    uint64_t seed = pattern == RANDOM ? narthex_seed() | 1 : 0;
    struct setup setup = {memory,
                          (uint64_t)window / unit,
                          unit,
                          (uint64_t)offset,
                          (uint64_t)size,
                          seed,
                          (uint64_t)(accesses * test->accesses_of_a_round)};
    run(test->number, &setup);
    if (test->is_latency)
        report_latency(setup.count);
    else
        report_bandwidth(test, &setup);
    return 0;
}
