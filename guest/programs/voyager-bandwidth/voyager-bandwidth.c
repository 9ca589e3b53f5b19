/* The bandwidth of basic messages of StarT-Voyager (Table 1): node 0 sends a stream of them to
 * node 1.
 *
 *     voyager-bandwidth TRANSMIT RECEIVE [BYTES [COUNT [WARM-UP [SLOTS]]]]
 *
 * TRANSMIT and RECEIVE say who serves the two queues: resident, nonresident or hybrid. By default
 * 84 bytes, 2000 messages, 200 to warm up, queues of 32 slots. See README.md. */
#include "../arguments.h"
#include "../voyager_pair.h"

enum { PREPARED = 64 }; /* payloads that the sender has, so that it need not make them */

static size_t bytes;
static struct voyager_queue queue;

static void send_all(uint64_t count) {
    static _Alignas(64) word payloads[PREPARED][VOYAGER_PAYLOAD_LIMIT / sizeof(word)];
    for (uint64_t each = 0; each < PREPARED; each++)
        write_words(payloads[each], bytes, each);
    unsigned destination = voyager_destination(1, FIRST_OWN_QUEUE);
    narthex_barrier();
    for (uint64_t sent = 0; sent < count; sent++)
        voyager_send(&queue, destination, 0, payloads[sent % PREPARED], bytes);
}

/* Reads every word of a message where it is; whether their sum is right. Checking each word would
 * take the receiver longer than the message does. */
static bool has_right_sum(const struct voyager_message *message, uint64_t key) {
    const word *data = message->payload;
    size_t words = bytes / sizeof *data;
    word sum = 0;
    for (size_t index = 0; index < words; index++)
        sum += data[index];
    word wanted = (word)words * word_at(key, 0) + (word)(words * (words - 1) / 2);
    return sum == wanted && message->bytes == bytes && message->source == 0;
}

static void receive_message(uint64_t number) {
    struct voyager_message message;
    while (!voyager_arrived(&queue, &message))
        ;
    narthex_check(has_right_sum(&message, number % PREPARED), "message %llu of %zu bytes is wrong",
                  (unsigned long long)number, bytes);
    voyager_free(&queue);
}

static void receive_all(uint64_t measured, uint64_t warm_up) {
    narthex_barrier();
    for (uint64_t each = 0; each < warm_up; each++)
        receive_message(each);
    uint64_t begin_ns = narthex_time_ns(), begin_cycles = narthex_cycles();
    narthex_region_begin("stream");
    for (uint64_t each = warm_up; each < warm_up + measured; each++)
        receive_message(each);
    narthex_region_end("stream");
    uint64_t cycles = narthex_cycles() - begin_cycles;
    double nanoseconds = (double)(narthex_time_ns() - begin_ns);
    narthex_report("bandwidth", (double)(measured * bytes) * 1e3 / nanoseconds, "MB/s");
    narthex_report("cycles a packet", (double)cycles / (double)measured, "cycles");
}

int main(int count, char **values) {
    narthex_check(count > 2 && narthex_nodes() > 1,
                  "voyager-bandwidth TRANSMIT RECEIVE [BYTES [COUNT [WARM-UP [SLOTS]]]] runs on "
                  "two nodes");
    unsigned transmit = voyager_kind(values[0], values[1]);
    unsigned receive = voyager_kind(values[0], values[2]);
    bytes = (size_t)argument(count, values, 3, "bytes", 4, VOYAGER_PAYLOAD_LIMIT, 84);
    long measured = argument(count, values, 4, "count", 1, 1000000000, 2000);
    long warm_up = argument(count, values, 5, "warm-up", 0, 1000000000, 200);
    unsigned slots = (unsigned)argument(count, values, 6, "slots", 1, 4096, 32);
    narthex_check(bytes % sizeof(word) == 0, "%zu bytes are not whole words", bytes);
    if (narthex_node() == 0) {
        voyager_check(voyager_open_transmit(&queue, FIRST_OWN_QUEUE, transmit, slots),
                      "voyager_open_transmit");
        send_all((uint64_t)(measured + warm_up));
        narthex_check(voyager_status(&queue) == VOYAGER_STATUS_OPEN, "the queue stopped: status %u",
                      voyager_status(&queue));
    } else if (narthex_node() == 1) {
        voyager_check(voyager_open_receive(&queue, FIRST_OWN_QUEUE, receive, slots),
                      "voyager_open_receive");
        receive_all((uint64_t)measured, (uint64_t)warm_up);
    } else {
        narthex_barrier();
    }
    return 0;
}
