/* What the programs under an open-loop load have in common: the load's arguments, who is a client,
 * and what is reported.
 *
 *     PROGRAM [RATE [BYTES [REQUESTS [WARM-UP [ARRIVALS [BURST ...]]]]]]
 *
 * RATE is what all clients offer together, in thousands of requests a second. The last node is the
 * server, all others are clients; a machine of one node is both. */
#ifndef NARTHEX_PROGRAMS_LOAD_H
#define NARTHEX_PROGRAMS_LOAD_H

#include <stdbool.h>
#include <stdio.h>

#include "arguments.h"
#include "measure.h"
#include "messaging/collectives.h"
#include "messaging/open_loop.h"
#include "pattern.h"

enum {
    LOAD_ARGUMENTS = 6, /* a program's own begin behind them */
    LOAD_RATE = 50,     /* thousands of requests a second */
    LOAD_BYTES = 64,
    LOAD_REQUESTS = 2000,
    LOAD_WARM_UP = 200,
    LOAD_BURST = 8
};

/* How the server looks for requests: a program may let it sleep. */
#ifndef LOAD_LOOK_FOR_REQUESTS
#define LOAD_LOOK_FOR_REQUESTS() narthex_poll()
#endif

/* Below this part of the offered rate the answers do not keep up with the requests. */
#define LOAD_KEEPS_UP 0.95

static struct narthex_open_loop load_loop;

static inline int load_server(void) {
    return narthex_nodes() - 1;
}

static inline int load_clients(void) {
    return narthex_nodes() > 1 ? narthex_nodes() - 1 : 1;
}

static inline bool load_is_client(void) {
    return narthex_node() < load_clients();
}

/* Client `node`'s part of what all clients have together. */
static inline size_t load_part(long all, int node) {
    return (size_t)(all / load_clients() + (node < all % load_clients()));
}

/* The size of a payload or a value, a multiple of 8. */
static inline size_t load_bytes(int count, char **values, long least) {
    long most = (long)narthex_payload_limit() - 64;
    long bytes = argument(count, values, 2, "bytes", least, most, LOAD_BYTES);
    narthex_check(bytes % 8 == 0, "%s: argument 2 (bytes) is \"%s\"; allowed are multiples of 8",
                  values[0], values[2]);
    return (size_t)bytes;
}

static void load_arrivals(int count, char **values, long rate) {
    const char *arrivals = count > 5 ? values[5] : "poisson";
    size_t requests = load_loop.requests, client = (size_t)narthex_node();
    size_t clients = (size_t)load_clients();
    size_t burst = (size_t)argument(count, values, 6, "burst", 1, 1000000, LOAD_BURST);
    double interval_ns = (double)clients * 1e6 / (double)(rate ? rate : 1);
    double first_ns = interval_ns * (double)client / (double)clients;
    bool is_fixed = strcmp(arrivals, "fixed") == 0, is_bursts = strcmp(arrivals, "bursts") == 0;
    bool is_poisson = strcmp(arrivals, "poisson") == 0;
    bool is_file = !is_fixed && !is_bursts && !is_poisson;
    narthex_check(is_file == (rate == 0),
                  is_file ? "%s: argument 1 (rate) is \"%s\", and argument 5 (arrivals) \"%s\", a "
                            "file of times; allowed are rate 0 with it, or poisson, fixed, bursts"
                          : "%s: argument 1 (rate) is \"%s\" with arrivals \"%s\"; allowed are "
                            "rates from 1 on, or 0 with a file of times",
                  values[0], count > 1 ? values[1] : "", arrivals);
    if (is_fixed)
        narthex_arrivals_fixed(load_loop.due_ns, requests, interval_ns, first_ns);
    else if (is_bursts)
        narthex_arrivals_bursts(load_loop.due_ns, requests, interval_ns, (double)burst * first_ns,
                                burst);
    else if (is_poisson)
        narthex_arrivals_poisson(load_loop.due_ns, requests, interval_ns,
                                 random_start(narthex_seed(), narthex_node()));
    else
        narthex_arrivals_file(load_loop.due_ns, requests, arrivals, client, clients);
}

/* Reads the load's arguments; returns how many requests come to the server. */
static long load_prepare(int count, char **values, narthex_request *send) {
    long rate = argument(count, values, 1, "rate", 0, 1000000, LOAD_RATE);
    long measured = argument(count, values, 3, "requests", 1, 100000000, LOAD_REQUESTS);
    long warm_up = argument(count, values, 4, "warm-up", 0, 100000000, LOAD_WARM_UP);
    long all = measured + warm_up;
    narthex_check(measured >= 2 * load_clients(),
                  "%s: argument 3 (requests) is \"%ld\"; allowed are 2 a client or more: %d",
                  values[0], measured, 2 * load_clients());
    load_loop.send = send;
    if (!load_is_client())
        return all;
    load_loop.requests = load_part(all, narthex_node());
    load_loop.warm_up = load_part(warm_up, narthex_node());
    load_loop.due_ns = malloc(load_loop.requests * sizeof *load_loop.due_ns);
    narthex_check(load_loop.due_ns, "node %d has no memory for %zu requests", narthex_node(),
                  load_loop.requests);
    load_arrivals(count, values, rate);
    return all;
}

/* Requests a second of all clients: what `count` requests of this one in `time_ns` come to. */
static inline double load_rate(size_t count, uint64_t time_ns) {
    return time_ns ? (double)(count - 1) * 1e9 / (double)time_ns : 0;
}

static void load_report(void) {
    double rates[2] = {0, 0};
    int64_t latest_ns = (int64_t)load_loop.latest_ns;
    if (load_is_client()) {
        size_t first = load_loop.warm_up, last = load_loop.requests - 1;
        size_t measured = load_loop.requests - first;
        rates[0] = load_rate(measured, load_loop.due_ns[last] - load_loop.due_ns[first]);
        rates[1] = load_rate(measured, load_loop.last_answer_ns - load_loop.first_answer_ns);
    }
    narthex_latencies_gather(&load_loop.latencies);
    narthex_reduce(0, rates, 2, NARTHEX_DOUBLE, NARTHEX_SUM);
    narthex_reduce(0, &latest_ns, 1, NARTHEX_INT64, NARTHEX_MAXIMUM);
    if (narthex_node() != 0)
        return;
    narthex_latencies_report(&load_loop.latencies, "latency");
    narthex_report("offered rate", rates[0], "requests/s");
    narthex_report("achieved rate", rates[1], "requests/s");
    narthex_report("sent late by at most", (double)latest_ns, "ns");
    if (rates[1] < LOAD_KEEPS_UP * rates[0])
        printf("saturated: %.0f requests/s are answered of the %.0f that are offered; latencies "
               "grow as long as the load lasts\n",
               rates[1], rates[0]);
}

/* Makes all requests, or serves them, as the region "main", and reports. `served` counts what the
 * server has answered of `all`. */
static void load_run(long all, const long *served) {
    narthex_barrier();
    narthex_region_begin(MEASURED_REGION);
    if (load_is_client())
        narthex_open_loop_run(&load_loop);
    if (narthex_node() == load_server())
        while (*served < all)
            LOAD_LOOK_FOR_REQUESTS();
    narthex_region_end(MEASURED_REGION);
    load_report();
}

#endif
