/* The symmetric heap. Every PE makes the same calls with the same sizes, so each finds the same
 * place by itself: the first free block that is large enough. Where the interface writes remote
 * memory, a small part of the heap lies there and is taken first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "messaging/narthex.h"
#include "shmem/library.h"
#include "shmem/remote_stores.h"
#include "shmem/requests.h"

#define DEFAULT_BYTES ((size_t)32 << 20)
/* A quarter of the second-level cache of sarc-prototype: the rest is for data that are not shared.
 */
#define DEFAULT_SCRATCHPAD_BYTES ((size_t)16 << 10)

enum { ALIGNMENT = 16 };

/* Blocks without gaps, in ascending order. */
struct block {
    struct block *next;
    uintptr_t begin;
    size_t bytes;
    bool is_used;
};

static struct block *blocks[REGIONS];

static struct block *new_block(struct block *next, uintptr_t begin, size_t bytes) {
    struct block *block = malloc(sizeof *block);
    narthex_check(block, "PE %d has no memory left to keep account of its symmetric heap",
                  shmem_pe);
    *block = (struct block){next, begin, bytes, false};
    return block;
}

/* Start */

/* A size in the environment, such as 64M. */
static size_t size_in_environment(const char *name, size_t otherwise) {
    static const char units[] = "KMGT";
    const char *text = getenv(name);
    if (!text)
        return otherwise;
    char *end;
    double size = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end & ~('a' - 'A')) : NULL;
    if (unit)
        size *= (double)((size_t)1 << 10 * (unit - units + 1)), end += 1;
    narthex_check(end != text && !*end && size >= 0 && size < 0x1p62,
                  "the environment's %s is \"%s\"; expected a number of bytes, or of K, M, G or T "
                  "of them",
                  name, text);
    return (size_t)size;
}

static void start_region(int region, void *memory, size_t bytes) {
    shmem_regions[region] = (struct shmem_region){(uintptr_t)memory, bytes};
    if (bytes > 0)
        blocks[region] = new_block(NULL, (uintptr_t)memory, bytes);
}

void shmem_start_heap(void) {
    size_t near = size_in_environment("SHMEM_SCRATCHPAD_SIZE", DEFAULT_SCRATCHPAD_BYTES);
    size_t bytes = size_in_environment("SHMEM_SYMMETRIC_SIZE", DEFAULT_BYTES);
    void *scratchpad = remote_start(&near);
    start_region(SCRATCHPAD, scratchpad, near);
    bytes = bytes > near ? (bytes - near) / ALIGNMENT * ALIGNMENT : 0;
    if (bytes == 0)
        return;
    void *heap = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    narthex_check(heap != MAP_FAILED,
                  "PE %d has no %zu bytes for its symmetric heap: %s; the environment's "
                  "SHMEM_SYMMETRIC_SIZE may state less",
                  shmem_pe, bytes, strerror(errno));
    start_region(HEAP, heap, bytes);
}

/* Blocks */

/* Cuts the block in two behind `bytes` of it, if something is left there. */
static void split(struct block *block, size_t bytes) {
    if (block->bytes == bytes)
        return;
    block->next = new_block(block->next, block->begin + bytes, block->bytes - bytes);
    block->bytes = bytes;
}

static void *take_in(int region, size_t bytes, size_t alignment) {
    for (struct block *block = blocks[region]; block; block = block->next) {
        size_t gap = -block->begin & (alignment - 1);
        if (block->is_used || block->bytes < gap || block->bytes - gap < bytes)
            continue;
        if (gap > 0) {
            split(block, gap);
            block = block->next;
        }
        split(block, bytes);
        block->is_used = true;
        return (void *)block->begin;
    }
    return NULL;
}

static void *take(size_t bytes, size_t alignment) {
    if (bytes == 0 || bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *memory = take_in(SCRATCHPAD, whole, alignment);
    return memory ? memory : take_in(HEAP, whole, alignment);
}

static struct block *find(const char *function, const void *memory) {
    for (int region = HEAP; region < REGIONS; region++)
        for (struct block *block = blocks[region]; block; block = block->next)
            if (block->begin == (uintptr_t)memory && block->is_used)
                return block;
    shmem_refuse(function,
                 "for %p, which is not the beginning of memory that shmem_malloc has given and "
                 "shmem_free not taken",
                 memory);
}

static void join_free(void) {
    for (int region = HEAP; region < REGIONS; region++)
        for (struct block *block = blocks[region]; block && block->next;) {
            struct block *next = block->next;
            if (block->is_used || next->is_used) {
                block = next;
                continue;
            }
            block->bytes += next->bytes;
            block->next = next->next;
            free(next);
        }
}

/* Functions */

static void meet(const char *function, uint64_t number, const char *what) {
    shmem_requests_quiet();
    shmem_meet(function, SHMEM_TEAM_WORLD, number, what);
}

static void *allocate(const char *function, size_t bytes, size_t alignment, bool is_zero) {
    shmem_check_running(function);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        shmem_refuse(function, "with alignment %zu, which is not a power of two", alignment);
    void *memory = take(bytes, alignment < ALIGNMENT ? ALIGNMENT : alignment);
    if (memory && is_zero)
        memset(memory, 0, bytes);
    meet(function, bytes, "bytes");
    return memory;
}

void *shmem_malloc(size_t size) {
    return allocate(__func__, size, ALIGNMENT, false);
}

void *shmem_malloc_with_hints(size_t size, long hints) {
    (void)hints;
    return allocate(__func__, size, ALIGNMENT, false);
}

void *shmem_calloc(size_t count, size_t size) {
    return allocate(__func__, shmem_bytes(count, size), ALIGNMENT, true);
}

void *shmem_align(size_t alignment, size_t size) {
    return allocate(__func__, size, alignment, false);
}

void *shmem_realloc(void *ptr, size_t size) {
    shmem_check_running(__func__);
    struct block *before = ptr ? find(__func__, ptr) : NULL;
    meet(__func__, size, "bytes");
    void *memory = take(size, ALIGNMENT);
    if (memory && before)
        memcpy(memory, ptr, before->bytes < size ? before->bytes : size);
    if (before && (memory || size == 0)) {
        before->is_used = false;
        join_free();
    }
    meet(__func__, size, "bytes");
    return memory;
}

void shmem_free(void *ptr) {
    shmem_check_running(__func__);
    if (!ptr)
        return;
    struct block *block = find(__func__, ptr);
    meet(__func__, shmem_place(__func__, ptr, 1), "as the place of its memory");
    block->is_used = false;
    join_free();
}
