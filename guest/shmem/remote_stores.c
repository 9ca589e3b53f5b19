#include "shmem/remote_stores.h"

#include <stdbool.h>
#include <string.h>

#include "messaging/narthex.h"
#include "runtime/information.h"
#include "shmem/library.h"

#ifdef __riscv
#include "sarc/sarc.h"

/* These are in programs that are linked for SARC alone, and called in those alone. */
#pragma weak sarc_allocate
#pragma weak sarc_register
#pragma weak sarc_mark
#pragma weak sarc_make_counter

/* Fewer are loaded and stored: a command is four stores, and its end an acknowledgement. */
enum { LEAST_COPIED_BYTES = 64 };

static char *own_begin;
static unsigned tiles_of_process;
static uint64_t *command, *written; /* a buffer, and a counter of what its copies have written */
static int64_t copied;              /* bytes, since the counter was 0 */

void *remote_start(size_t *bytes) {
    size_t lines = *bytes / SARC_LINE_BYTES;
    *bytes = 0;
    if (narthex_information()->send_driver != DRIVER_SARC || !(command = sarc_allocate(2)))
        return NULL;
    written = command + SARC_LINE_WORDS;
    sarc_mark(command, SARC_ROLE_COMMAND);
    sarc_make_counter(written, 0, 0, 0, NULL, 0);
    while (lines > 0 && !(own_begin = (char *)sarc_allocate((unsigned)lines)))
        lines -= (lines + 15) / 16;
    tiles_of_process = (unsigned)sarc_register(SARC_REGISTER_TILES_OF_PROCESS);
    *bytes = lines * SARC_LINE_BYTES;
    return own_begin;
}

/* A PE is on the first tile of its process, and all are on one chip (messaging/driver_sarc.c). */
void *remote_address(int pe, uint64_t place) {
    intptr_t tiles = ((intptr_t)pe - shmem_pe) * (intptr_t)tiles_of_process;
    return (char *)shmem_address(place) + tiles * (intptr_t)SARC_WINDOW_BYTES;
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

/* Copies */

static bool is_copied(const void *own, size_t bytes) {
    size_t offset = (uintptr_t)own - shmem_regions[SCRATCHPAD].begin;
    return bytes >= LEAST_COPIED_BYTES && offset < shmem_regions[SCRATCHPAD].bytes;
}

static void await_copies(void) {
    if (copied == 0)
        return;
    while (sarc_value(written) != copied)
        ;
    sarc_add(written, -copied);
    copied = 0;
}

static void copy_bytes(char *to, const char *from, size_t bytes, enum shmem_completion completion) {
    while (bytes > 0) {
        size_t part = bytes < SARC_COPY_BYTES ? bytes : SARC_COPY_BYTES;
        while (!sarc_command_is_free(command))
            ;
        sarc_copy(command, to, from, part, written);
        copied += (int64_t)part;
        to += part;
        from += part;
        bytes -= part;
    }
    if (completion == BLOCKING)
        await_copies();
}

/* Puts and gets */

void remote_put(int pe, uint64_t place, const void *source, size_t bytes,
                enum shmem_completion completion) {
    char *to = remote_address(pe, place);
    if (is_copied(source, bytes))
        copy_bytes(to, source, bytes, completion);
    else
        store_element(to, source, bytes);
}

void remote_get(int pe, uint64_t place, void *dest, size_t bytes,
                enum shmem_completion completion) {
    const char *from = remote_address(pe, place);
    if (is_copied(dest, bytes))
        copy_bytes(dest, from, bytes, completion);
    else
        load_bytes(dest, from, bytes);
}

void remote_put_strided(int pe, uint64_t place, ptrdiff_t step, const void *source,
                        ptrdiff_t own_step, size_t width, size_t count) {
    char *to = remote_address(pe, place);
    const char *from = source;
    for (; count > 0; count--, to += step, from += own_step)
        store_element(to, from, width);
}

void remote_get_strided(int pe, uint64_t place, ptrdiff_t step, void *dest, ptrdiff_t own_step,
                        size_t width, size_t count) {
    const char *from = remote_address(pe, place);
    char *to = dest;
    for (; count > 0; count--, to += own_step, from += step)
        load_bytes(to, from, width);
}

/* Also for what the program itself has stored (shmem_ptr). */
void remote_fence(void) {
    if (!own_begin)
        return;
    await_copies();
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

void remote_put(int pe, uint64_t place, const void *source, size_t bytes,
                enum shmem_completion completion) {
    (void)pe, (void)place, (void)source, (void)bytes, (void)completion;
}

void remote_get(int pe, uint64_t place, void *dest, size_t bytes,
                enum shmem_completion completion) {
    (void)pe, (void)place, (void)dest, (void)bytes, (void)completion;
}

void remote_put_strided(int pe, uint64_t place, ptrdiff_t step, const void *source,
                        ptrdiff_t own_step, size_t width, size_t count) {
    (void)pe, (void)place, (void)step, (void)source, (void)own_step, (void)width, (void)count;
}

void remote_get_strided(int pe, uint64_t place, ptrdiff_t step, void *dest, ptrdiff_t own_step,
                        size_t width, size_t count) {
    (void)pe, (void)place, (void)step, (void)dest, (void)own_step, (void)width, (void)count;
}

void remote_fence(void) {}

#endif
