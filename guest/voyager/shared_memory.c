#include "voyager/shared_memory.h"

#include <errno.h>
#include <stdint.h>

#include "narthex.h"
#include "runtime/information.h"
#include "voyager/shared_memory_page.h"

enum { ALIGNMENT = 64, PAGE_BYTES = 4096 };

/* Where the shared memory of all regions begins and ends. */
static struct {
    uintptr_t start, end;
} space;

/* How many bytes the firmware has. */
static uint64_t ask(void) {
    uintptr_t page = (uintptr_t)narthex_information()->voyager_serviced;
    return *(volatile uint64_t *)(page + VOYAGER_SHARED_MEMORY_OFFSET);
}

int voyager_open_shared_memory(void **region, size_t bytes) {
    if (narthex_information()->voyager_kind == 0)
        return ENOENT;
    if (bytes == 0)
        return EINVAL;
    uint64_t available = ask();
    if (available == VOYAGER_SHARED_MEMORY_NONE)
        return ENOSYS;
    if (available == VOYAGER_SHARED_MEMORY_RANKS)
        return E2BIG;
    if (available == VOYAGER_SHARED_MEMORY_COMMANDS)
        return ENOBUFS;
    if (bytes > available)
        return ENOMEM;
    space.end =
        narthex_information()->voyager_snooped + narthex_information()->voyager_snooped_bytes;
    space.start = space.end - available;
    *region = (void *)((space.end - bytes) / ALIGNMENT * ALIGNMENT);
    return 0;
}

int voyager_home_of(const void *address) {
    return (int)(((uintptr_t)address - space.start) / PAGE_BYTES % (uintptr_t)narthex_nodes());
}
