/* Copying between user memory and packets.
 *
 * The papers' HyperSPARC is a 32-bit processor, so memory is copied word by word, 4 bytes at a
 * time. The loop is written out because a library's memcpy would be whatever the compiler ships,
 * and the copy is a large part of what the papers measured. */
#ifndef NARTHEX_MESSAGING_COPY_H
#define NARTHEX_MESSAGING_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words and doublewords that may alias data of any type. */
#ifdef __GNUC__
typedef uint32_t __attribute__((may_alias)) word;
typedef uint64_t __attribute__((may_alias)) doubleword;
#else
typedef uint32_t word;
typedef uint64_t doubleword;
#endif

/* What was written above is not moved below, nor the other way. */
#define COMPILER_BARRIER() __asm__ volatile("" ::: "memory")

/* Copies `bytes` bytes in ascending order. */
static inline void copy(void *to, const void *from, size_t bytes) {
    char *target = (char *)to;
    const char *source = (const char *)from;
    const char *end = source + bytes;
    if (((uintptr_t)target | (uintptr_t)source) % sizeof(word) == 0) {
        const char *last_word = source + bytes / sizeof(word) * sizeof(word);
        while (source != last_word) {
            *(volatile word *)target = *(const word *)source;
            source += sizeof(word);
            target += sizeof(word);
        }
    }
    while (source != end)
        *target++ = *source++;
}

#endif
