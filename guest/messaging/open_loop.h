/* Open-loop load: requests are due at times that do not depend on the answers.
 *
 * A client that waits for an answer before it sends on stops asking while the server is slow, and
 * measures few of the latencies of that time: coordinated omission (G. Tene, "How NOT to measure
 * latency"; Schroeder, Wierman and Harchol-Balter, "Open versus closed: a cautionary tale", NSDI
 * 2006). Here every request has an intended time before the run begins. It goes with the request
 * and comes back with the answer, and the latency counts from it. A client or an interface that is
 * late makes its requests late, and that is in the latencies.
 *
 *     static struct narthex_open_loop loop = {.send = send_request};
 *     loop.due_ns = malloc(count * sizeof *loop.due_ns);
 *     narthex_arrivals_poisson(loop.due_ns, loop.requests = count, 10000, narthex_seed());
 *     narthex_barrier();
 *     narthex_open_loop_run(&loop); // the handler of answers calls narthex_open_loop_answered
 *
 * The programs open-loop and key-value are made of it. */
#ifndef NARTHEX_MESSAGING_OPEN_LOOP_H
#define NARTHEX_MESSAGING_OPEN_LOOP_H

#include <stddef.h>
#include <stdint.h>

#include "messaging/latencies.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrivals. Each call writes `count` rising times in ns, one request after the other, into
 * `due_ns`; on average `interval_ns` lie between two. The same arguments give the same times on
 * any machine. */

/* Evenly, the first at `first_ns`. */
void narthex_arrivals_fixed(uint64_t *due_ns, size_t count, double interval_ns, double first_ns);

/* A Poisson process: times between arrivals are exponential, drawn from `seed`. */
void narthex_arrivals_poisson(uint64_t *due_ns, size_t count, double interval_ns, uint64_t seed);

/* `burst` at the same time, evenly, the first at `first_ns`. */
void narthex_arrivals_bursts(uint64_t *due_ns, size_t count, double interval_ns, double first_ns,
                             size_t burst);

/* The times of a file of numbers, in ns, one a line and rising: every `stride`-th from line `first`
 * (0 is the first line) on. Fails where the file is not there, has too few, or another word. */
void narthex_arrivals_file(uint64_t *due_ns, size_t count, const char *path, size_t first,
                           size_t stride);

/* Sends request `number`, whose intended time (narthex_time_ns) is `due_ns`; both come back with
 * its answer. */
typedef void narthex_request(size_t number, uint64_t due_ns);

/* A client's load, and what it measured. Zero but for what the client sets. */
struct narthex_open_loop {
    uint64_t *due_ns;      /* set: intended times from the begin of the run on */
    size_t requests;       /* set: how many */
    size_t warm_up;        /* set: how many of them, the first, are not measured */
    narthex_request *send; /* set */

    size_t sent, answered;
    uint8_t *is_answered; /* of each request */
    uint64_t begin_ns;
    uint64_t first_answer_ns, last_answer_ns; /* of the measured requests */
    uint64_t latest_ns;                       /* the most by which a request was sent late */
    struct narthex_latencies latencies;       /* of the measured requests */
};

/* Sends every request when it is due, or as soon as it can later, polls in between, and returns
 * when all are answered. Outside of handlers. */
void narthex_open_loop_run(struct narthex_open_loop *loop);

/* Takes note of an answer, at the time of the call. Fails where it is no answer of a request, or a
 * second one. */
void narthex_open_loop_answered(struct narthex_open_loop *loop, size_t number, uint64_t due_ns);

#ifdef __cplusplus
}
#endif

#endif
