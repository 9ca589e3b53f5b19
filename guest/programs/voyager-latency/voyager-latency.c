/* The one-way latency of basic messages of StarT-Voyager (Figure 5): two nodes send a message back
 * and forth.
 *
 *     voyager-latency TRANSMIT RECEIVE [BYTES [COUNT [WARM-UP]]]
 *
 * TRANSMIT and RECEIVE say who serves the queues of both nodes: resident, nonresident or hybrid. By
 * default 4 bytes, 200 round trips, 20 to warm up. See README.md. */
#include "../arguments.h"
#include "../pattern.h"
#include "../voyager_pair.h"

enum { SLOTS = 8, LARGEST_PAUSE_CYCLES = 1023 };

static size_t bytes;
static struct voyager_queue transmit, receive;

/* Sums over the measured messages of this node, in nanoseconds. */
static uint64_t sent_ns, read_ns;

static void send(uint64_t key, bool is_measured) {
    word data[VOYAGER_PAYLOAD_LIMIT / sizeof(word)];
    write_words(data, bytes, key);
    uint64_t begin = narthex_time_ns();
    voyager_send(&transmit, voyager_destination(1 - narthex_node(), FIRST_OWN_QUEUE), 0, data,
                 bytes);
    if (is_measured)
        sent_ns += begin;
}

static void receive_message(uint64_t key, bool is_measured) {
    struct voyager_message message;
    while (!voyager_arrived(&receive, &message))
        ;
    bool right = is_right(&message, bytes, key) && message.source == 1 - narthex_node();
    if (is_measured)
        read_ns += narthex_time_ns();
    narthex_check(right, "message %llu of %zu bytes is wrong", (unsigned long long)key, bytes);
    voyager_free(&receive);
}

static void round_trips(uint64_t rounds, uint64_t warm_up) {
    uint64_t random = random_start(narthex_seed(), 0);
    for (uint64_t round = 0; round < rounds; round++) {
        bool is_measured = round >= warm_up;
        if (round == warm_up)
            narthex_region_begin("round trips");
        if (narthex_node() == 0) {
            narthex_pause(random_next(&random) % (LARGEST_PAUSE_CYCLES + 1));
            send(2 * round, is_measured);
            receive_message(2 * round + 1, is_measured);
        } else {
            receive_message(2 * round, is_measured);
            send(2 * round + 1, is_measured);
        }
    }
    narthex_region_end("round trips");
}

/* Node 1 sends its sums, node 0 reports the mean. */
enum { SUMS = 1 };

static void on_sums(int source, const void *payload, size_t length) {
    uint64_t sums[2];
    (void)source, (void)length;
    memcpy(sums, payload, sizeof sums);
    sent_ns += sums[0];
    read_ns += sums[1];
}

int main(int count, char **values) {
    narthex_check(count > 2 && narthex_nodes() == 2,
                  "voyager-latency TRANSMIT RECEIVE [BYTES [COUNT [WARM-UP]]] runs on two nodes");
    unsigned transmit_kind = voyager_kind(values[0], values[1]);
    unsigned receive_kind = voyager_kind(values[0], values[2]);
    bytes = (size_t)argument(count, values, 3, "bytes", 4, VOYAGER_PAYLOAD_LIMIT, 4);
    long measured = argument(count, values, 4, "count", 1, 1000000000, 200);
    long warm_up = argument(count, values, 5, "warm-up", 0, 1000000000, 20);
    narthex_check(bytes % sizeof(word) == 0, "%zu bytes are not whole words", bytes);
    narthex_register_handler(SUMS, on_sums);
    voyager_check(voyager_open_transmit(&transmit, FIRST_OWN_QUEUE, transmit_kind, SLOTS),
                  "voyager_open_transmit");
    voyager_check(voyager_open_receive(&receive, FIRST_OWN_QUEUE, receive_kind, SLOTS),
                  "voyager_open_receive");
    narthex_barrier();
    round_trips((uint64_t)(measured + warm_up), (uint64_t)warm_up);
    if (narthex_node() == 1) {
        uint64_t sums[2] = {sent_ns, read_ns};
        narthex_send(0, SUMS, sums, sizeof sums);
    }
    narthex_barrier();
    if (narthex_node() == 0)
        narthex_report("one-way latency", (double)(read_ns - sent_ns) / (2.0 * (double)measured),
                       "ns");
    return 0;
}
