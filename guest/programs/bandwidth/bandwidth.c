/* Bandwidth between two processes (ni-design-hpca98 Section 6.1.2, Table 5; cni-isca96 Section
 * 5.1): node 0 sends a stream of messages to node 1, as fast as flow control lets it.
 *
 *     bandwidth [BYTES [COUNT [WARM-UP [KEPT [RECEIVER]]]]]
 *
 * By default 8 bytes, 3000 messages, 300 to warm up, 256 KiB of payloads kept unchecked, to node 1.
 *
 * See README.md for how every byte is checked without measuring the check. */
#include <stdbool.h>

#include "../arguments.h"
#include "../payload_slots.h"

enum {
    DATA = 1,
    ALLOWANCE = 2,
    KEPT_KIB = 256,           /* unchecked payloads at the receiver, at most */
    REFILL_BYTES = 64 * 1024, /* received after a check before measuring goes on */
    COLD = 256,               /* the first messages, at most, come in bursts */
    BURST = 4
};

/* Time spent receiving and what was received in it. */
struct measurement {
    uint64_t bytes, time_ns;
};

static long expected, warm_up;  /* messages */
static long received;           /* messages so far, on the receiver, when there was more to do */
static const void **kept;       /* payloads that wait for their check */
static const void **kept_next;  /* where the next one is put */
static const void **step_began; /* where it was put when there was more to do */
static const void **next_step;  /* where it will be put when there is more to do */
static long kept_limit;         /* messages */
static long measure_from;       /* the next measured stretch begins after this message */
static long allowed;            /* messages that the sender may have sent, on the sender */
static uint64_t stretch_start_ns;
static long stretch_first;
static struct measurement halves[2];

static long half_end(void) {
    return warm_up + (expected - warm_up) / 2;
}

static void begin_stretch(void) {
    stretch_start_ns = narthex_time_ns();
    stretch_first = received;
}

static void end_stretch(void) {
    if (stretch_first < 0)
        return;
    struct measurement *half = &halves[stretch_first >= half_end()];
    half->time_ns += narthex_time_ns() - stretch_start_ns;
    half->bytes += (uint64_t)(received - stretch_first) * message_bytes;
    stretch_first = -1;
}

/* Checks the payloads kept, then lets the stream recover from this pause. */
static void check_kept(void) {
    end_stretch();
    for (const void **each = kept; each != kept_next; each++)
        check(*each);
    while (kept_next != kept)
        narthex_release(*--kept_next);
    long refill = REFILL_BYTES / (long)(message_bytes < 64 ? 64 : message_bytes) + 1;
    measure_from = received + (refill < kept_limit / 2 ? refill : kept_limit / 2);
    if (measure_from < warm_up)
        measure_from = warm_up;
}

static __attribute__((noinline)) void fail_size(size_t bytes) {
    narthex_fail("node %d received %zu bytes instead of %zu", narthex_node(), bytes, message_bytes);
}

static bool is_cold(void) {
    return received < warm_up && received < COLD;
}

/* The message after which the receiver has to check, or is still cold. */
static long stretch_end(void) {
    return is_cold() ? received + BURST : received + kept_limit - (kept_next - kept);
}

/* Lets the sender go on. It waits while the receiver is cold or checks: a receiver that has once
 * fallen behind may never catch up, if its interface gets slower when its cache overflows. */
static void allow(void) {
    long end = stretch_end();
    narthex_send(0, ALLOWANCE, &end, sizeof end);
}

static void on_allowance(int source, const void *payload, size_t bytes) {
    (void)source, (void)bytes;
    allowed = *(const long *)payload;
}

static void plan_next_step(void) {
    long next = expected;
    const long candidates[] = {measure_from, received + kept_limit - (kept_next - kept),
                               stretch_end(), half_end()};
    for (size_t index = 0; index < sizeof candidates / sizeof *candidates; index++)
        if (candidates[index] > received && candidates[index] < next)
            next = candidates[index];
    next_step = kept_next + (next - received);
    step_began = kept_next;
}

