/* STREAM's triad over scratchpads: bandwidth with several buffers under way (Figure 8).
 *
 *     sarc-stream [PLACE [METHOD [WORKERS [HOLDERS [BUFFERS [BYTES [PASSES [WORK]]]]]]]]
 *
 * a = b + 3 c of elements of 32 bits. PLACE is on-chip (the arrays are in the scratchpads of the
 * first HOLDERS tiles, the WORKERS behind them compute) or off-chip (in uncached memory; the first
 * WORKERS tiles compute). METHOD is dma or stores. A buffer of BYTES holds as much of b as of c;
 * the part of a takes the place of b's. WORK is triad, or transfer: b and c go to the worker, and
 * b's elements come home as a, by the same method and without computation. By default on chip, dma,
 * three workers and a holder, three buffers of 1024 bytes, eight passes, triad. See README.md. */
#include "../pattern.h"
#include "../sarc_work.h"

enum { ON_CHIP, OFF_CHIP, PLACES };
enum { DMA, STORES, METHODS };
enum { TRIAD, TRANSFER, WORKS };
enum { MOST_BUFFERS = 16, MOST_WORKERS = 127, FACTOR = 3 };
enum { STRIPE_ELEMENTS = 512, DRAM_STRIPE_ELEMENTS = 8192 };

static const char *const PLACE_NAMES[PLACES] = {"on-chip", "off-chip"};
static const char *const METHOD_NAMES[METHODS] = {"dma", "stores"};
static const char *const WORK_NAMES[WORKS] = {"triad", "transfer"};

static unsigned place, method, workers, holders, buffers, passes, job;
static uint64_t part; /* elements of an array in a buffer */

/* A worker's part of the three arrays. */
struct stripe {
    uint32_t *a, *b, *c;
    uint64_t elements;
};

/* A buffer of a worker: commands to fill and to empty it, what counts both, their flags. */
struct buffer {
    uint32_t *b, *c;
    uint64_t *fill_b, *fill_c, *empty;
    uint64_t *filled, *emptied;
    uint64_t *has_come, *has_gone;
};

static struct stripe stripe_at(uint32_t *memory, unsigned number, uint64_t elements) {
    uint32_t *a = memory + (uint64_t)number * 3 * elements;
    return (struct stripe){.a = a, .b = a + elements, .c = a + 2 * elements, .elements = elements};
}

static uint32_t input(unsigned worker, uint64_t place_in_both) {
    return (uint32_t)pattern_word(worker, place_in_both);
}

static void write_stripe(const struct stripe *stripe, unsigned worker) {
    for (uint64_t element = 0; element < stripe->elements; element++) {
        sarc_store_32(&stripe->a[element], 0);
        sarc_store_32(&stripe->b[element], input(worker, 2 * element));
        sarc_store_32(&stripe->c[element], input(worker, 2 * element + 1));
    }
    sarc_fence();
}

static void check_stripe(const struct stripe *stripe, unsigned worker) {
    for (uint64_t element = 0; element < stripe->elements; element++) {
        uint32_t b = input(worker, 2 * element), c = input(worker, 2 * element + 1);
        uint32_t wanted = job == TRIAD ? b + FACTOR * c : b;
        narthex_check(sarc_load_32(&stripe->a[element]) == wanted,
                      "worker %u: element %llu of a is wrong", worker, (unsigned long long)element);
    }
}

static void make_buffer(struct buffer *own) {
    int64_t bytes = (int64_t)(part * sizeof(uint32_t));
    own->b = take_elements(2 * part);
    own->c = own->b + part;
    own->fill_b = take_command();
    own->fill_c = take_command();
    own->empty = take_command();
    own->filled = take_lines(1);
    own->emptied = take_lines(1);
    own->has_come = take_lines(1);
    own->has_gone = own->has_come + 1;
    sarc_make_counter(own->filled, -2 * bytes, -2 * bytes, 1, &own->has_come, 1);
    sarc_make_counter(own->emptied, -bytes, -bytes, 1, &own->has_gone, 1);
}

/* The triad on elements of scratchpad: four at a time, so that loads need not wait for each
 * other. */
static void compute(uint32_t *a, const uint32_t *b, const uint32_t *c) {
    for (uint64_t element = 0; element < part; element += 4) {
        uint32_t sums[4];
        for (int each = 0; each < 4; each++)
            sums[each] =
                sarc_load_32(&b[element + each]) + FACTOR * sarc_load_32(&c[element + each]);
        for (int each = 0; each < 4; each++)
            sarc_store_32(&a[element + each], sums[each]);
    }
}

