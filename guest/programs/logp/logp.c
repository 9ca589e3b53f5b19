/* The times from which the LogGP parameters of an interface are found (Culler et al., "Assessing
 * fast network interfaces", IEEE Micro 1996; Hoefler et al., "Low-overhead LogGP parameter
 * assessment for modern interconnection networks", 2007). Node 0 measures, node 1 answers.
 *
 *     logp [BYTES [ROUNDS [WARM-UP [BURST]]]]
 *                        by default 8 bytes, 32 rounds, 150 to warm up, bursts of up to 64
 *
 * Three series, each with pauses drawn from the run's seed before every message or burst:
 *
 *     round trips    send ── reply                  2 L and both overheads, twice
 *     overheads      send ── pause ── poll          what the processor spends on either
 *     bursts         send n times ── reply          the gap: what one more message adds
 *
 * See README.md for what is inside the measured times and what is not. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "../arguments.h"
#include "../payload_slots.h"
#include "messaging/packet.h"

enum { PING = 1, PONG = 2, PLAN = 3, READY = 4, DATA = 5, DONE = 6 };
enum {
    LARGEST_PAUSE_CYCLES = 1023,
    LARGEST_BURST = 1024,
    ROUNDS_PER_BURST = 4,    /* bursts vary less than round trips, and take longer */
    REPLIES = 4,             /* buffers for them; one is in use at a time */
    BUFFER_EXTRA_BYTES = 64, /* of the library, beside the payload */
};

static int partner; /* the first process of the second node */
static size_t stride;

/* What a number of measurements of one kind sum up to. */
struct summary {
    double sum, squares, most;
};

static void add(struct summary *all, double value_ns) {
    all->sum += value_ns;
    all->squares += value_ns * value_ns;
    all->most = value_ns > all->most ? value_ns : all->most;
}

static void report(const char *name, const struct summary *all, long count) {
    double mean = all->sum / (double)count;
    double variance = all->squares / (double)count - mean * mean;
    char spread[64];
    snprintf(spread, sizeof spread, "%s, standard deviation", name);
    narthex_report(name, mean, "ns");
    narthex_report(spread, sqrt(variance > 0 ? variance : 0), "ns");
}

static uint64_t random_state; /* of the measurer's pauses */

static void pause_for_a_while(void) {
    narthex_pause(random_next(&random_state) % (LARGEST_PAUSE_CYCLES + 1));
}

/* Round trips: the partner's side. */

static long answered;

static void on_ping(int source, const void *payload, size_t bytes) {
    narthex_send(source, PONG, payload, bytes);
    pattern_check(payload, bytes, (uint64_t)answered++);
}

/* Round trips: the measurer's side. */

static char *ping;
static uint64_t round_trips;
static const void *reply; /* kept until it is checked */
static size_t reply_bytes;
static uint64_t reply_ns;

static void on_pong(int source, const void *payload, size_t bytes) {
    (void)source;
    reply_ns = narthex_time_ns();
    reply = payload;
    reply_bytes = bytes;
    narthex_keep(payload);
}

static void prepare_ping(void) {
    pattern_fill(ping, message_bytes, round_trips);
    pause_for_a_while();
}

static void check_reply(void) {
    narthex_check(reply_bytes == message_bytes, "node 0 received %zu bytes instead of %zu",
                  reply_bytes, message_bytes);
    pattern_check(reply, reply_bytes, round_trips++);
    narthex_release(reply);
    reply = NULL;
}

static double round_trip_ns(void) {
    prepare_ping();
    uint64_t start_ns = narthex_time_ns();
    narthex_send(partner, PING, ping, message_bytes);
    while (!reply)
        narthex_poll();
    check_reply();
    return (double)(reply_ns - start_ns);
}

/* The time of reading the clock, which the overheads contain. */
static double clock_ns(void) {
    uint64_t start_ns = narthex_time_ns(), end_ns = start_ns;
    for (int reading = 0; reading < 1000; reading++)
        end_ns = narthex_time_ns();
    return (double)(end_ns - start_ns) / 1000;
}

