#include "shmem/remote_stores.h"

#include <string.h>

#include "messaging/narthex.h"
#include "runtime/information.h"
#include "shmem/library.h"

#ifdef __riscv
#include "sarc/sarc.h"

/* These are in programs that are linked for SARC alone, and called in those alone. */
#pragma weak sarc_allocate
#pragma weak sarc_register
#pragma weak sarc_remote

static char *own_begin;
static uintptr_t tile_bytes; /* from one tile's scratchpad to the next one's */
static unsigned own_tile, tiles_of_process;

void *remote_start(size_t *bytes) {
    size_t lines = *bytes / SARC_LINE_BYTES;
    *bytes = 0;
    if (narthex_information()->send_driver != DRIVER_SARC)
        return NULL;
    while (lines > 0 && !(own_begin = (char *)sarc_allocate((unsigned)lines)))
        lines -= (lines + 15) / 16;
    own_tile = (unsigned)sarc_register(SARC_REGISTER_TILE);
    tiles_of_process = (unsigned)sarc_register(SARC_REGISTER_TILES_OF_PROCESS);
    tile_bytes = SARC_WINDOW_BYTES;
    *bytes = lines * SARC_LINE_BYTES;
    return own_begin;
}

/* A PE is on the first tile of its process, and all are on one chip (messaging/driver_sarc.c). */
void *remote_address(int pe, uint64_t place) {
    intptr_t tiles = ((intptr_t)pe - shmem_pe) * (intptr_t)tiles_of_process;
    return (char *)shmem_address(place) + tiles * (intptr_t)tile_bytes;
}

/* Bytes go as doublewords as far as the scratchpad's alignment allows. */
static void store_bytes(volatile char *to, const char *from, size_t bytes) {
    for (; bytes > 0 && (uintptr_t)to % sizeof(uint64_t) != 0; bytes--)
        *to++ = *from++;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, from, sizeof word);
        sarc_store((volatile uint64_t *)to, word);
        to += sizeof word;
        from += sizeof word;
    }
    for (; bytes > 0; bytes--)
        *to++ = *from++;
}

static void load_bytes(char *to, const volatile char *from, size_t bytes) {
    for (; bytes > 0 && (uintptr_t)from % sizeof(uint64_t) != 0; bytes--)
        *to++ = *from++;
    for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t)) {
        uint64_t word = sarc_load((const volatile uint64_t *)from);
        memcpy(to, &word, sizeof word);
        to += sizeof word;
        from += sizeof word;
    }
    for (; bytes > 0; bytes--)
        *to++ = *from++;
}

/* One element is stored at once, whatever its size, if it is aligned. */
static void store_element(char *to, const char *from, size_t width) {
    if (width == sizeof(uint32_t) && (uintptr_t)to % sizeof(uint32_t) == 0) {
        uint32_t word;
        memcpy(&word, from, sizeof word);
        sarc_store_32((volatile uint32_t *)to, word);
    } else if (width == sizeof(uint16_t) && (uintptr_t)to % sizeof(uint16_t) == 0) {
        uint16_t half;
        memcpy(&half, from, sizeof half);
        *(volatile uint16_t *)to = half;
    } else {
        store_bytes(to, from, width);
    }
}

void remote_put(int pe, uint64_t place, ptrdiff_t step, const void *source, ptrdiff_t own_step,
                size_t width, size_t count) {
    char *to = remote_address(pe, place);
    const char *from = source;
    for (; count > 0; count--, to += step, from += own_step)
        store_element(to, from, width);
}

void remote_get(int pe, uint64_t place, ptrdiff_t step, void *dest, ptrdiff_t own_step,
                size_t width, size_t count) {
    const char *from = remote_address(pe, place);
    char *to = dest;
    for (; count > 0; count--, to += own_step, from += step)
        load_bytes(to, from, width);
}

/* Also for what the program itself has stored (shmem_ptr). */
void remote_fence(void) {
    if (own_begin)
        sarc_fence();
}

#else /* natively there is one PE */

void *remote_start(size_t *bytes) {
    *bytes = 0;
    return NULL;
}

void *remote_address(int pe, uint64_t place) {
    (void)pe;
    return shmem_address(place);
}

void remote_put(int pe, uint64_t place, ptrdiff_t step, const void *source, ptrdiff_t own_step,
                size_t width, size_t count) {
    (void)pe, (void)place, (void)step, (void)source, (void)own_step, (void)width, (void)count;
}

void remote_get(int pe, uint64_t place, ptrdiff_t step, void *dest, ptrdiff_t own_step,
                size_t width, size_t count) {
    (void)pe, (void)place, (void)step, (void)dest, (void)own_step, (void)width, (void)count;
}

void remote_fence(void) {}

#endif
