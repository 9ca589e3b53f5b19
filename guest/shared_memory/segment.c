/* The shared segment. Every node makes the same allocations in the same order, so that the place of
 * a block and its home are computed rather than asked for. */
#include "shared_memory/segment.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "shared_memory/shared_memory.h"

enum { SMALLEST_BLOCK = 16, LARGEST_BLOCK = 1024, PAGE_BYTES = 4096 };

#define LARGEST_SEGMENT ((size_t)512 << 20)

/* One call of narthex_shared_allocate: its bytes, from the end of the one before. */
struct allocation {
    struct allocation *previous;
    size_t begin, end; /* offsets in the segment */
    size_t chunk_bytes;
    int home; /* of the first chunk */
};

struct segment segment;

static struct allocation *allocations; /* the last one first */

static bool is_block_size(size_t bytes) {
    return bytes >= SMALLEST_BLOCK && bytes <= LARGEST_BLOCK && (bytes & (bytes - 1)) == 0;
}

static size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

void segment_check_started(const char *function) {
    narthex_check(segment.start, "node %d calls %s before narthex_shared_start", narthex_node(),
                  function);
}

void narthex_shared_start(size_t bytes, size_t block_bytes) {
    int node = narthex_node();
    narthex_check(!segment.start, "node %d calls narthex_shared_start twice", node);
    narthex_check(bytes > 0 && bytes <= LARGEST_SEGMENT,
                  "node %d asks narthex_shared_start for %zu bytes: allowed are 1 to %zu", node,
                  bytes, LARGEST_SEGMENT);
    narthex_check(is_block_size(block_bytes),
                  "node %d asks narthex_shared_start for blocks of %zu bytes: allowed are powers "
                  "of two from %d to %d",
                  node, block_bytes, SMALLEST_BLOCK, LARGEST_BLOCK);
    narthex_check(narthex_nodes() == 1,
                  "node %d calls narthex_shared_start on a machine of %d nodes: this library does "
                  "not set the access tags yet, so shared memory works on one node only",
                  node, narthex_nodes());
    segment.bytes = round_up(bytes, PAGE_BYTES);
    segment.block_bytes = block_bytes;
    segment.start = aligned_alloc(PAGE_BYTES, segment.bytes);
    narthex_check(segment.start, "node %d has no %zu bytes for narthex_shared_start", node, bytes);
    memset(segment.start, 0, segment.bytes);
}

static void check_allocation(size_t bytes, int home, size_t chunk_bytes) {
    int node = narthex_node();
    segment_check_started("narthex_shared_allocate");
    narthex_check(home >= 0 && home < narthex_nodes(),
                  "node %d asks narthex_shared_allocate for the home %d: nodes are 0 to %d", node,
                  home, narthex_nodes() - 1);
    narthex_check(chunk_bytes % segment.block_bytes == 0,
                  "node %d asks narthex_shared_allocate for chunks of %zu bytes: allowed are "
                  "multiples of the block, %zu bytes, and 0",
                  node, chunk_bytes, segment.block_bytes);
    narthex_check(bytes > 0 && bytes <= segment.bytes - segment.allocated,
                  "node %d asks narthex_shared_allocate for %zu bytes: %zu of the segment's %zu "
                  "are left",
                  node, bytes, segment.bytes - segment.allocated, segment.bytes);
}

void *narthex_shared_allocate(size_t bytes, int home, size_t chunk_bytes) {
    check_allocation(bytes, home, chunk_bytes);
    struct allocation *allocation = malloc(sizeof *allocation);
    narthex_check(allocation, "node %d has no memory left for narthex_shared_allocate",
                  narthex_node());
    size_t begin = segment.allocated;
    segment.allocated += round_up(bytes, segment.block_bytes);
    *allocation = (struct allocation){.previous = allocations,
                                      .begin = begin,
                                      .end = segment.allocated,
                                      .chunk_bytes = chunk_bytes,
                                      .home = home};
    allocations = allocation;
    return segment.start + begin;
}

/* The allocation that has the byte at `offset`; NULL if none has. */
static const struct allocation *find_allocation(size_t offset) {
    const struct allocation *allocation = allocations;
    while (allocation && offset < allocation->begin)
        allocation = allocation->previous;
    return allocation && offset < allocation->end ? allocation : NULL;
}

int narthex_shared_home(const void *address) {
    segment_check_started("narthex_shared_home");
    size_t offset = (size_t)((uintptr_t)address - (uintptr_t)segment.start);
    const struct allocation *allocation = find_allocation(offset);
    narthex_check(allocation,
                  "node %d asks narthex_shared_home about %p: a shared address that nobody owns, "
                  "no narthex_shared_allocate returned it",
                  narthex_node(), address);
    if (allocation->chunk_bytes == 0)
        return allocation->home;
    size_t chunk = (offset - allocation->begin) / allocation->chunk_bytes;
    return (int)(((size_t)allocation->home + chunk) % (size_t)narthex_nodes());
}
