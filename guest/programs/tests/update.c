/* Self-checking: a custom protocol, which updates readers instead of invalidating their copies.
 *
 *     update [ROUNDS]     by default 20
 *
 * The nodes are a ring. Each has a block of values of its own, and makes new ones of its
 * neighbours' in every round. Only a block's home writes it. A reader faults once, and so asks the
 * home to send it the block now and whenever it has changed; then the home pushes:
 *
 *     reader: load, tag none -- SUBSCRIBE -->  home
 *             tag read       <--- UPDATE ----
 *             tag read       <--- UPDATE ----  push(), after every round
 *
 * Under the invalidation protocol the same would take four messages a round for each reader: an
 * invalidation, its acknowledgement, a request, and the block. Checked: the values of all rounds,
 * and that a reader has faulted once for each block. */
#include <string.h>

#include "../arguments.h"
#include "shared_memory/protocol.h"
#include "shared_memory/shared_memory.h"

enum { BLOCK_BYTES = 64, VALUES = BLOCK_BYTES / sizeof(uint64_t), SUBSCRIBE = 1, UPDATE = 2 };

struct update {
    uint64_t values[VALUES];
    uint64_t *block;
};

static int subscribers[2], subscribed; /* to this node's block: at most its neighbours */
static long updates, faults;
static uint64_t *asked[2]; /* the blocks that this node has asked for */

/* The protocol */

static void begin(void *block, int home) {
    narthex_set_tag(block, home == narthex_node() ? NARTHEX_TAG_WRITE : NARTHEX_TAG_NONE);
}

static void fault(void *block, int home, int is_store) {
    narthex_check(!is_store, "node %d stores to the block of node %d", narthex_node(), home);
    if (asked[0] == block || asked[1] == block)
        return;
    narthex_check(faults < 2, "node %d has more than two neighbours", narthex_node());
    asked[faults++] = block;
    narthex_send(home, SUBSCRIBE, &block, sizeof block);
}

static void send_update(int reader, uint64_t *block) {
    struct update update = {.block = block};
    memcpy(update.values, block, BLOCK_BYTES);
    narthex_send(reader, UPDATE, &update, sizeof update);
}

static void on_subscribe(int source, const void *payload, size_t bytes) {
    narthex_check(bytes == sizeof(uint64_t *) && subscribed < 2, "node %d: %zu bytes from node %d",
                  narthex_node(), bytes, source);
    subscribers[subscribed++] = source;
    send_update(source, *(uint64_t *const *)payload);
}

static void on_update(int source, const void *payload, size_t bytes) {
    const struct update *update = payload;
    narthex_check(bytes == sizeof *update && source == narthex_shared_home(update->block),
                  "node %d: %zu bytes from node %d", narthex_node(), bytes, source);
    narthex_set_tag(update->block, NARTHEX_TAG_WRITE);
    memcpy(update->block, update->values, BLOCK_BYTES);
    narthex_set_tag(update->block, NARTHEX_TAG_READ);
    updates += 1;
}

static const struct narthex_protocol update_protocol = {begin, fault};

static void push(uint64_t *block) {
    for (int index = 0; index < subscribed; index++)
        send_update(subscribers[index], block);
}

/* The program */

static void make_values(const uint64_t *left, const uint64_t *right, uint64_t *values) {
    for (int index = 0; index < VALUES; index++)
        values[index] = 3 * left[index] + right[(index + 1) % VALUES] + 1;
}

/* The values of all nodes after this many rounds, made without shared memory. */
static uint64_t (*expect(long rounds)) [VALUES] {
    int nodes = narthex_nodes();
    uint64_t (*now)[VALUES] = calloc((size_t)nodes, sizeof *now);
    uint64_t (*next)[VALUES] = calloc((size_t)nodes, sizeof *next);
    narthex_check(now && next, "node %d has no memory left", narthex_node());
    for (int node = 0; node < nodes; node++)
        now[node][0] = (uint64_t)node;
    for (long round = 0; round < rounds; round++) {
        for (int node = 0; node < nodes; node++)
            make_values(now[(node + nodes - 1) % nodes], now[(node + 1) % nodes], next[node]);
        memcpy(now, next, (size_t)nodes * sizeof *now);
    }
    free(next);
    return now;
}

/* The neighbours' blocks and the node's own. */
struct places {
    uint64_t *left, *own, *right;
};

static void play_round(struct places places) {
    uint64_t made[VALUES];
    long before = updates;
    make_values(places.left, places.right, made);
    narthex_barrier(); /* all have read */
    memcpy(places.own, made, sizeof made);
    push(places.own);
    while (updates < before + faults)
        narthex_poll();
    narthex_barrier(); /* all have been updated */
}

static void compare(const uint64_t *values, const uint64_t *expected) {
    narthex_check(memcmp(values, expected, BLOCK_BYTES) == 0, "node %d has wrong values of node %d",
                  narthex_node(), narthex_shared_home(values));
}

int main(int count, char **values) {
    long rounds = argument(count, values, 1, "rounds", 0, 1000000, 20);
    int node = narthex_node(), nodes = narthex_nodes();
    int left = (node + nodes - 1) % nodes, right = (node + 1) % nodes;
    narthex_register_handler(SUBSCRIBE, on_subscribe);
    narthex_register_handler(UPDATE, on_update);
    narthex_shared_start((size_t)nodes * BLOCK_BYTES, BLOCK_BYTES);
    uint64_t (*shared)[VALUES] = narthex_shared_allocate_under(
        &update_protocol, (size_t)nodes * BLOCK_BYTES, 0, BLOCK_BYTES);
    shared[node][0] = (uint64_t)node;
    narthex_barrier();
    (void)*(volatile uint64_t *)shared[left], (void)*(volatile uint64_t *)shared[right];
    narthex_barrier();
    for (long round = 0; round < rounds; round++)
        play_round((struct places){shared[left], shared[node], shared[right]});
    uint64_t (*expected)[VALUES] = expect(rounds);
    compare(shared[left], expected[left]);
    compare(shared[node], expected[node]);
    compare(shared[right], expected[right]);
    int neighbours = nodes > 2 ? 2 : nodes - 1;
    narthex_check(faults == neighbours, "node %d has faulted %ld times, not %d", node, faults,
                  neighbours);
    narthex_barrier();
    if (node == 0)
        narthex_report("first value", (double)(expected[0][0] % 1000000), "value");
    free(expected);
    return 0;
}
