/* Latencies in buckets (latencies.h). */
#include "messaging/latencies.h"

#include <stdio.h>

#include "messaging/collectives.h"
#include "messaging/narthex.h"

enum { EXACT_BITS = 8, SHARES = 10000 };

static int bucket_of(uint64_t latency_ns) {
    if (latency_ns < NARTHEX_EXACT_LATENCIES)
        return (int)latency_ns;
    int octave = 63 - __builtin_clzll(latency_ns);
    if (octave >= NARTHEX_LATENCY_BITS)
        return NARTHEX_LATENCY_BUCKETS - 1;
    int within = (int)(latency_ns >> (octave - EXACT_BITS + 1)) - NARTHEX_BUCKETS_PER_OCTAVE;
    return NARTHEX_EXACT_LATENCIES + (octave - EXACT_BITS) * NARTHEX_BUCKETS_PER_OCTAVE + within;
}

/* The largest latency that a bucket counts. */
static uint64_t end_of(int bucket) {
    if (bucket < NARTHEX_EXACT_LATENCIES)
        return (uint64_t)bucket;
    int beyond = bucket - NARTHEX_EXACT_LATENCIES;
    int shift = beyond / NARTHEX_BUCKETS_PER_OCTAVE + 1;
    uint64_t within = (uint64_t)(beyond % NARTHEX_BUCKETS_PER_OCTAVE + NARTHEX_BUCKETS_PER_OCTAVE);
    return ((within + 1) << shift) - 1;
}

void narthex_latency_add(struct narthex_latencies *latencies, uint64_t latency_ns) {
    int64_t latency = (int64_t)latency_ns;
    if (!latencies->count || latency < latencies->least_ns)
        latencies->least_ns = latency;
    if (latency > latencies->most_ns)
        latencies->most_ns = latency;
    latencies->count += 1;
    latencies->sum_ns += latency;
    latencies->buckets[bucket_of(latency_ns)] += 1;
}

void narthex_latencies_gather(struct narthex_latencies *latencies) {
    int64_t ends[2] = {latencies->count ? latencies->least_ns : INT64_MAX, -latencies->most_ns};
    narthex_all_reduce(ends, 2, NARTHEX_INT64, NARTHEX_MINIMUM);
    latencies->least_ns = ends[0];
    latencies->most_ns = -ends[1];
    narthex_reduce(0, &latencies->count, 1, NARTHEX_INT64, NARTHEX_SUM);
    narthex_reduce(0, &latencies->sum_ns, 1, NARTHEX_INT64, NARTHEX_SUM);
    int first = bucket_of((uint64_t)ends[0]), last = bucket_of((uint64_t)-ends[1]);
    if (first <= last) /* somebody has counted one */
        narthex_reduce(0, latencies->buckets + first, (size_t)(last - first + 1), NARTHEX_INT64,
                       NARTHEX_SUM);
}

uint64_t narthex_latency_at(const struct narthex_latencies *latencies, int share) {
    int64_t rank = (latencies->count * share + SHARES - 1) / SHARES;
    for (int bucket = 0; bucket < NARTHEX_LATENCY_BUCKETS; bucket++)
        if ((rank -= latencies->buckets[bucket]) <= 0) {
            uint64_t end = end_of(bucket), most = (uint64_t)latencies->most_ns;
            return end < most ? end : most;
        }
    narthex_fail("node %d asks for a percentile of no latencies", narthex_node());
}

static void report(const char *name, const char *what, double value_ns) {
    char whole[96];
    snprintf(whole, sizeof whole, "%s, %s", name, what);
    narthex_report(whole, value_ns, "ns");
}

void narthex_latencies_report(const struct narthex_latencies *latencies, const char *name) {
    static const struct {
        int share;
        const char *name;
    } percentiles[] = {
        {5000, "p50"}, {9000, "p90"}, {9900, "p99"}, {9990, "p99.9"}, {9999, "p99.99"}};
    for (size_t index = 0; index < sizeof percentiles / sizeof *percentiles; index++)
        if (latencies->count * (SHARES - percentiles[index].share) >= SHARES)
            report(name, percentiles[index].name,
                   (double)narthex_latency_at(latencies, percentiles[index].share));
    if (!latencies->count)
        return;
    report(name, "mean", (double)latencies->sum_ns / (double)latencies->count);
    report(name, "minimum", (double)latencies->least_ns);
    report(name, "maximum", (double)latencies->most_ns);
}
