/* Test patterns: payloads whose every byte depends on a key (a round, a message's number) and on
 * its place, so that a lost, stale, doubled or misplaced byte is noticed. */
#ifndef NARTHEX_PROGRAMS_PATTERN_H
#define NARTHEX_PROGRAMS_PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "narthex.h"

/* The doubleword at `index`, by a step of splitmix64. */
static inline uint64_t pattern_word(uint64_t key, size_t index) {
    uint64_t value = (key << 24 | index) * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return value ^ value >> 27;
}

static inline void pattern_fill(void *payload, size_t bytes, uint64_t key) {
    char *target = (char *)payload;
    for (size_t index = 0; index < bytes; index += 8) {
        uint64_t word = pattern_word(key, index / 8);
        memcpy(target + index, &word, bytes - index < 8 ? bytes - index : 8);
    }
}

/* Fails unless every byte of the payload is that of the pattern. */
static inline void pattern_check(const void *payload, size_t bytes, uint64_t key) {
    const char *source = (const char *)payload;
    for (size_t index = 0; index < bytes; index += 8) {
        uint64_t word = pattern_word(key, index / 8);
        size_t length = bytes - index < 8 ? bytes - index : 8;
        narthex_check(memcmp(source + index, &word, length) == 0,
                      "node %d: message %llu of %zu bytes is wrong in the bytes from %zu on",
                      narthex_node(), (unsigned long long)key, bytes, index);
    }
}

/* The next number of a small pseudo-random generator (xorshift64); the state is never 0. */
static inline uint64_t random_next(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A state for a seed and a node. */
static inline uint64_t random_start(uint64_t seed, int node) {
    return pattern_word(seed, (size_t)node) | 1;
}

#endif
