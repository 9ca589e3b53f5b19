/* The time of a load from an array of a given size, each from the address that the one before has
 * loaded, as lat_mem_rd of lmbench measures it (McVoy and Staelin, "lmbench: Portable Tools for
 * Performance Analysis", USENIX 1996), in an order that no prefetcher follows.
 *
 *     chase [BYTES [PLACE [LOADS]]]          by default 32768 bytes, own, 20000 loads
 *
 * PLACE is own, far-memory (kept by this socket's last level), other-socket or cxl-memory. See
 * README.md. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../arguments.h"

enum { BLOCK_BYTES = 64, FACTORS = 12, UNROLLED = 8 };

/* The windows of addresses whose memory is at another socket (memory/src/sockets.rs), and behind
 * CXL (memory/src/interconnects/cxl/expander.rs). */
static const struct place {
    const char *name;
    uintptr_t address;
} PLACES[] = {
    {"own", (uintptr_t)32 << 30},
    {"far-memory", (uintptr_t)64 << 30},
    {"other-socket", (uintptr_t)80 << 30},
    {"cxl-memory", (uintptr_t)96 << 30},
};
enum { PLACE_COUNT = sizeof PLACES / sizeof *PLACES };

struct block {
    struct block *next;
    char rest[BLOCK_BYTES - sizeof(struct block *)];
};

static const struct place *place_named(const char *name) {
    for (int place = 0; place < PLACE_COUNT; place++)
        if (!strcmp(name, PLACES[place].name))
            return &PLACES[place];
    narthex_check(0, "\"%s\" is no place; there are own, far-memory, other-socket and cxl-memory",
                  name);
    return NULL;
}

/* Links all blocks to one cycle. The next of block i is a * i + c modulo their number, which has
 * one cycle if a - 1 is a multiple of its prime factors, and of 4, and c has none of them (Hull and
 * Dobell, "Random Number Generators", SIAM Review 1962). */
static void link(struct block *blocks, uint64_t count) {
    uint64_t multiplier = count * 5 / 13 / FACTORS * FACTORS + 1, increment = count / 3;
    while (increment % 2 == 0 || increment % 3 == 0)
        increment++;
    for (uint64_t block = 0; block < count; block++)
        blocks[block].next = &blocks[(multiplier * block + increment) % count];
}

/* So many loads, a multiple of UNROLLED; where they have led. */
static struct block *follow(struct block *at, uint64_t loads) {
    for (; loads; loads -= UNROLLED) {
        at = at->next->next->next->next;
        at = at->next->next->next->next;
    }
    return at;
}

/* The whole cycle once: it fills the caches, and shows that it has every block. */
static void follow_all(struct block *first, uint64_t count) {
    uint64_t steps = 0;
    struct block *at = first;
    do
        at = at->next, steps++;
    while (at != first && steps <= count);
    narthex_check(steps == count, "the cycle has %llu of %llu blocks", (unsigned long long)steps,
                  (unsigned long long)count);
}

int main(int argc, char **argv) {
    long bytes = argument(argc, argv, 1, "bytes", UNROLLED * BLOCK_BYTES, 1L << 31, 32 << 10);
    const struct place *place = place_named(argc > 2 ? argv[2] : "own");
    long loads = argument(argc, argv, 3, "loads", UNROLLED, 1 << 30, 20000) / UNROLLED * UNROLLED;
    uint64_t count = (uint64_t)bytes / BLOCK_BYTES, odd = count;
    while (odd % 2 == 0)
        odd /= 2;
    while (odd % 3 == 0)
        odd /= 3;
    narthex_check(odd == 1, "%ld bytes are not 64 times a product of twos and threes", bytes);
    struct block *blocks = mmap((void *)place->address, (size_t)bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    narthex_check(blocks != MAP_FAILED, "there is no memory for %ld bytes", bytes);
    link(blocks, count);
    follow_all(blocks, count);
    narthex_barrier();
    narthex_region_begin("main");
    uint64_t start_ns = narthex_time_ns();
    struct block *end = follow(blocks, (uint64_t)loads);
    uint64_t elapsed_ns = narthex_time_ns() - start_ns;
    narthex_region_end("main");
    if (narthex_node() == 0) {
        narthex_report("load", (double)elapsed_ns / (double)loads, "ns");
        narthex_report("last block", (double)(end - blocks), "");
    }
    narthex_barrier();
    return 0;
}
