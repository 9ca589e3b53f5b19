#include "sarc/barriers.h"

#include "messaging/narthex.h"
#include "runtime/marker.h"

/* Lock */

void sarc_mutex_wait(const struct sarc_mutex_barrier *barrier) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    sarc_box_acquire(barrier->lock);
    uint64_t arrived = sarc_load(barrier->count) + 1;
    if (arrived == barrier->tiles) {
        sarc_store(barrier->count, 0);
        for (unsigned tile = 0; tile < barrier->tiles; tile++)
            sarc_store(barrier->first_flag + tile * (SARC_WINDOW_BYTES / sizeof(uint64_t)), 1);
    } else {
        sarc_store(barrier->count, arrived);
    }
    sarc_fence();
    sarc_box_release(barrier->lock);
    sarc_await_flag(barrier->flag);
    LEAVE();
}

/* Coherent memory */

void sarc_central_wait(struct sarc_central_barrier *barrier, unsigned tiles, unsigned *own_sense) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    *own_sense = !*own_sense;
    if (atomic_fetch_add(&barrier->arrived, 1) == tiles - 1) {
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&barrier->sense, *own_sense, memory_order_release);
    } else {
        while (atomic_load_explicit(&barrier->sense, memory_order_acquire) != *own_sense)
            ;
    }
    LEAVE();
}

void sarc_make_tree_barrier(struct sarc_tree_barrier *all, unsigned tile, unsigned tiles) {
    struct sarc_tree_barrier *own = &all[tile];
    for (unsigned child = 0; child < SARC_TREE_UP; child++) {
        own->has_child[child] = SARC_TREE_UP * tile + child + 1 < tiles;
        atomic_store(&own->child_waits[child], own->has_child[child]);
    }
    for (unsigned child = 0; child < SARC_TREE_DOWN; child++) {
        unsigned number = SARC_TREE_DOWN * tile + child + 1;
        own->children[child] = number < tiles ? &all[number].sense : NULL;
    }
    struct sarc_tree_barrier *parent = &all[(tile - 1) / SARC_TREE_UP];
    own->parent = tile > 0 ? &parent->child_waits[(tile - 1) % SARC_TREE_UP] : NULL;
    own->own_sense = 1;
}

static bool child_waits(struct sarc_tree_barrier *own) {
    unsigned waits = 0;
    for (unsigned child = 0; child < SARC_TREE_UP; child++)
        waits |= atomic_load_explicit(&own->child_waits[child], memory_order_acquire);
    return waits != 0;
}

void sarc_tree_wait(struct sarc_tree_barrier *own) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (child_waits(own))
        ;
    for (unsigned child = 0; child < SARC_TREE_UP; child++)
        atomic_store_explicit(&own->child_waits[child], own->has_child[child],
                              memory_order_relaxed);
    if (own->parent) {
        atomic_store_explicit(own->parent, 0, memory_order_release);
        while (atomic_load_explicit(&own->sense, memory_order_acquire) != own->own_sense)
            ;
    }
    for (unsigned child = 0; child < SARC_TREE_DOWN; child++)
        if (own->children[child])
            atomic_store_explicit(own->children[child], own->own_sense, memory_order_release);
    own->own_sense = !own->own_sense;
    LEAVE();
}

/* Counters
 *
 * Node i of level l covers the tiles from i * 4^l on, 4^l at most, and stands in the first of them.
 * Arrivals go up from leaves (level 1) to the root, which tells the nodes below it to go on, and
 * these those below them; the nodes of level 0 are the tiles' flags. */

enum { ARITY = SARC_NOTIFICATIONS };

static unsigned span(unsigned level) {
    return 1u << 2 * level;
}

static unsigned nodes(unsigned level, unsigned tiles) {
    return (tiles + span(level) - 1) / span(level);
}

static uint64_t *arrival(uint64_t *lines, unsigned level, unsigned node) {
    return sarc_remote(lines + (2 * level - 1) * SARC_LINE_WORDS, node * span(level));
}

static uint64_t *departure(uint64_t *lines, unsigned level, unsigned node) {
    unsigned line = level == 0 ? 0 : 2 * level;
    return sarc_remote(lines + line * SARC_LINE_WORDS, node * span(level));
}

/* Makes both counters of a node. */
static void make_node(uint64_t *lines, unsigned level, unsigned node, unsigned tiles) {
    uint64_t *below[ARITY], *above = arrival(lines, level + 1, node / ARITY);
    unsigned first = node * ARITY, count = nodes(level - 1, tiles) - first;
    bool is_root = nodes(level, tiles) == 1;
    if (count > ARITY)
        count = ARITY;
    for (unsigned each = 0; each < count; each++)
        below[each] = departure(lines, level - 1, first + each);
    sarc_make_counter(arrival(lines, level, node), -(int64_t)count, -(int64_t)count, 1,
                      is_root ? below : &above, is_root ? count : 1);
    if (!is_root)
        sarc_make_counter(departure(lines, level, node), -1, -1, 1, below, count);
}

void sarc_make_counter_barrier(struct sarc_counter_barrier *barrier, uint64_t *lines, unsigned tile,
                               unsigned tiles) {
    narthex_check(tiles <= span(SARC_COUNTER_LEVELS), "a barrier of %u tiles has too many levels",
                  tiles);
    for (unsigned level = 1; level <= SARC_COUNTER_LEVELS; level++) {
        if (tile % span(level) == 0)
            make_node(lines, level, tile / span(level), tiles);
        if (nodes(level, tiles) == 1)
            break;
    }
    barrier->leaf = arrival(lines, 1, tile / ARITY);
    barrier->flag = lines;
}

void sarc_await_counter_barrier(uint64_t *lines, unsigned tile, unsigned tiles) {
    for (unsigned level = 1; level <= SARC_COUNTER_LEVELS; level++) {
        while (!sarc_is_marked(arrival(lines, level, tile / span(level)), SARC_ROLE_COUNTER))
            ;
        if (nodes(level, tiles) == 1)
            break;
    }
}
