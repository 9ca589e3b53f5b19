/* malloc on the simulated processors: the heap by colours (runtime/colours.h).
 *
 * Allocations stand one behind the other, each with a header in front, and skip the colours that
 * belong to others. What is freed waits on a list of its size class, a power of two, and is handed
 * out again whole; memory is never split, joined or returned. A C library's allocator takes memory
 * by slabs, whose colours are what the slab's address happens to give. Natively it is the host's.
 */
#ifdef __riscv

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/colours.h"

enum { CLASSES = 64, SMALLEST_BYTES = 16, BLOCK_BYTES = 64, PAGE_BYTES = 4096 };

/* In front of the memory. */
struct header {
    size_t bytes;        /* behind it */
    struct header *next; /* in the list, when it is free */
};

static struct header *spare[CLASSES];
static uintptr_t heap_next, heap_end;

static int class_of(size_t bytes) {
    return 63 - __builtin_clzll(bytes);
}

static uintptr_t set_break(uintptr_t address) {
    return (uintptr_t)syscall(SYS_brk, address);
}

/* Whether the heap reaches to `end`. */
static int grow(uintptr_t end) {
    if (end > heap_end)
        heap_end = set_break((end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    return end <= heap_end;
}

/* Where the heap meets something else, for example what is shared. */
static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void *extend(size_t bytes, size_t alignment) {
    size_t front = alignment > sizeof(struct header) ? alignment : sizeof(struct header);
    if (bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 4)
        return NULL;
    if (heap_end == 0)
        heap_next = heap_end = set_break(0);
    uintptr_t start = colours_place(heap_next, front + bytes, alignment);
    if (grow(start + front + bytes)) {
        heap_next = start + front + bytes;
    } else {
        start = (uintptr_t)map(front + bytes + alignment);
        if (start == 0)
            return NULL;
        start = (start + alignment - 1) / alignment * alignment;
    }
    struct header *header = (struct header *)(start + front) - 1;
    header->bytes = bytes;
    return header + 1;
}

/* A free one that is large enough, off its list. */
static void *reuse(size_t bytes) {
    for (int list = class_of(bytes); list <= class_of(bytes) + 1; list++)
        for (struct header **link = &spare[list]; *link; link = &(*link)->next) {
            struct header *header = *link;
            if (header->bytes < bytes)
                continue;
            *link = header->next;
            return header + 1;
        }
    return NULL;
}

static void *refuse(void) {
    errno = ENOMEM;
    return NULL;
}

static size_t rounded(size_t bytes) {
    size_t unit = bytes < BLOCK_BYTES ? SMALLEST_BYTES : BLOCK_BYTES;
    return bytes == 0 ? SMALLEST_BYTES : (bytes + unit - 1) / unit * unit;
}

void *malloc(size_t bytes) {
    if (bytes > SIZE_MAX / 4)
        return refuse();
    size_t capacity = rounded(bytes);
    void *memory = reuse(capacity);
    if (!memory)
        memory = extend(capacity, capacity < BLOCK_BYTES ? SMALLEST_BYTES : BLOCK_BYTES);
    return memory ? memory : refuse();
}

void free(void *memory) {
    if (!memory)
        return;
    struct header *header = (struct header *)memory - 1;
    struct header **list = &spare[class_of(header->bytes)];
    header->next = *list;
    *list = header;
}

void *calloc(size_t count, size_t bytes) {
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all))
        return refuse();
    void *memory = malloc(all);
    return memory ? memset(memory, 0, all) : NULL;
}

void *realloc(void *memory, size_t bytes) {
    size_t held = memory ? ((struct header *)memory - 1)->bytes : 0;
    if (held > 0 && bytes <= held)
        return memory;
    void *larger = malloc(bytes);
    if (larger && memory)
        memcpy(larger, memory, held);
    if (larger)
        free(memory);
    return larger;
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        errno = EINVAL;
        return NULL;
    }
    if (alignment <= SMALLEST_BYTES)
        return malloc(bytes);
    void *memory = bytes > SIZE_MAX / 4 ? NULL : extend(rounded(bytes), alignment);
    return memory ? memory : refuse();
}

void *memalign(size_t alignment, size_t bytes) {
    return aligned_alloc(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    int before = errno;
    void *made = aligned_alloc(alignment, bytes);
    int result = made ? 0 : errno;
    errno = before;
    if (made)
        *memory = made;
    return result;
}

size_t malloc_usable_size(void *memory) {
    return memory ? ((struct header *)memory - 1)->bytes : 0;
}

#endif