struct overheads {
    double send_ns, receive_ns;
    bool
        late; /* the reply had not arrived whole: what an interface cannot hold comes in the poll */
};

/* One message at a time; the reply waits in the interface when it is polled for. */
static struct overheads overheads(double longest_ns) {
    prepare_ping();
    uint64_t start_ns = narthex_time_ns();
    narthex_send(partner, PING, ping, message_bytes);
    uint64_t sent_ns = narthex_time_ns();
    while ((double)(narthex_time_ns() - start_ns) < 2 * longest_ns)
        ;
    uint64_t polled_ns = narthex_time_ns();
    bool late = narthex_poll() == 0;
    while (!reply)
        narthex_poll();
    uint64_t received_ns = narthex_time_ns();
    check_reply();
    return (struct overheads){(double)(sent_ns - start_ns), (double)(received_ns - polled_ns),
                              late};
}

/* Bursts: the partner's side. It keeps a whole burst, answers, and then checks it. */

static const void *kept[LARGEST_BURST];
static long planned, arrived; /* messages of this burst */
static bool finished;

static void on_plan(int source, const void *payload, size_t bytes) {
    planned = *(const long *)payload;
    narthex_check(bytes == sizeof planned && planned <= LARGEST_BURST,
                  "node %d received a plan of %zu bytes for %ld messages", narthex_node(), bytes,
                  planned);
    finished = planned == 0;
    narthex_send(source, READY, NULL, 0);
}

static void end_burst(int source) {
    narthex_send(source, DONE, NULL, 0);
    for (long message = 0; message < arrived; message++) {
        check(kept[message]);
        narthex_release(kept[message]);
    }
    check_arrivals(planned);
    memset(slot_arrivals, 0, sizeof slot_arrivals);
    arrived = 0;
}

static void on_data(int source, const void *payload, size_t bytes) {
    narthex_check(bytes == message_bytes && arrived < planned,
                  "node %d received %zu bytes instead of %zu, message %ld of %ld", narthex_node(),
                  bytes, message_bytes, arrived, planned);
    kept[arrived++] = payload;
    narthex_keep(payload);
    if (arrived == planned)
        end_burst(source);
}

/* Bursts: the measurer's side. */

static bool ready, done;
static uint64_t done_ns;

static void on_ready(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    ready = true;
}

static void on_done(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    done_ns = narthex_time_ns();
    done = true;
}

/* Tells the partner how many messages come, 0 for the end; waits until it knows. */
static void plan(long messages) {
    ready = done = false;
    narthex_send(partner, PLAN, &messages, sizeof messages);
    while (!ready)
        narthex_poll();
}

struct burst {
    double time_ns, issue_ns;
};

static struct burst burst(const char *payloads, long messages) {
    plan(messages);
    pause_for_a_while();
    uint64_t start_ns = narthex_time_ns();
    for (long message = 0, slot = 0; message < messages; message++) {
        narthex_send(partner, DATA, payloads + (size_t)slot * stride, message_bytes);
        slot = slot + 1 == slots ? 0 : slot + 1;
    }
    uint64_t issued_ns = narthex_time_ns();
    while (!done)
        narthex_poll();
    return (struct burst){(double)(done_ns - start_ns), (double)(issued_ns - start_ns)};
}

/* The measurements */

/* Returns the longest, in ns. */
static double measure_round_trips(long rounds, long warm_up) {
    struct summary all = {0};
    for (long round = 0; round < warm_up; round++)
        round_trip_ns();
    narthex_region_begin("round trips");
    for (long round = 0; round < rounds; round++)
        add(&all, round_trip_ns());
    narthex_region_end("round trips");
    report("round-trip latency", &all, rounds);
    return all.most;
}

