/* Self-checking arithmetic: integers, doubles, singles, memory and printf. A simulated run must
 * print what a native one prints. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "narthex.h"

enum { COUNT = 2000 };

static uint64_t integers(void) {
    uint64_t sum = 1;
    for (uint64_t index = 1; index < COUNT; index++) {
        sum = sum * 6364136223846793005u + index;
        sum ^= sum >> 33 ^ (uint64_t)((int64_t)sum / (int64_t)(index + 7)) % 1000003;
        sum += (uint64_t)(((unsigned __int128)sum * index) >> 64);
    }
    return sum;
}

static double doubles(void) {
    double sum = 0;
    for (int index = 1; index < COUNT; index++)
        sum += sqrt((double)index) / (1.0 + 1.0 / index) - (double)(float)index * 0.5f;
    return sum;
}

static float singles(void) {
    float product = 1;
    for (int index = 1; index < COUNT; index++)
        product = product * 1.0009765625f - (float)index / 65536.0f;
    return product;
}

static int ascending(const void *first, const void *second) {
    uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;
    return (a > b) - (a < b);
}

static uint64_t sorting(void) {
    uint32_t *values = malloc(COUNT * sizeof *values);
    narthex_check(values, "no memory for %d numbers", COUNT);
    uint32_t state = 12345;
    for (int index = 0; index < COUNT; index++)
        values[index] = state = state * 1664525u + 1013904223u;
    qsort(values, COUNT, sizeof *values, ascending);
    uint64_t sum = 0;
    for (int index = 0; index < COUNT; index++)
        sum = sum * 31 + values[index];
    free(values);
    return sum;
}

int main(void) {
    printf("integers %016llx\n", (unsigned long long)integers());
    printf("doubles %.17g %a\n", doubles(), doubles());
    printf("singles %.9g\n", (double)singles());
    printf("sorting %016llx\n", (unsigned long long)sorting());
    return 0;
}
