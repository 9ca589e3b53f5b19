/* Messages that are a single store: to serviced space, of which firmware determines the destination
 * (Section 4.1).
 *
 *     voyager-stores KIND [COUNT [WARM-UP]]
 *
 * KIND is that of the receive queues: resident, nonresident or hybrid. By default 200 stores each
 * way, one at a time, and as many in a stream, 20 to warm up. See README.md. */
#include "../arguments.h"
#include "../voyager_pair.h"

enum { SLOTS = 32, GO = 1 };

static struct voyager_queue out, in;
static volatile bool allowed;

static void on_go(int source, const void *payload, size_t length) {
    (void)source, (void)payload, (void)length;
    allowed = true;
}

static uint32_t value_of(long step) {
    return UINT32_C(0x9e3779b1) * (uint32_t)(step + 1);
}

static void store(long step) {
    voyager_store(&out, voyager_destination(1 - narthex_node(), FIRST_OWN_QUEUE), (uint8_t)step,
                  value_of(step));
}

static void receive(long step) {
    struct voyager_message message;
    while (!voyager_arrived(&in, &message))
        ;
    word value = *(const word *)message.payload;
    narthex_check(message.bytes == sizeof value && message.user == (uint8_t)step &&
                      value == value_of(step) && message.source == 1 - narthex_node(),
                  "node %d: store %ld comes as %zu bytes, 0x%x, with the user's byte %u, from "
                  "node %d",
                  narthex_node(), step, message.bytes, value, message.user, message.source);
    voyager_free(&in);
}

/* One store at a time, to and fro. */
static void exchange(long begin, long end) {
    for (long step = begin; step < end; step++) {
        if (narthex_node() == 0) {
            store(step);
            receive(step);
        } else {
            receive(step);
            store(step);
        }
    }
}

static void stream(long begin, long end) {
    narthex_barrier();
    if (narthex_node() == 0) {
        while (!allowed)
            narthex_poll();
        for (long step = begin; step < end; step++)
            store(step);
        return;
    }
    narthex_send(0, GO, &begin, sizeof begin);
    uint64_t start = narthex_time_ns();
    for (long step = begin; step < end; step++)
        receive(step);
    narthex_report("time a store", (double)(narthex_time_ns() - start) / (double)(end - begin),
                   "ns");
}

int main(int count, char **values) {
    narthex_check(count > 1 && narthex_nodes() == 2,
                  "voyager-stores KIND [COUNT [WARM-UP]] runs on two nodes");
    unsigned kind = voyager_kind(values[0], values[1]);
    long measured = argument(count, values, 2, "count", 1, 1000000, 200);
    long warm_up = argument(count, values, 3, "warm-up", 0, 1000000, 20);
    narthex_register_handler(GO, on_go);
    voyager_check(voyager_open_receive(&in, FIRST_OWN_QUEUE, kind, SLOTS), "voyager_open_receive");
    voyager_check(voyager_open_transmit(&out, FIRST_OWN_QUEUE,
                                        VOYAGER_KIND_HYBRID | VOYAGER_KIND_STORES, SLOTS),
                  "voyager_open_transmit");
    narthex_barrier();
    exchange(0, warm_up);
    uint64_t start = narthex_time_ns();
    exchange(warm_up, warm_up + measured);
    if (narthex_node() == 0)
        narthex_report("one-way latency",
                       (double)(narthex_time_ns() - start) / (double)(2 * measured), "ns");
    stream(warm_up + measured, warm_up + 2 * measured);
    narthex_barrier();
    return 0;
}