static void measure_overheads(long rounds, double longest_ns) {
    struct summary send = {0}, receive = {0};
    long late = 0;
    narthex_region_begin("overheads");
    for (long round = 0; round < rounds; round++) {
        struct overheads measured = overheads(longest_ns);
        add(&send, measured.send_ns);
        add(&receive, measured.receive_ns);
        late += measured.late;
    }
    narthex_region_end("overheads");
    narthex_report("clock", clock_ns(), "ns");
    report("send overhead", &send, rounds);
    report("receive overhead", &receive, rounds);
    narthex_report("late replies", (double)late, "messages");
}

static void measure_bursts_of(const char *payloads, long rounds, long messages) {
    struct summary time = {0}, issue = {0};
    char name[64];
    for (long round = 0; round < rounds; round++) {
        struct burst measured = burst(payloads, messages);
        add(&time, measured.time_ns);
        add(&issue, measured.issue_ns);
    }
    snprintf(name, sizeof name, "burst of %ld", messages);
    report(name, &time, rounds);
    snprintf(name, sizeof name, "issue of %ld", messages);
    report(name, &issue, rounds);
}

static void measure_bursts(const char *payloads, long rounds, long longest) {
    for (long warm_up = 0; warm_up < 2; warm_up++)
        burst(payloads, longest);
    narthex_region_begin("bursts");
    for (long messages = 1; messages <= longest; messages *= 2)
        measure_bursts_of(payloads, rounds, messages);
    narthex_region_end("bursts");
}

/* One piece of memory, so that its parts share no line of a direct-mapped cache: the buffers of
 * replies, the message of the round trips, the payloads of the bursts. */
static char *arrange_memory(void) {
    size_t reply_buffers = REPLIES * (stride + BUFFER_EXTRA_BYTES);
    char *memory = payload_memory(reply_buffers + (size_t)(slots + 1) * stride);
    narthex_reserve(memory, reply_buffers, message_bytes);
    ping = memory + reply_buffers;
    prepare_payloads(ping + stride, stride);
    return ping + stride;
}

static void measure(long rounds, long warm_up, long longest) {
    random_state = random_start(narthex_seed(), 0);
    const char *payloads = arrange_memory();
    narthex_report("payload of a packet",
                   (double)(narthex_payload_limit() / PACKETS_PER_MESSAGE_LIMIT), "bytes");
    double longest_ns = measure_round_trips(rounds, warm_up);
    measure_overheads(rounds, longest_ns);
    measure_bursts(payloads, (rounds + ROUNDS_PER_BURST - 1) / ROUNDS_PER_BURST, longest);
    plan(0);
}

static void answer(long longest) {
    size_t kept_bytes = (size_t)longest * (stride + BUFFER_EXTRA_BYTES);
    narthex_reserve(payload_memory(kept_bytes), kept_bytes, message_bytes);
    while (!finished)
        narthex_poll();
}

int main(int count, char **values) {
    long limit = (long)narthex_payload_limit();
    message_bytes = (size_t)argument(count, values, 1, "bytes", 1, limit, 8);
    long rounds = argument(count, values, 2, "rounds", 2, 1000000, 32);
    long warm_up = argument(count, values, 3, "warm-up", 1, 1000000, 150);
    long longest = argument(count, values, 4, "burst", 2, LARGEST_BURST, 64);
    partner = narthex_processes();
    narthex_check(narthex_nodes() > partner,
                  "logp needs two nodes: node 0 measures, node 1 answers");
    stride = (message_bytes + 7) / 8 * 8;
    slots = count_slots(stride);
    slots = slots < longest ? slots : longest;
    narthex_register_handler(PING, on_ping);
    narthex_register_handler(PONG, on_pong);
    narthex_register_handler(PLAN, on_plan);
    narthex_register_handler(READY, on_ready);
    narthex_register_handler(DATA, on_data);
    narthex_register_handler(DONE, on_done);
    narthex_barrier();
    if (narthex_node() == 0)
        measure(rounds, warm_up, longest);
    else if (narthex_node() == partner)
        answer(longest);
    return 0; /* no barrier: nodes that take no part have left, and cost the simulator nothing */
}
