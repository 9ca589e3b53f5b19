/* Ranks that follow Zipf's law: of `count` ranks, rank r (from 1 on) is drawn with a chance in
 * proportion to 1 / r^s. The exponent s is given in hundredths; 99 is what YCSB uses (Cooper et
 * al., "Benchmarking Cloud Serving Systems with YCSB", SoCC 2010).
 *
 * Draws invert the exact distribution: a table of the chances up to each rank is made before the
 * run, and a draw looks a random number up in it. The table has the same bits natively and on the
 * simulated machine, because nothing but additions, multiplications and divisions makes it, which
 * are rounded alike everywhere (exact.h); a C library's pow is not. */
#ifndef NARTHEX_PROGRAMS_ZIPF_H
#define NARTHEX_PROGRAMS_ZIPF_H

#include "exact.h"

#include <stdlib.h>

#include "pattern.h"

#define ZIPF_LOG_2 0.69314718055994530942

enum { ZIPF_TERMS = 20 }; /* enough for all bits of a double */

struct zipf {
    uint64_t *up_to; /* of rank r, in 2^-53: the chance of the ranks up to it */
    size_t count;
};

/* The natural logarithm of a number from 1 on: of 2^k * m, with m between 2/3 and 4/3, k log 2 and
 * twice the series of the inverse hyperbolic tangent of (m - 1) / (m + 1). */
static inline double zipf_log(double number) {
    double power = 0;
    for (; number > 4.0 / 3; number /= 2)
        power += 1;
    double ratio = (number - 1) / (number + 1), square = ratio * ratio, sum = 0;
    for (int term = ZIPF_TERMS; term-- > 0;)
        sum = sum * square + 1.0 / (2 * term + 1);
    return power * ZIPF_LOG_2 + 2 * ratio * sum;
}

/* e to the power -`number`, which is 0 or more: halves for the multiples of log 2, a series for the
 * rest. */
static inline double zipf_exp_of_minus(double number) {
    double scale = 1;
    for (; number > ZIPF_LOG_2; number -= ZIPF_LOG_2)
        scale /= 2;
    double sum = 1;
    for (int term = ZIPF_TERMS; term > 0; term--)
        sum = 1 - sum * number / term;
    return sum * scale;
}

/* Makes the table for ranks 0 to `count` - 1, of which 0 is the most frequent. */
static inline void zipf_make(struct zipf *zipf, size_t count, long hundredths) {
    double exponent = (double)hundredths / 100, sum = 0, total = 0;
    double *chances = malloc(count * sizeof *chances);
    zipf->up_to = malloc(count * sizeof *zipf->up_to);
    zipf->count = count;
    narthex_check(chances && zipf->up_to, "node %d has no memory for %zu ranks", narthex_node(),
                  count);
    for (size_t rank = 0; rank < count; rank++)
        total += chances[rank] = zipf_exp_of_minus(exponent * zipf_log((double)(rank + 1)));
    for (size_t rank = 0; rank < count; rank++) {
        sum += chances[rank];
        zipf->up_to[rank] = (uint64_t)(sum / total * 0x1p53);
    }
    zipf->up_to[count - 1] = UINT64_C(1) << 53;
    free(chances);
}

/* The rank of a random number: the first one whose chances up to it exceed it. */
static inline size_t zipf_rank(const struct zipf *zipf, uint64_t random) {
    size_t first = 0, last = zipf->count - 1;
    random >>= 11;
    while (first < last) {
        size_t middle = (first + last) / 2;
        if (zipf->up_to[middle] > random)
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

#endif
