/* Every node sends a block of bytes to every other, again and again: the transposition of a matrix
 * whose rows are distributed over the nodes.
 *
 *     all-to-all [BYTES [ROUNDS]]
 *         by default blocks of 64 bytes, 2 rounds
 *
 * Data. A node has a block for each node. In a round its block m goes to node m, where it becomes
 * the block of this node: what is sent in the next round. So a block comes home every second round;
 * its first byte counts its trips.
 *
 * Schedule. In step s of a round node n sends to node n + s, and polls. As long as the nodes go
 * alike, no two send to the same one. A round ends with a barrier, because a node's blocks may not
 * be replaced before they have left.
 *
 * Messages. Active ones, whose handler copies a block to its place: narthex_all_to_all would keep
 * all blocks in the library's buffers until the call takes them, twice the memory.
 *
 * Checks. In the end every byte of every block is the one of its place and its number of trips. */
#include <stdbool.h>
#include <string.h>

#include "../arguments.h"
#include "../measure.h"
#include "../pattern.h"

enum { HANDLER_BLOCK = 1, ALIGNMENT_BYTES = 8 };

static size_t block_bytes, stride_bytes;
static char *leaving, *coming; /* a block for each node */
static long arrived;           /* blocks from others, since the start */

static char *block_of(char *blocks, int node) {
    return blocks + (size_t)node * stride_bytes;
}

static void on_block(int source, const void *payload, size_t bytes) {
    memcpy(block_of(coming, source), payload, bytes);
    arrived += 1;
}

/* The block that begins on node `from` and goes to node `to` first, after this many trips. */
static void make_block(char *block, int from, int to, long trips) {
    uint64_t pair = (uint64_t)from * (uint64_t)narthex_nodes() + (uint64_t)to;
    pattern_fill(block, block_bytes, pair);
    block[0] = (char)(block[0] + trips);
}

static void prepare(void) {
    size_t nodes = (size_t)narthex_nodes();
    stride_bytes = (block_bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    leaving = calloc(nodes, stride_bytes);
    coming = calloc(nodes, stride_bytes);
    narthex_check(leaving && coming, "node %d has no memory left for %zu blocks of %zu bytes",
                  narthex_node(), 2 * nodes, stride_bytes);
    for (int node = 0; node < narthex_nodes(); node++)
        make_block(block_of(leaving, node), narthex_node(), node, 0);
}

static void exchange(long round) {
    int node = narthex_node(), nodes = narthex_nodes();
    leaving[(size_t)node * stride_bytes] += 1;
    memcpy(block_of(coming, node), block_of(leaving, node), block_bytes);
    for (int step = 1; step < nodes; step++) {
        int destination = (node + step) % nodes;
        char *block = block_of(leaving, destination);
        block[0] += 1;
        narthex_send(destination, HANDLER_BLOCK, block, block_bytes);
        narthex_poll();
    }
    while (arrived < round * (nodes - 1))
        narthex_poll();
    char *sent = leaving;
    leaving = coming;
    coming = sent;
    narthex_barrier(); /* the next round's blocks come while others still wait in it */
}

static void check(long rounds) {
    char *expected = malloc(stride_bytes);
    narthex_check(expected, "node %d has no memory left for %zu bytes", narthex_node(),
                  stride_bytes);
    bool is_home = rounds % 2 == 0;
    for (int node = 0; node < narthex_nodes(); node++) {
        int from = is_home ? narthex_node() : node, to = is_home ? node : narthex_node();
        make_block(expected, from, to, rounds);
        narthex_check(memcmp(block_of(leaving, node), expected, block_bytes) == 0,
                      "all-to-all: after %ld rounds node %d has a wrong block of node %d", rounds,
                      narthex_node(), node);
    }
    free(expected);
}

int main(int count, char **values) {
    block_bytes = (size_t)argument(count, values, 1, "bytes", 1, 1 << 20, 64);
    long rounds = argument(count, values, 2, "rounds", 1, 1000000, 2);
    narthex_register_handler(HANDLER_BLOCK, on_block);
    prepare();
    measure_begin();
    for (long round = 1; round <= rounds; round++)
        exchange(round);
    measure_end();
    check(rounds);
    if (narthex_node() == 0)
        narthex_report("blocks received", (double)arrived, "messages");
    return 0;
}
