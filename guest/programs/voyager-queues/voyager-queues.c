/* Many queues of which few are hot: node 0 sends from as many transmit queues as node 1 has receive
 * queues, choosing among them by Zipf's law.
 *
 *     voyager-queues KIND [QUEUES [SKEW-PERCENT [COUNT [WARM-UP [BYTES]]]]]
 *
 * KIND is resident, nonresident or hybrid. By default 16 queues, a skew of 100 % (the queue of rank
 * r is chosen as often as 1/r), 500 messages of 4 bytes measured each way, 200 to warm up. See
 * README.md. */
#include <math.h>

#include "../arguments.h"
#include "../pattern.h"
#include "../voyager_pair.h"

enum { QUEUES_LIMIT = 255, SLOTS = 4, GO = 1 };

static struct voyager_queue ends[QUEUES_LIMIT];
static double shares[QUEUES_LIMIT]; /* of the queues up to each, in all */
static uint64_t random_state;
static long queues;
static size_t bytes;
static volatile long allowed;         /* messages that node 0 may have sent */
static uint64_t passed[QUEUES_LIMIT]; /* messages of each queue that were sent, or taken */
static long early[QUEUES_LIMIT];      /* of them, taken before their turn */

static void prepare_choices(double skew) {
    double sum = 0;
    for (long rank = 0; rank < queues; rank++)
        shares[rank] = sum += pow((double)(rank + 1), -skew);
    for (long rank = 0; rank < queues; rank++)
        shares[rank] /= sum;
    random_state = random_start(narthex_seed(), 0);
}

/* The queue of the next message: both nodes choose alike. */
static long choose(void) {
    double value = (double)(random_next(&random_state) >> 11) * 0x1p-53;
    long low = 0, high = queues - 1;
    while (low < high) {
        long middle = (low + high) / 2;
        if (shares[middle] <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void open_all(unsigned kind) {
    bool sends = narthex_node() == 0;
    for (long each = 0; each < queues; each++) {
        unsigned number = FIRST_OWN_QUEUE + (unsigned)each;
        int error = sends ? voyager_open_transmit(&ends[each], number, kind, SLOTS)
                          : voyager_open_receive(&ends[each], number, kind, SLOTS);
        narthex_check(error == 0, "node %d: queue %ld of %ld cannot be opened: %s", narthex_node(),
                      each + 1, queues, strerror(error));
    }
}

/* Node 0 */

static void on_go(int source, const void *payload, size_t length) {
    (void)source, (void)length;
    allowed = *(const long *)payload;
}

/* What tells a queue's next message from all others. */
static uint64_t next_key(long queue) {
    return passed[queue]++ * (QUEUES_LIMIT + 1) + (uint64_t)queue;
}

static void send_one(void) {
    word data[VOYAGER_PAYLOAD_LIMIT / sizeof(word)];
    long chosen = choose();
    write_words(data, bytes, next_key(chosen));
    voyager_send(&ends[chosen], voyager_destination(1, FIRST_OWN_QUEUE + (unsigned)chosen), 0, data,
                 bytes);
}

/* Sends the messages up to `end`, each when node 1 allows it. */
static void send_up_to(long begin, long end) {
    for (long each = begin; each < end; each++) {
        while (allowed <= each)
            narthex_poll();
        send_one();
    }
}

/* Node 1 */

static void allow(long messages) {
    narthex_send(0, GO, &messages, sizeof messages);
}

/* Takes a queue's next message, if it has come. */
static bool take(long chosen) {
    struct voyager_message message;
    struct voyager_queue *queue = &ends[chosen];
    if (!voyager_arrived(queue, &message))
        return false;
    narthex_check(is_right(&message, bytes, next_key(chosen)), "a message of queue %ld is wrong",
                  chosen);
    voyager_free(queue);
    return true;
}

/* Waits for the next message in turn. A queue that is full holds up all others, and messages of
 * hardware's queues overtake those of firmware's: so it looks for early ones, too. */
static void receive_one(void) {
    static long other;
    long chosen = choose();
    if (early[chosen] > 0) {
        early[chosen] -= 1;
        return;
    }
    while (!take(chosen)) {
        other = other + 1 < queues ? other + 1 : 0;
        if (other != chosen && take(other))
            early[other] += 1;
    }
}

/* One message at a time: from the permission to send it to its last word. */
static void receive_singly(long begin, long warm_up, long end) {
    uint64_t sum_ns = 0;
    for (long each = begin; each < end; each++) {
        uint64_t start = narthex_time_ns();
        allow(each + 1);
        receive_one();
        if (each >= warm_up)
            sum_ns += narthex_time_ns() - start;
    }
    narthex_report("answer time", (double)sum_ns / (double)(end - warm_up), "ns");
}

static void receive_stream(long begin, long end) {
    allow(end);
    uint64_t start = narthex_time_ns();
    narthex_region_begin("stream");
    for (long each = begin; each < end; each++)
        receive_one();
    narthex_region_end("stream");
    double nanoseconds = (double)(narthex_time_ns() - start);
    narthex_report("bandwidth", (double)(end - begin) * (double)bytes * 1e3 / nanoseconds, "MB/s");
    narthex_report("time a message", nanoseconds / (double)(end - begin), "ns");
}

int main(int count, char **values) {
    narthex_check(count > 1 && narthex_nodes() == 2,
                  "voyager-queues KIND [QUEUES [SKEW-PERCENT [COUNT [WARM-UP [BYTES]]]]] runs on "
                  "two nodes");
    unsigned kind = voyager_kind(values[0], values[1]);
    queues = argument(count, values, 2, "queues", 1, QUEUES_LIMIT, 16);
    long skew = argument(count, values, 3, "skew in percent", 0, 1000, 100);
    long measured = argument(count, values, 4, "count", 1, 1000000, 500);
    long warm_up = argument(count, values, 5, "warm-up", 0, 1000000, 200);
    bytes = (size_t)argument(count, values, 6, "bytes", 4, VOYAGER_PAYLOAD_LIMIT, 4);
    narthex_check(bytes % sizeof(word) == 0, "%zu bytes are not whole words", bytes);
    narthex_register_handler(GO, on_go);
    prepare_choices((double)skew / 100);
    open_all(kind);
    narthex_barrier();
    if (narthex_node() == 0) {
        send_up_to(0, warm_up + 2 * measured);
    } else {
        receive_singly(0, warm_up, warm_up + measured);
        receive_stream(warm_up + measured, warm_up + 2 * measured);
    }
    narthex_barrier();
    return 0;
}