/* The part as it is: each element is loaded and stored. */
static void move(uint32_t *to, const uint32_t *from) {
    for (uint64_t element = 0; element < part; element += 4) {
        uint32_t moved[4];
        for (int each = 0; each < 4; each++)
            moved[each] = sarc_load_32(&from[element + each]);
        for (int each = 0; each < 4; each++)
            sarc_store_32(&to[element + each], moved[each]);
    }
}

/* DMA: the worker fetches parts into its buffers, and sends results home. */

static void fetch(const struct buffer *own, const struct stripe *stripe, uint64_t block) {
    uint64_t first = block * part & (stripe->elements - 1);
    sarc_copy(own->fill_b, own->b, &stripe->b[first], part * sizeof(uint32_t), own->filled);
    sarc_copy(own->fill_c, own->c, &stripe->c[first], part * sizeof(uint32_t), own->filled);
}

static void work_by_dma(struct buffer *all, const struct stripe *stripe, uint64_t blocks) {
    uint64_t fetched = 0;
    for (; fetched < buffers && fetched < blocks; fetched++)
        fetch(&all[fetched], stripe, fetched);
    for (uint64_t block = 0; block < blocks; block++) {
        struct buffer *own = &all[block % buffers];
        sarc_await_flag(own->has_come);
        if (job == TRIAD)
            compute(own->b, own->b, own->c);
        sarc_copy(own->empty, &stripe->a[block * part & (stripe->elements - 1)], own->b,
                  part * sizeof(uint32_t), own->emptied);
        /* The results of the block before leave meanwhile, unless there is but one buffer. */
        if (fetched < blocks && (fetched - buffers < block || buffers == 1)) {
            struct buffer *next = &all[fetched % buffers];
            sarc_await_flag(next->has_gone);
            fetch(next, stripe, fetched++);
        }
    }
    uint64_t last = blocks < buffers ? blocks : buffers;
    for (uint64_t block = fetched - last; block < fetched; block++)
        sarc_await_flag(all[block % buffers].has_gone);
}

/* Stores: the holder stores parts into a worker's buffers, the worker results into the arrays. */

static void work_by_stores(struct buffer *all, const struct stripe *stripe, uint64_t blocks,
                           uint64_t *freed) {
    for (uint64_t block = 0; block < blocks; block++) {
        struct buffer *own = &all[block % buffers];
        sarc_await_flag(own->has_come);
        uint32_t *a = &stripe->a[block * part & (stripe->elements - 1)];
        if (job == TRIAD)
            compute(a, own->b, own->c);
        else
            move(a, own->b);
        sarc_store(freed, block + 1);
    }
    sarc_fence();
}

static void push(const struct buffer *at_worker, const struct stripe *stripe, uint64_t block) {
    uint64_t first = block * part & (stripe->elements - 1);
    move(at_worker->b, &stripe->b[first]);
    move(at_worker->c, &stripe->c[first]);
    sarc_fence();
    sarc_store(at_worker->has_come, 1);
}

static void hold(unsigned holder, const struct buffer *symmetric, uint32_t *memory, uint64_t blocks,
                 uint64_t *freed) {
    static uint64_t pushed[MOST_WORKERS];
    bool is_done = false;
    while (!is_done) {
        is_done = true;
        for (unsigned worker = holder; worker < workers; worker += holders) {
            is_done = is_done && pushed[worker] == blocks;
            if (pushed[worker] == blocks || pushed[worker] - sarc_load(&freed[worker]) == buffers)
                continue;
            const struct buffer *own = &symmetric[pushed[worker] % buffers];
            unsigned tile = holders + worker;
            struct buffer at_worker = {.b = elements_of(own->b, tile),
                                       .c = elements_of(own->c, tile),
                                       .has_come = sarc_remote(own->has_come, tile)};
            struct stripe stripe = stripe_at(memory, worker / holders, STRIPE_ELEMENTS);
            push(&at_worker, &stripe, pushed[worker]++);
        }
    }
}

/* Off the chip the worker loads and stores each word itself. */
static void work_off_chip_by_words(const struct stripe *stripe, uint64_t blocks) {
    for (uint64_t block = 0; block < blocks; block++) {
        uint64_t first = block * part & (stripe->elements - 1);
        if (job == TRIAD)
            compute(&stripe->a[first], &stripe->b[first], &stripe->c[first]);
        else
            move(&stripe->a[first], &stripe->b[first]);
    }
    sarc_fence();
}

