/* Misses with write-backs, one after the other: it stores to each block of an array that is far
 * larger than the cache.
 *
 *     misses TURNS        how often it goes through the array */
#include <stdlib.h>

enum { BYTES = 4 << 20, BLOCK_BYTES = 64 };

static volatile long words[BYTES / sizeof(long)];

int main(int count, char **values) {
    long turns = count > 1 ? atol(values[1]) : 1;
    for (long turn = 0; turn < turns; turn++)
        for (size_t word = 0; word < BYTES / sizeof(long); word += BLOCK_BYTES / sizeof(long))
            words[word] = turn;
    return 0;
}
