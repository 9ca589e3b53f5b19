/* Open-loop load (open_loop.h). */
#include "messaging/open_loop.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "runtime/marker.h"

void narthex_arrivals_fixed(uint64_t *due_ns, size_t count, double interval_ns, double first_ns) {
    narthex_arrivals_bursts(due_ns, count, interval_ns, first_ns, 1);
}

void narthex_arrivals_bursts(uint64_t *due_ns, size_t count, double interval_ns, double first_ns,
                             size_t burst) {
    for (size_t index = 0; index < count; index++)
        due_ns[index] = (uint64_t)(first_ns + (double)(index / burst * burst) * interval_ns);
}

/* The next of a sequence of pseudo-random numbers (splitmix64). */
static uint64_t draw(uint64_t *state) {
    uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* An exponential variate of mean 1 by comparisons alone (J. von Neumann, "Various techniques used
 * in connection with random digits", 1951): a logarithm has other bits in other C libraries. A
 * falling run that begins with x has an odd length with probability exp(-x). */
static double draw_exponential(uint64_t *state) {
    for (double whole = 0;; whole += 1) {
        uint64_t first = draw(state), last = first, next;
        bool is_odd = true;
        while ((next = draw(state)) < last) {
            last = next;
            is_odd = !is_odd;
        }
        if (is_odd)
            return whole + (double)(first >> 11) * 0x1p-53;
    }
}

void narthex_arrivals_poisson(uint64_t *due_ns, size_t count, double interval_ns, uint64_t seed) {
    double now_ns = 0;
    for (size_t index = 0; index < count; index++) {
        now_ns += draw_exponential(&seed) * interval_ns;
        due_ns[index] = (uint64_t)now_ns;
    }
}

/* The time of a line. */
static uint64_t read_time(const char *path, size_t line, const char *text, uint64_t last_ns) {
    char *end;
    errno = 0;
    uint64_t time_ns = strtoull(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && !errno && (*end == '\n' || !*end);
    narthex_check(is_number && time_ns >= last_ns && time_ns < UINT64_C(1) << 62,
                  "%s, line %zu: \"%.*s\" is no time; allowed are whole numbers of ns, none "
                  "smaller than the one before (%" PRIu64 ")",
                  path, line + 1, (int)strcspn(text, "\n"), text, last_ns);
    return time_ns;
}

void narthex_arrivals_file(uint64_t *due_ns, size_t count, const char *path, size_t first,
                           size_t stride) {
    FILE *file = fopen(path, "r");
    narthex_check(file, "there is no file of times '%s'; allowed are files that the run is given",
                  path);
    char text[64];
    size_t taken = 0;
    uint64_t last_ns = 0;
    for (size_t line = 0; taken < count; line++) {
        narthex_check(fgets(text, sizeof text, file),
                      "%s has %zu times, too few; allowed are files of at least %zu times", path,
                      line, first + (count - 1) * stride + 1);
        last_ns = read_time(path, line, text, last_ns);
        if (line >= first && (line - first) % stride == 0)
            due_ns[taken++] = last_ns;
    }
    fclose(file);
}

/* Polls, once at least. Reading the clock between two polls is waiting, too. */
static uint64_t poll_until(uint64_t time_ns) {
    uint64_t now_ns;
    ENTER(ACTIVITY_POLL);
    do {
        narthex_poll();
        now_ns = narthex_time_ns();
    } while (now_ns < time_ns);
    LEAVE();
    return now_ns;
}

static void send_next(struct narthex_open_loop *loop) {
    uint64_t due_ns = loop->begin_ns + loop->due_ns[loop->sent];
    uint64_t late_ns = poll_until(due_ns) - due_ns;
    if (late_ns > loop->latest_ns)
        loop->latest_ns = late_ns;
    loop->send(loop->sent++, due_ns);
}

void narthex_open_loop_run(struct narthex_open_loop *loop) {
    loop->is_answered = calloc(loop->requests, 1);
    narthex_check(loop->is_answered, "node %d has no memory for %zu requests", narthex_node(),
                  loop->requests);
    loop->begin_ns = narthex_time_ns();
    while (loop->sent < loop->requests)
        send_next(loop);
    while (loop->answered < loop->requests)
        narthex_poll();
    free(loop->is_answered);
}

void narthex_open_loop_answered(struct narthex_open_loop *loop, size_t number, uint64_t due_ns) {
    uint64_t now_ns = narthex_time_ns();
    narthex_check(number < loop->sent && due_ns == loop->begin_ns + loop->due_ns[number],
                  "node %d receives an answer to request %zu, due at %" PRIu64
                  " ns, which it did not send",
                  narthex_node(), number, due_ns);
    narthex_check(!loop->is_answered[number], "node %d receives a second answer to request %zu",
                  narthex_node(), number);
    loop->is_answered[number] = 1;
    loop->answered += 1;
    if (number < loop->warm_up)
        return;
    if (!loop->first_answer_ns)
        loop->first_answer_ns = now_ns;
    loop->last_answer_ns = now_ns;
    narthex_latency_add(&loop->latencies, now_ns - due_ns);
}
