/* Messages a second: node 0 sends trains of messages to node 1, as fast as flow control lets it.
 *
 *     message-rate [TRAIN [BYTES [TRAINS [WARM-UP]]]]
 *                        by default 32 messages of 56 bytes a train, 100 trains, 20 before
 *
 * A train is one message of the library, which cuts it into packets: with packets of 64 bytes, 8 of
 * which are the header, each of its 56 bytes is a packet of its own. So an interface sees messages
 * that follow each other at once, and may announce, report and write back several together.
 *
 * See README.md for what is checked, and what the region "main" has. */
#include <stdbool.h>
#include <stdlib.h>

#include "../arguments.h"
#include "../measure.h"
#include "../pattern.h"

enum { TRAIN = 1, DONE = 2 }; /* handlers */

static size_t train_bytes;
static long train, trains, warm_up, received;
static bool is_done, *is_here;

/* The train's number is its first word; the rest is a pattern, checked before the clock starts.
 * Trains may overtake each other. */
static void on_train(int source, const void *payload, size_t bytes) {
    uint64_t number;
    memcpy(&number, payload, sizeof number);
    narthex_check(bytes == train_bytes && number < (uint64_t)(warm_up + trains) && !is_here[number],
                  "node %d receives train %llu of %zu bytes from node %d: wrong, or twice",
                  narthex_node(), (unsigned long long)number, bytes, source);
    is_here[number] = true;
    if (number < (uint64_t)warm_up)
        pattern_check((const char *)payload + sizeof number, bytes - sizeof number, 0);
    received += 1;
}

static void on_done(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    is_done = true;
}

static void send_trains(char *payload, long first, long last) {
    for (long number = first; number < last; number++) {
        memcpy(payload, &(uint64_t){(uint64_t)number}, sizeof(uint64_t));
        narthex_send(1, TRAIN, payload, train_bytes);
    }
}

static void receive_trains(long last) {
    while (received < last)
        narthex_poll();
}

/* Trains from `first` to `last`, and until node 0 knows that they are there. */
static void pass(char *payload, long first, long last) {
    is_done = false;
    if (narthex_node() == 0) {
        send_trains(payload, first, last);
        while (!is_done)
            narthex_poll();
    } else {
        receive_trains(last);
        narthex_send(0, DONE, NULL, 0);
    }
}

int main(int count, char **values) {
    long limit = (long)narthex_payload_limit();
    train = argument(count, values, 1, "train", 1, 4096, 32);
    long bytes = argument(count, values, 2, "bytes", 8, limit / train, 56);
    trains = argument(count, values, 3, "trains", 1, 1000000000, 100);
    warm_up = argument(count, values, 4, "warm-up", 1, 1000000000, 20);
    narthex_check(narthex_nodes() == 2, "two processes take part, not %d", narthex_nodes());
    train_bytes = (size_t)(train * bytes);
    char *payload = malloc(train_bytes);
    is_here = calloc((size_t)(warm_up + trains), sizeof *is_here);
    narthex_check(payload && is_here, "node %d has no memory for %zu bytes", narthex_node(),
                  train_bytes);
    pattern_fill(payload + sizeof(uint64_t), train_bytes - sizeof(uint64_t), 0);
    narthex_register_handler(TRAIN, on_train);
    narthex_register_handler(DONE, on_done);
    narthex_barrier();
    pass(payload, 0, warm_up);
    narthex_region_begin(MEASURED_REGION);
    uint64_t start_ns = narthex_time_ns();
    pass(payload, warm_up, warm_up + trains);
    uint64_t elapsed_ns = narthex_time_ns() - start_ns;
    narthex_region_end(MEASURED_REGION);
    if (narthex_node() == 0)
        narthex_report("message rate", (double)(train * trains) * 1e3 / (double)elapsed_ns,
                       "million/s");
    free(payload);
    free(is_here);
    return 0;
}