/* All */

/* Memory for the arrays of all workers, whose address the other tiles hear from tile 0. */
static uint32_t *take_dram(uint64_t *table, unsigned tile) {
    size_t bytes = (size_t)workers * 3 * DRAM_STRIPE_ELEMENTS * sizeof(uint32_t);
    if (tile == 0) {
        uint32_t *memory = sarc_allocate_dram(bytes);
        narthex_check(memory, "there are no %zu bytes of uncached memory: %s", bytes,
                      strerror(errno));
        sarc_store(table, (uintptr_t)memory);
        sarc_fence();
    }
    sarc_rendezvous(tile);
    return (uint32_t *)(uintptr_t)sarc_load(table);
}

static struct stripe own_stripe(unsigned worker, uint32_t *memory, uint64_t *table, unsigned tile) {
    if (place == OFF_CHIP)
        return stripe_at(take_dram(table, tile), worker, DRAM_STRIPE_ELEMENTS);
    return stripe_at(elements_of(memory, worker % holders), worker / holders, STRIPE_ELEMENTS);
}

static void run(unsigned tile, struct buffer *own, uint32_t *memory, const struct stripe *stripe,
                uint64_t blocks, uint64_t *freed) {
    if (tile < holders) {
        if (method == STORES)
            hold(tile, own, memory, blocks, freed);
    } else if (method == DMA) {
        work_by_dma(own, stripe, blocks);
    } else if (place == OFF_CHIP) {
        work_off_chip_by_words(stripe, blocks);
    } else {
        unsigned worker = tile - holders;
        work_by_stores(own, stripe, blocks, &sarc_remote(freed, worker % holders)[worker]);
    }
}

static void work(unsigned tile) {
    struct buffer own[MOST_BUFFERS];
    unsigned each = holders > 0 ? (workers + holders - 1) / holders : 0;
    uint32_t *memory = holders > 0 ? take_elements((size_t)each * 3 * STRIPE_ELEMENTS) : NULL;
    uint64_t *table = take_table(workers + holders), *freed = take_lines(MOST_WORKERS / 8 + 1);
    unsigned worker = tile < holders ? tile : tile - holders;
    for (unsigned buffer = 0; buffer < buffers; buffer++)
        make_buffer(&own[buffer]);
    sarc_rendezvous(tile);
    struct stripe stripe = own_stripe(worker, memory, table, tile);
    if (tile >= holders)
        write_stripe(&stripe, worker);
    sarc_rendezvous(tile);
    uint64_t begin = narthex_time_ns(), blocks = passes * stripe.elements / part;
    run(tile, own, memory, &stripe, blocks, freed);
    sarc_rendezvous(tile);
    double elapsed = (double)(narthex_time_ns() - begin);
    if (tile >= holders)
        check_stripe(&stripe, worker);
    if (tile == 0)
        narthex_report("bandwidth",
                       3e3 * (double)(workers * blocks * part * sizeof(uint32_t)) / elapsed,
                       "MB/s");
}

int main(int arguments, char **values) {
    place = choice(arguments, values, 1, "place", PLACE_NAMES, PLACES);
    method = choice(arguments, values, 2, "method", METHOD_NAMES, METHODS);
    workers = (unsigned)argument(arguments, values, 3, "workers", 1, MOST_WORKERS, 3);
    holders = (unsigned)argument(arguments, values, 4, "holders", 0, 2, 1);
    buffers = (unsigned)argument(arguments, values, 5, "buffers", 1, MOST_BUFFERS, 3);
    long bytes = argument(arguments, values, 6, "bytes", 64, 8192, 1024);
    passes = (unsigned)argument(arguments, values, 7, "passes", 1, 1000, 8);
    job = choice(arguments, values, 8, "work", WORK_NAMES, WORKS);
    narthex_check((bytes & (bytes - 1)) == 0, "a buffer has %ld bytes; allowed are powers of two",
                  bytes);
    narthex_check(holders > 0 || place == OFF_CHIP, "on the chip a tile has to hold the arrays");
    part = (uint64_t)bytes / 2 / sizeof(uint32_t);
    if (place == OFF_CHIP)
        holders = 0;
    sarc_run(workers + holders, work);
    return 0;
}
