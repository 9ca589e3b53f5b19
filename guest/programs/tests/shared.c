/* Self-checking: random loads, stores, atomic additions and locks of shared memory on all nodes.
 *
 *     shared [STEPS [BLOCK]]     by default 300 steps a node, blocks of 64 bytes
 *     shared start|begin|twice|allocate|chunk|home|lock|unlock|tag|nobody|send|handler
 *                                a mistake each, of a call or of an access
 *
 * At every step a node does one of four things at random, each of which has an invariant:
 *   - it adds to a counter under the counter's lock: no addition is lost;
 *   - it adds to a counter with one atomic instruction, or with load-reserved and
 * store-conditional: neither is any of these;
 *   - it writes the next number to its own place among the other nodes' places: a node that reads a
 *     place never sees it go back;
 *   - it writes a number to one place and then to another: who sees it in the second sees it in the
 *     first too.
 * In the end every node does the others' random choices again and compares all counters. Places and
 * counters of all nodes are mixed in the same blocks, and the blocks' homes go round the nodes. */
#include <stdbool.h>

#include "../arguments.h"
#include "../pattern.h"
#include "shared_memory/protocol.h"
#include "shared_memory/shared_memory.h"

enum { COUNTERS = 20, SEED = 5, HANDLER = 1 };
enum work { LOCKED, ATOMIC, OWN_PLACE, PAIR, WORKS };

/* What a node does at a step. */
struct choice {
    enum work work;
    int counter;
    uint64_t amount;
};

static uint64_t *locked, *atomic;                  /* counters */
static volatile uint64_t *places, *before, *after; /* one for each node */
static uint64_t *seen;                             /* in each node's place so far */

static struct choice choose(uint64_t *random) {
    uint64_t number = random_next(random) >> 8;
    return (struct choice){
        .work = (enum work)(number % WORKS),
        .counter = (int)(number / WORKS % COUNTERS),
        .amount = number / WORKS / COUNTERS % 1000,
    };
}

static void look_at_places(void) {
    for (int node = 0; node < narthex_nodes(); node++) {
        uint64_t value = places[node];
        narthex_check(value >= seen[node], "node %d reads %llu in node %d's place, after %llu",
                      narthex_node(), (unsigned long long)value, node,
                      (unsigned long long)seen[node]);
        seen[node] = value;
        uint64_t second = after[node], first = before[node];
        narthex_check(first >= second, "node %d sees node %d's second store of %llu, not its first",
                      narthex_node(), node, (unsigned long long)second);
    }
}

/* An odd amount takes load-reserved and store-conditional, either of which may fault. */
static void add_atomically(uint64_t *counter, uint64_t amount) {
    uint64_t old = *counter;
    if (amount % 2 == 0)
        __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
    else
        while (!__atomic_compare_exchange_n(counter, &old, old + amount, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
            ;
}

static void work(struct choice choice, uint64_t step) {
    switch (choice.work) {
    case LOCKED:
        narthex_lock(choice.counter);
        locked[choice.counter] += choice.amount;
        narthex_unlock(choice.counter);
        break;
    case ATOMIC:
        add_atomically(&atomic[choice.counter], choice.amount);
        break;
    case OWN_PLACE:
        places[narthex_node()] = step;
        look_at_places();
        break;
    default:
        before[narthex_node()] = step;
        after[narthex_node()] = step;
        break;
    }
}

/* All that all nodes have added, by their random choices. */
static void expect(uint64_t steps, uint64_t totals[WORKS][COUNTERS]) {
    for (int node = 0; node < narthex_nodes(); node++) {
        uint64_t random = random_start(SEED, node);
        for (uint64_t step = 1; step <= steps; step++) {
            struct choice choice = choose(&random);
            totals[choice.work][choice.counter] += choice.amount;
        }
    }
}

static void compare(const char *what, const uint64_t *counters, const uint64_t *expected) {
    for (int index = 0; index < COUNTERS; index++)
        narthex_check(counters[index] == expected[index],
                      "node %d: the %s counter %d is %llu instead of %llu", narthex_node(), what,
                      index, (unsigned long long)counters[index],
                      (unsigned long long)expected[index]);
}

static void touch(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    locked[0] += 1;
}

/* Mistakes */

static void start_wrong(const char *what) {
    if (strcmp(what, "start") == 0)
        narthex_shared_start(1 << 20, 48);
    if (strcmp(what, "begin") == 0)
        narthex_shared_allocate(64, 0, 0);
}

static void do_wrong(const char *what) {
    int last = narthex_nodes() - 1;
    void *mine = narthex_shared_allocate(64, last, 0);
    if (strcmp(what, "twice") == 0)
        narthex_shared_start(1 << 20, 64);
    if (strcmp(what, "allocate") == 0)
        narthex_shared_allocate(2 << 20, 0, 0);
    if (strcmp(what, "chunk") == 0)
        narthex_shared_allocate(64, 0, 24);
    if (strcmp(what, "home") == 0)
        narthex_shared_home((char *)mine + (1 << 19));
    if (strcmp(what, "lock") == 0)
        narthex_lock(65536);
    if (strcmp(what, "unlock") == 0)
        narthex_unlock(7);
    if (strcmp(what, "tag") == 0)
        narthex_set_tag(mine, NARTHEX_TAG_READ);
    if (strcmp(what, "nobody") == 0)
        *((volatile char *)mine + (1 << 19)) = 1;
    if (strcmp(what, "send") == 0 && narthex_node() == 0)
        narthex_send(0, HANDLER, mine, 8);
    locked = mine; /* what the handler touches */
    if (strcmp(what, "handler") == 0)
        narthex_send(0, HANDLER, "x", 1);
    narthex_barrier();
}

int main(int count, char **values) {
    narthex_register_handler(HANDLER, touch);
    bool is_wrong = count > 1 && (values[1][0] < '0' || values[1][0] > '9');
    if (is_wrong)
        start_wrong(values[1]);
    long steps = is_wrong ? 0 : argument(count, values, 1, "steps", 0, 1000000, 300);
    long block_bytes = argument(count, values, 2, "block", 16, 1024, 64);
    size_t nodes = (size_t)narthex_nodes();
    narthex_shared_start(1 << 20, (size_t)block_bytes);
    size_t words = 2 * COUNTERS + 3 * nodes;
    uint64_t *shared = narthex_shared_allocate(words * sizeof *shared, 0, (size_t)block_bytes);
    locked = shared;
    atomic = locked + COUNTERS;
    places = atomic + COUNTERS;
    before = places + nodes;
    after = before + nodes;
    seen = calloc(nodes, sizeof *seen);
    narthex_check(seen, "node %d has no memory left", narthex_node());
    if (is_wrong)
        do_wrong(values[1]);
    narthex_barrier();
    uint64_t random = random_start(SEED, narthex_node());
    for (long step = 1; step <= steps; step++) {
        work(choose(&random), (uint64_t)step);
        narthex_poll();
    }
    narthex_barrier();
    uint64_t totals[WORKS][COUNTERS] = {{0}};
    expect((uint64_t)steps, totals);
    compare("locked", locked, totals[LOCKED]);
    compare("atomic", atomic, totals[ATOMIC]);
    narthex_barrier();
    if (narthex_node() == 0)
        narthex_report("counters", 2 * COUNTERS, "counters");
    return 0;
}
