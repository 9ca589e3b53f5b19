/* What a lock takes when all tiles want it and nothing is done under it (Table 1a, Figure 11a).
 *
 *     sarc-locks [KIND [TILES [COUNT [PART]]]]
 *
 * KIND is queue (a read of a multiple-reader queue, answered to a flag), queue-load (a load of it),
 * box (the lock box), test-and-set, ticket or mcs (over coherent memory). PART is total, acquire or
 * release: what is reported as the time. TILES is 0 for all tiles, the default; by default
 * 1000 times each. See README.md. */
#include "../sarc_work.h"

enum { CHECKED = 20, WARM_UP = 10 };

/* What a tile needs for a lock of any kind. */
struct place {
    uint64_t *box;
    struct sarc_queue_lock queue;
    struct sarc_mcs_place mcs;
};

static struct sarc_test_and_set test_and_set;
static struct sarc_ticket ticket;
static struct sarc_mcs mcs;

enum { QUEUE, QUEUE_LOAD, BOX, TEST_AND_SET, TICKET, MCS, KINDS };
static const char *const NAMES[KINDS] = {"queue",        "queue-load", "box",
                                         "test-and-set", "ticket",     "mcs"};

/* The library's call, and nothing else where the kind is known to the compiler. */
static inline __attribute__((always_inline)) void acquire(struct place *own, unsigned kind) {
    if (kind == QUEUE)
        sarc_queue_acquire(&own->queue);
    else if (kind == QUEUE_LOAD)
        sarc_queue_acquire_by_load(&own->queue);
    else if (kind == BOX)
        sarc_box_acquire(own->box);
    else if (kind == TEST_AND_SET)
        sarc_test_and_set_acquire(&test_and_set);
    else if (kind == TICKET)
        sarc_ticket_acquire(&ticket);
    else
        sarc_mcs_acquire(&mcs, &own->mcs);
}

static inline __attribute__((always_inline)) void release(struct place *own, unsigned kind) {
    if (kind == QUEUE || kind == QUEUE_LOAD)
        sarc_queue_release(&own->queue);
    else if (kind == BOX)
        sarc_box_release(own->box);
    else if (kind == TEST_AND_SET)
        sarc_test_and_set_release(&test_and_set);
    else if (kind == TICKET)
        sarc_ticket_release(&ticket);
    else
        sarc_mcs_release(&mcs, &own->mcs);
}

enum { TOTAL, PART_ACQUIRE, PART_RELEASE, PARTS };
static const char *const PART_NAMES[PARTS] = {"total", "acquire", "release"};

static unsigned kind, part, tiles;
static uint64_t count;

static void prepare(struct place *own, unsigned tile) {
    uint64_t *queue = take_lines(SARC_QUEUE_LOCK_LINES), *lines = take_lines(1);
    own->queue = (struct sarc_queue_lock){
        .queue = sarc_remote(queue, 0), .command = take_command(), .flag = lines};
    if (kind == BOX)
        own->box = sarc_box_lock(0);
    if (tile == 0)
        sarc_make_queue_lock(queue);
    narthex_check(
        kind < TEST_AND_SET || tiles == 1 || sarc_tiles_share_memory(),
        "a lock of the kind %s is in memory that all tiles share, and keep coherent: run it "
        "on sarc-chip",
        NAMES[kind]);
}

/* Under the lock a word is loaded and stored: none of the tiles' additions may be lost. */
static void check_exclusion(struct place *own, uint64_t *word, unsigned tile) {
    for (int turn = 0; turn < CHECKED; turn++) {
        acquire(own, kind);
        sarc_store(word, sarc_load(word) + 1);
        sarc_fence();
        release(own, kind);
    }
    sarc_rendezvous(tile);
    if (tile == 0)
        narthex_check(sarc_load(word) == (uint64_t)CHECKED * tiles,
                      "%llu of %u additions under the lock are lost",
                      (unsigned long long)(CHECKED * tiles - sarc_load(word)), CHECKED * tiles);
    sarc_rendezvous(tile);
}

struct times {
    uint64_t acquired, released; /* cycles of all turns */
};

/* Made once for each kind, so that nothing but the library's calls is measured. */
static inline __attribute__((always_inline)) struct times turns_of(struct place *own,
                                                                   uint64_t turns, unsigned kind) {
    struct times times = {0, 0};
    for (uint64_t turn = 0; turn < turns; turn++) {
        uint64_t begin = cycles_now();
        acquire(own, kind);
        uint64_t middle = cycles_now();
        release(own, kind);
        uint64_t end = cycles_now();
        times.acquired += middle - begin;
        times.released += end - middle;
    }
    return times;
}

static struct times measure(struct place *own, uint64_t turns) {
    switch (kind) {
    case QUEUE:
        return turns_of(own, turns, QUEUE);
    case QUEUE_LOAD:
        return turns_of(own, turns, QUEUE_LOAD);
    case BOX:
        return turns_of(own, turns, BOX);
    case TEST_AND_SET:
        return turns_of(own, turns, TEST_AND_SET);
    case TICKET:
        return turns_of(own, turns, TICKET);
    default:
        return turns_of(own, turns, MCS);
    }
}

static void work(unsigned tile) {
    struct place own;
    uint64_t *table = take_table(tiles), *word = sarc_remote(take_lines(1), 0);
    prepare(&own, tile);
    sarc_rendezvous(tile);
    check_exclusion(&own, word, tile);
    measure(&own, WARM_UP);
    sarc_rendezvous(tile);
    if (tile == 0)
        narthex_region_begin("locks");
    struct times times = measure(&own, count);
    if (tile == 0)
        narthex_region_end("locks");
    uint64_t all_acquired = of_tiles(table, tile, tiles, times.acquired).sum;
    uint64_t all_released = of_tiles(table, tile, tiles, times.released).sum;
    if (tile > 0)
        return;
    double turns = (double)count * tiles;
    double mean[PARTS] = {(double)(all_acquired + all_released) / turns,
                          (double)all_acquired / turns, (double)all_released / turns};
    narthex_report("time", mean[part], "cycles");
    for (unsigned each = 0; each < PARTS; each++)
        narthex_report(PART_NAMES[each], mean[each], "cycles");
}

int main(int arguments, char **values) {
    kind = choice(arguments, values, 1, "kind", NAMES, KINDS);
    tiles = tiles_argument(arguments, values, 2);
    count = (uint64_t)argument(arguments, values, 3, "count", 1, 1000000, 1000);
    part = choice(arguments, values, 4, "part", PART_NAMES, PARTS);
    sarc_run(tiles, work);
    return 0;
}
