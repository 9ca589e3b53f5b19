/* Latencies of requests, counted in buckets as HdrHistogram's (Gil Tene): exact below 256 ns, and
 * beyond in 128 buckets for each power of two. A percentile is the largest latency of its bucket:
 * at most 0.8 % (1/128) above the exact one, never below. Count, mean, least and most are exact.
 *
 *     static struct narthex_latencies latencies;
 *     narthex_latency_add(&latencies, arrival_ns - due_ns);
 *     ...
 *     narthex_latencies_gather(&latencies);
 *     narthex_latencies_report(&latencies, "latency");
 *
 * An addition takes some 20 instructions and touches one counter; few distinct latencies are few
 * cache blocks. */
#ifndef NARTHEX_MESSAGING_LATENCIES_H
#define NARTHEX_MESSAGING_LATENCIES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    NARTHEX_EXACT_LATENCIES = 256,
    NARTHEX_BUCKETS_PER_OCTAVE = NARTHEX_EXACT_LATENCIES / 2,
    NARTHEX_LATENCY_BITS = 40, /* longer ones, from 18 minutes on, are in the last bucket */
    NARTHEX_LATENCY_BUCKETS = NARTHEX_EXACT_LATENCIES +
        (NARTHEX_LATENCY_BITS - 8) * NARTHEX_BUCKETS_PER_OCTAVE
};

/* A distribution; one of zeros is empty. Times are in ns. */
struct narthex_latencies {
    int64_t count, sum_ns, least_ns, most_ns;
    int64_t buckets[NARTHEX_LATENCY_BUCKETS];
};

/* Counts a latency. */
void narthex_latency_add(struct narthex_latencies *latencies, uint64_t latency_ns);

/* A collective (collectives.h): adds what all nodes have counted up, on node 0. */
void narthex_latencies_gather(struct narthex_latencies *latencies);

/* The latency that `share` of 10,000 do not exceed: 5,000 for the median, 9,999 for p99.99. None
 * may be empty. */
uint64_t narthex_latency_at(const struct narthex_latencies *latencies, int share);

/* Reports "NAME, p50", p90, p99, p99.9 and p99.99 in ns, each if at least one latency lies beyond
 * it: p99.99 of 10,000 latencies or more. Then mean, minimum and maximum. */
void narthex_latencies_report(const struct narthex_latencies *latencies, const char *name);

#ifdef __cplusplus
}
#endif

#endif
