/* The shared segment. Every node makes the same allocations in the same order, so that the place of
 * a block and its home are computed rather than asked for. */
#include "shared_memory/segment.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "messaging/messages.h"
#include "runtime/marker.h"
#include "shared_memory/invalidation.h"
#include "shared_memory/shared_memory.h"

enum { SMALLEST_BLOCK = 16, LARGEST_BLOCK = 1024 };

#define LARGEST_SEGMENT ((size_t)512 << 20)

/* One call of narthex_shared_allocate: its bytes, from the end of the one before. */
struct allocation {
    struct allocation *previous;
    const struct narthex_protocol *protocol;
    size_t begin, end; /* offsets in the segment */
};

struct segment segment;

static struct allocation *allocations; /* the last one first */

/* Starting */

static bool is_block_size(size_t bytes) {
    return bytes >= SMALLEST_BLOCK && bytes <= LARGEST_BLOCK && (bytes & (bytes - 1)) == 0;
}

static size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

static int logarithm(size_t power_of_two) {
    int shift = 0;
    while ((size_t)1 << shift != power_of_two)
        shift += 1;
    return shift;
}

void segment_check_started(const char *function) {
    narthex_check(segment.start, "node %d calls %s before narthex_shared_start", narthex_node(),
                  function);
}

static void check_start(size_t bytes, size_t block_bytes) {
    int node = narthex_node();
    check_outside_handler("narthex_shared_start");
    narthex_check(!segment.start, "node %d calls narthex_shared_start twice", node);
    narthex_check(bytes > 0 && bytes <= LARGEST_SEGMENT,
                  "node %d asks narthex_shared_start for %zu bytes: allowed are 1 to %zu", node,
                  bytes, LARGEST_SEGMENT);
    narthex_check(is_block_size(block_bytes),
                  "node %d asks narthex_shared_start for blocks of %zu bytes: allowed are powers "
                  "of two from %d to %d",
                  node, block_bytes, SMALLEST_BLOCK, LARGEST_BLOCK);
}

void *segment_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    narthex_check(memory != MAP_FAILED, "node %d has no %zu bytes for narthex_shared_start",
                  narthex_node(), bytes);
    return memory;
}

void narthex_shared_start(size_t bytes, size_t block_bytes) {
    check_start(bytes, block_bytes);
    segment.bytes = round_up(bytes, NARTHEX_SHARED_PAGE_BYTES);
    segment.block_bytes = block_bytes;
    segment.block_shift = logarithm(block_bytes);
    segment.homes = segment_memory(segment_blocks() * sizeof *segment.homes);
    segment.tags = segment_memory(segment_blocks() * sizeof *segment.tags);
    segment.is_tagged = narthex_nodes() > 1;
    segment.start = segment.is_tagged ? access_tags_start(segment.bytes, block_bytes)
                                      : segment_memory(segment.bytes);
    invalidation_start();
    narthex_barrier();
}

/* Allocating */

