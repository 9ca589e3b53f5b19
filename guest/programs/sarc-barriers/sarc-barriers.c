/* What a barrier takes (Table 1b, Figure 11b).
 *
 *     sarc-barriers [KIND [TILES [COUNT]]]
 *
 * KIND is counters, mutex (a lock of the lock box, a count and flags in scratchpads), central or
 * tree (over coherent memory). TILES is 0 for all tiles, the default; by
 * default 1000 times. See README.md. */
#include "../sarc_work.h"

enum { CHECKED = 20 };
enum { COUNTERS, MUTEX, CENTRAL, TREE, KINDS };
enum { MOST_TILES = 128 };

static const char *const NAMES[KINDS] = {"counters", "mutex", "central", "tree"};

static unsigned kind, tiles;
static uint64_t count;
static struct sarc_central_barrier central;
static struct sarc_tree_barrier tree[MOST_TILES];

/* What a tile needs for a barrier of any kind. */
struct place {
    struct sarc_counter_barrier counters;
    struct sarc_mutex_barrier mutex;
    struct sarc_tree_barrier *tree;
    unsigned sense;
};

/* The library's call, and nothing else where the kind is known to the compiler. */
static inline __attribute__((always_inline)) void wait_at(struct place *own, unsigned kind) {
    if (kind == COUNTERS)
        sarc_counter_wait(&own->counters);
    else if (kind == MUTEX)
        sarc_mutex_wait(&own->mutex);
    else if (kind == CENTRAL)
        sarc_central_wait(&central, tiles, &own->sense);
    else
        sarc_tree_wait(own->tree);
}

static void prepare(struct place *own, unsigned tile) {
    uint64_t *lines = take_lines(SARC_COUNTER_BARRIER_LINES), *flag = take_lines(2);
    own->sense = 0;
    if (kind == COUNTERS)
        sarc_make_counter_barrier(&own->counters, lines, tile, tiles);
    if (kind == MUTEX)
        own->mutex = (struct sarc_mutex_barrier){.lock = sarc_box_lock(0),
                                                 .count = sarc_remote(flag + SARC_LINE_WORDS, 0),
                                                 .first_flag = sarc_remote(flag, 0),
                                                 .flag = flag,
                                                 .tiles = tiles};
    narthex_check(
        kind < CENTRAL || tiles == 1 || sarc_tiles_share_memory(),
        "a barrier of the kind %s is in memory that all tiles share, and keep coherent: run "
        "it on sarc-chip",
        NAMES[kind]);
    own->tree = &tree[tile];
    if (kind == TREE)
        sarc_make_tree_barrier(tree, tile, tiles);
}

/* No tile leaves the barrier before all have come, and none is left behind. */
static void check(struct place *own, uint64_t *table, unsigned tile) {
    for (uint64_t turn = 1; turn <= CHECKED; turn++) {
        sarc_store(&table[tile], turn);
        sarc_fence();
        wait_at(own, kind);
        for (unsigned each = 0; each < tiles; each++)
            narthex_check(sarc_load(&table[each]) >= turn,
                          "tile %u has left barrier %llu, to which tile %u has not come", tile,
                          (unsigned long long)turn, each);
    }
}

/* The cycles of all waits. Made once for each kind, so that nothing but the library's call is
 * measured. */
static inline __attribute__((always_inline)) uint64_t waits_of(struct place *own, unsigned kind) {
    uint64_t waited = 0;
    for (uint64_t turn = 0; turn < count; turn++) {
        uint64_t begin = cycles_now();
        wait_at(own, kind);
        waited += cycles_now() - begin;
    }
    return waited;
}

static uint64_t measure(struct place *own) {
    switch (kind) {
    case COUNTERS:
        return waits_of(own, COUNTERS);
    case MUTEX:
        return waits_of(own, MUTEX);
    case CENTRAL:
        return waits_of(own, CENTRAL);
    default:
        return waits_of(own, TREE);
    }
}

static void work(unsigned tile) {
    struct place own;
    uint64_t *table = take_table(tiles);
    prepare(&own, tile);
    sarc_rendezvous(tile);
    check(&own, table, tile);
    sarc_rendezvous(tile);
    if (tile == 0)
        narthex_region_begin("barriers");
    uint64_t waited = measure(&own);
    if (tile == 0)
        narthex_region_end("barriers");
    uint64_t sum = of_tiles(table, tile, tiles, waited).sum;
    if (tile == 0)
        narthex_report("time", (double)sum / ((double)count * tiles), "cycles");
}

int main(int arguments, char **values) {
    kind = choice(arguments, values, 1, "kind", NAMES, KINDS);
    tiles = tiles_argument(arguments, values, 2);
    count = (uint64_t)argument(arguments, values, 3, "count", 1, 1000000, 1000);
    sarc_run(tiles, work);
    return 0;
}