/* What is due after the message that was put before `next_step`. */
static __attribute__((noinline)) void take_step(void) {
    bool was_cold = is_cold();
    received += kept_next - step_began;
    if (kept_next - kept == kept_limit || received == expected)
        check_kept();
    else if (received == measure_from)
        begin_stretch();
    else if (received == half_end() && stretch_first >= 0) {
        end_stretch();
        begin_stretch();
    }
    if ((was_cold || kept_next == kept) && received < expected)
        allow();
    plan_next_step();
}

/* As short as it can be: it is part of what is measured. */
static void on_data(int source, const void *payload, size_t bytes) {
    (void)source;
    if (bytes != message_bytes)
        fail_size(bytes);
    *kept_next++ = payload;
    narthex_keep(payload);
    if (kept_next == next_step)
        take_step();
}

static double rate_mb_per_s(struct measurement measurement) {
    return measurement.time_ns ? (double)measurement.bytes * 1e3 / (double)measurement.time_ns : 0;
}

static void report(void) {
    struct measurement all = {halves[0].bytes + halves[1].bytes,
                              halves[0].time_ns + halves[1].time_ns};
    narthex_check(all.time_ns > 0, "node %d measured nothing: %ld messages are too few",
                  narthex_node(), expected - warm_up);
    narthex_report("bandwidth", rate_mb_per_s(all), "MB/s");
    narthex_report("bandwidth, first half", rate_mb_per_s(halves[0]), "MB/s");
    narthex_report("bandwidth, second half", rate_mb_per_s(halves[1]), "MB/s");
}

static void prepare_receiver(size_t kept_bytes) {
    long reserved = (long)narthex_reserve(payload_memory(kept_bytes), kept_bytes, message_bytes);
    kept_limit = reserved < 4 ? 4 : reserved;
    kept = malloc((size_t)kept_limit * sizeof *kept);
    narthex_check(kept, "node %d has no memory for %ld messages", narthex_node(), kept_limit);
    memset(kept, 0, (size_t)kept_limit * sizeof *kept);
    measure_from = warm_up;
    stretch_first = -1;
    kept_next = kept;
    plan_next_step();
}

static void receive_all(void) {
    narthex_region_begin("stream");
    while (received < expected)
        narthex_poll();
    narthex_region_end("stream");
    check_arrivals(expected);
    report();
}

/* Nothing in the loop but what sends: it is part of what is measured where the sender is slower. */
static void send_all(int destination, const char *payloads, size_t stride) {
    const char *end = payloads + (size_t)slots * stride, *payload = payloads;
    const bool to_itself = destination == narthex_node();
    for (long sent = 0; sent < expected;) {
        while (allowed <= sent)
            narthex_poll();
        for (long last = allowed < expected ? allowed : expected; sent < last; sent++) {
            narthex_send(destination, DATA, payload, message_bytes);
            payload += stride;
            if (payload == end)
                payload = payloads;
            if (to_itself)
                narthex_poll();
        }
    }
}

int main(int count, char **values) {
    long limit = (long)narthex_payload_limit();
    message_bytes = (size_t)argument(count, values, 1, "bytes", 1, limit, 8);
    long measured = argument(count, values, 2, "count", 2, 1000000000, 3000);
    warm_up = argument(count, values, 3, "warm-up", 1, 1000000000, 300);
    long kept_kib = argument(count, values, 4, "kept KiB", 1, KEPT_KIB, KEPT_KIB);
    expected = warm_up + measured;
    size_t stride = (message_bytes + 7) / 8 * 8;
    slots = count_slots(stride);
    long last = narthex_nodes() - 1; /* a machine of one node talks to itself */
    int receiver = (int)argument(count, values, 5, "receiver", 0, last, last > 0 ? 1 : 0);
    if (narthex_node() == receiver)
        prepare_receiver((size_t)kept_kib * 1024);
    narthex_register_handler(DATA, on_data);
    narthex_register_handler(ALLOWANCE, on_allowance);
    char *payloads = NULL;
    if (narthex_node() == 0)
        prepare_payloads(payloads = payload_memory((size_t)slots * stride), stride);
    narthex_barrier();
    if (narthex_node() == receiver)
        allow();
    if (narthex_node() == 0)
        send_all(receiver, payloads, stride);
    if (narthex_node() == receiver)
        receive_all();
    return 0; /* no barrier: nodes that take no part have left, and cost the simulator nothing */
}