static void check_allocation(const struct narthex_protocol *protocol, size_t bytes, int home,
                             size_t chunk_bytes) {
    int node = narthex_node();
    segment_check_started("narthex_shared_allocate");
    check_outside_handler("narthex_shared_allocate");
    narthex_check(protocol && protocol->begin && protocol->fault,
                  "node %d asks narthex_shared_allocate_under for memory under a protocol that "
                  "lacks begin or fault",
                  node);
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

/* Gives every block of the allocation its home, and its beginning under the protocol. */
static void begin_blocks(const struct allocation *allocation, int home, size_t chunk_bytes) {
    size_t chunk_end = chunk_bytes == 0 ? allocation->end : allocation->begin + chunk_bytes;
    for (size_t offset = allocation->begin; offset != allocation->end;
         offset += segment.block_bytes) {
        if (offset == chunk_end) {
            chunk_end += chunk_bytes;
            home = (home + 1) % narthex_nodes();
        }
        segment.homes[offset >> segment.block_shift] = (uint16_t)home;
        allocation->protocol->begin(segment.start + offset, home);
    }
}

void *narthex_shared_allocate_under(const struct narthex_protocol *protocol, size_t bytes, int home,
                                    size_t chunk_bytes) {
    check_allocation(protocol, bytes, home, chunk_bytes);
    struct allocation *allocation = malloc(sizeof *allocation);
    narthex_check(allocation, "node %d has no memory left for narthex_shared_allocate",
                  narthex_node());
    size_t begin = segment.allocated;
    segment.allocated += round_up(bytes, segment.block_bytes);
    *allocation = (struct allocation){allocations, protocol, begin, segment.allocated};
    allocations = allocation;
    begin_blocks(allocation, home, chunk_bytes);
    narthex_barrier(); /* before anybody asks for a block that is not allocated yet */
    return segment.start + begin;
}

void *narthex_shared_allocate(size_t bytes, int home, size_t chunk_bytes) {
    return narthex_shared_allocate_under(&invalidation_protocol, bytes, home, chunk_bytes);
}

/* The allocation that has the byte at `offset`; NULL if none has. */
static const struct allocation *find_allocation(size_t offset) {
    const struct allocation *allocation = allocations;
    while (allocation && offset < allocation->begin)
        allocation = allocation->previous;
    return allocation && offset < allocation->end ? allocation : NULL;
}

static const struct allocation *owner_of(const void *address, const char *function) {
    segment_check_started(function);
    const struct allocation *allocation =
        find_allocation((size_t)((uintptr_t)address - (uintptr_t)segment.start));
    narthex_check(allocation,
                  "node %d calls %s for %p, a shared address that nobody owns: no "
                  "narthex_shared_allocate has returned it",
                  narthex_node(), function, address);
    return allocation;
}

int narthex_shared_home(const void *address) {
    owner_of(address, "narthex_shared_home");
    return segment.homes[segment_block(address)];
}

void narthex_set_tag(void *block, enum narthex_tag tag) {
    const struct allocation *allocation = owner_of(block, "narthex_set_tag");
    narthex_check(allocation->protocol != &invalidation_protocol,
                  "node %d calls narthex_set_tag for %p, whose tag the library's own protocol sets",
                  narthex_node(), block);
    narthex_check(
        (uintptr_t)block % segment.block_bytes == 0 && tag >= NARTHEX_TAG_NONE &&
            tag <= NARTHEX_TAG_WRITE,
        "node %d calls narthex_set_tag for %p and tag %d: allowed are the start of a block "
        "of %zu bytes, and the tags 0 to %d",
        narthex_node(), block, (int)tag, segment.block_bytes, NARTHEX_TAG_WRITE);
    segment_set_tag(segment_block(block), tag);
}

/* Faults */

static void check_fault(const struct allocation *allocation, uintptr_t address, const char *verb,
                        uintptr_t instruction) {
    narthex_check(allocation,
                  "node %d %s 0x%llx, a shared address that nobody owns: no "
                  "narthex_shared_allocate has returned it",
                  narthex_node(), verb, (unsigned long long)address);
    narthex_check(!is_sending(instruction),
                  "node %d passes shared memory at 0x%llx to narthex_send, and has no copy of the "
                  "block: send from memory of its own instead",
                  narthex_node(), (unsigned long long)address);
    narthex_check(!is_in_handler(),
                  "node %d %s shared memory at 0x%llx inside a handler, which cannot wait for the "
                  "block: access it outside of handlers",
                  narthex_node(), verb, (unsigned long long)address);
}

void segment_fault(uintptr_t address, bool is_store, uintptr_t instruction) {
    ENTER(ACTIVITY_SHARED_MEMORY);
    size_t offset = (size_t)(address - (uintptr_t)segment.start);
    const struct allocation *allocation = find_allocation(offset);
    check_fault(allocation, address, is_store ? "stores to" : "loads from", instruction);
    size_t block = offset >> segment.block_shift;
    int home = segment.homes[block];
    enum narthex_tag needed = is_store ? NARTHEX_TAG_WRITE : NARTHEX_TAG_READ;
    while (segment.tags[block] < needed) {
        allocation->protocol->fault(segment_address(block), home, is_store);
        if (segment.tags[block] < needed)
            poll_packet();
    }
    LEAVE();
}
