/* malloc for programs with threads: that of runtime/allocator.c, by one thread at a time. `narthex
 * cc` lets the calls of a program that starts threads come here (the linker's --wrap); to all other
 * programs this costs nothing. */
#ifdef __riscv

#include <stdatomic.h>
#include <stddef.h>

#include "runtime/marker.h"

/* The thread that allocates, by its thread pointer, and how deep its calls are: these functions
 * call each other. */
static _Atomic(void *) owner;
static int depth;

static int take(void *self) {
    void *nobody = NULL;
    return atomic_compare_exchange_strong_explicit(&owner, &nobody, self, memory_order_acquire,
                                                   memory_order_relaxed);
}

static void acquire(void) {
    void *self = __builtin_thread_pointer();
    if (atomic_load_explicit(&owner, memory_order_relaxed) != self && !take(self)) {
        ENTER(ACTIVITY_SYNCHRONISATION);
        do {
            while (atomic_load_explicit(&owner, memory_order_relaxed))
                ;
        } while (!take(self));
        LEAVE();
    }
    depth++;
}

static void release(void) {
    if (--depth == 0)
        atomic_store_explicit(&owner, NULL, memory_order_release);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__real_memalign(size_t alignment, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
void __real_free(void *memory);

void *__wrap_malloc(size_t bytes) {
    acquire();
    void *memory = __real_malloc(bytes);
    release();
    return memory;
}

void *__wrap_calloc(size_t count, size_t bytes) {
    acquire();
    void *memory = __real_calloc(count, bytes);
    release();
    return memory;
}

void *__wrap_realloc(void *memory, size_t bytes) {
    acquire();
    void *larger = __real_realloc(memory, bytes);
    release();
    return larger;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    acquire();
    void *memory = __real_aligned_alloc(alignment, bytes);
    release();
    return memory;
}

void *__wrap_memalign(size_t alignment, size_t bytes) {
    acquire();
    void *memory = __real_memalign(alignment, bytes);
    release();
    return memory;
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
    acquire();
    int result = __real_posix_memalign(memory, alignment, bytes);
    release();
    return result;
}

void __wrap_free(void *memory) {
    acquire();
    __real_free(memory);
    release();
}

#endif
