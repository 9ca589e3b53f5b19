/* Round-trip latency between two processes (ni-design-hpca98 Section 6.1.1, Table 5; cni-isca96
 * Section 5.1): node 0 sends a message, node 1 sends the same payload back.
 *
 *     roundtrip [BYTES [COUNT [WARM-UP [PARTNER]]]]
 *                        by default 8 bytes, 200 rounds, 150 to warm up, with node 1
 *
 * See README.md for what is inside the measured time and what is not. */
#include <math.h>
#include <stdbool.h>

#include "../arguments.h"
#include "../pattern.h"

enum { REQUEST = 1, REPLY = 2, LARGEST_PAUSE_CYCLES = 1023 };

static long rounds;
static long answered;       /* rounds so far, on node 1 */
static bool reply_arrived;  /* on node 0 */
static uint64_t arrival_ns; /* of the reply */
static uint64_t current_round;

static void on_request(int source, const void *payload, size_t bytes) {
    narthex_send(source, REPLY, payload, bytes);
    pattern_check(payload, bytes, (uint64_t)answered++);
}

static void on_reply(int source, const void *payload, size_t bytes) {
    (void)source;
    arrival_ns = narthex_time_ns();
    reply_arrived = true;
    pattern_check(payload, bytes, current_round);
}

static double round_trip_ns(int partner, void *buffer, size_t bytes) {
    reply_arrived = false;
    uint64_t start_ns = narthex_time_ns();
    narthex_send(partner, REQUEST, buffer, bytes);
    while (!reply_arrived)
        narthex_poll();
    return (double)(arrival_ns - start_ns);
}

struct summary {
    double sum, squares, least, most;
};

static void add(struct summary *all, double value_ns, bool first) {
    all->sum += value_ns;
    all->squares += value_ns * value_ns;
    all->least = first || value_ns < all->least ? value_ns : all->least;
    all->most = first || value_ns > all->most ? value_ns : all->most;
}

static void report(const struct summary *all, long count) {
    double mean = all->sum / (double)count;
    double variance = all->squares / (double)count - mean * mean;
    narthex_report("round-trip latency", mean, "ns");
    narthex_report("round-trip latency, minimum", all->least, "ns");
    narthex_report("round-trip latency, maximum", all->most, "ns");
    narthex_report("round-trip latency, standard deviation", sqrt(variance > 0 ? variance : 0),
                   "ns");
}

static void measure(int partner, size_t bytes, long warm_up) {
    struct summary all = {0};
    uint64_t *buffer = malloc(bytes + 8);
    uint64_t random = random_start(narthex_seed(), 0);
    narthex_check(buffer, "node 0 has no memory for %zu bytes", bytes);
    for (long round = 0; round < rounds; round++) {
        current_round = (uint64_t)round;
        pattern_fill(buffer, bytes, current_round);
        narthex_pause(random_next(&random) % (LARGEST_PAUSE_CYCLES + 1));
        if (round == warm_up)
            narthex_region_begin("round trips");
        double latency_ns = round_trip_ns(partner, buffer, bytes);
        if (round >= warm_up)
            add(&all, latency_ns, round == warm_up);
    }
    narthex_region_end("round trips");
    report(&all, rounds - warm_up);
}

int main(int count, char **values) {
    size_t bytes = (size_t)argument(count, values, 1, "bytes", 0, (long)narthex_payload_limit(), 8);
    long measured = argument(count, values, 2, "count", 1, 1000000000, 200);
    long warm_up = argument(count, values, 3, "warm-up", 0, 1000000000, 150);
    long last = narthex_nodes() - 1; /* a machine of one node talks to itself */
    int partner = (int)argument(count, values, 4, "partner", 0, last, last > 0 ? 1 : 0);
    rounds = warm_up + measured;
    narthex_register_handler(REQUEST, on_request);
    narthex_register_handler(REPLY, on_reply);
    narthex_barrier();
    if (narthex_node() == 0)
        measure(partner, bytes, warm_up);
    else if (narthex_node() == partner)
        while (answered < rounds)
            narthex_poll();
    return 0; /* no barrier: nodes that take no part have left, and cost the simulator nothing */
}
