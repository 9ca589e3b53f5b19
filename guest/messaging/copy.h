/* Copying between user memory and packets.
 *
 * The papers' HyperSPARC is a 32-bit processor, so memory is copied word by word, 4 bytes at a
 * time, and four words a turn of the loop, as a copying routine for it would be written: its loads
 * then do not wait for each other. (Two caches on one bus can copy 144 MB/s if a block takes 230 ns
 * to cross, says cni-isca96 Section 5.1.2: 43 cycles of a 200 MHz processor for the copy of 64
 * bytes, hardly more than its 32 loads and stores.) The loop is written out because a library's
 * memcpy would be whatever the compiler ships, and the copy is a large part of what the papers
 * measured. */
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

#define FOUR_WORDS_BYTES (4 * sizeof(word))

/* The words of a packet may be read by a device: the compiler must not merge their stores. */
static inline void copy_four_words(char *target, const char *source) {
    const word *from = (const word *)source;
    volatile word *to = (volatile word *)target;
    word first = from[0], second = from[1], third = from[2], fourth = from[3];
    to[0] = first;
    to[1] = second;
    to[2] = third;
    to[3] = fourth;
}

/* Copies `bytes` bytes in ascending order. */
static inline void copy(void *to, const void *from, size_t bytes) {
    char *target = (char *)to;
    const char *source = (const char *)from;
    const char *end = source + bytes;
    if (((uintptr_t)target | (uintptr_t)source) % sizeof(word) == 0) {
        const char *last_four = source + bytes / FOUR_WORDS_BYTES * FOUR_WORDS_BYTES;
        for (; source != last_four; source += FOUR_WORDS_BYTES, target += FOUR_WORDS_BYTES)
            copy_four_words(target, source);
        const char *last_word = end - bytes % sizeof(word);
        for (; source != last_word; source += sizeof(word), target += sizeof(word))
            *(volatile word *)target = *(const word *)source;
    }
    while (source != end)
        *target++ = *source++;
}

#endif
