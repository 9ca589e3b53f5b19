/* The bandwidth of block transfers of StarT-Voyager (Table 3): node 0 moves blocks of its memory to
 * node 1's.
 *
 *     voyager-block-transfer METHOD [BYTES [COUNT [WARM-UP]]]
 *
 * METHOD says who sends and receives: hardware, firmware (at both ends), or firmware-sends
 * (hardware receives). By default 4096 bytes, 32 blocks, 4 to warm up. See README.md. */
#include <errno.h>

#include "../arguments.h"
#include "../pattern.h"
#include "../voyager_pair.h"

enum {
    BLOCKS = 8,
    LARGEST = 16384,
    PAGE = 4096,
    CHANNEL = 0,
    SLOTS = 4,
    GO = 1,
    RETRY_CYCLES = 50
};

/* At the same address in both processes: a block goes from one to the other. */
static _Alignas(PAGE) char blocks[BLOCKS][LARGEST];

static size_t bytes;
static volatile int rounds_allowed;

static void on_go(int source, const void *payload, size_t length) {
    (void)source, (void)payload, (void)length;
    rounds_allowed += 1;
}

static void send_blocks(unsigned method, long count) {
    int error;
    for (long each = 0; each < count; each++) {
        void *block = blocks[each % BLOCKS];
        while ((error = voyager_transfer(method, 1, block, block, bytes, CHANNEL,
                                         VOYAGER_NOBODY)) == EAGAIN)
            narthex_pause(RETRY_CYCLES);
        voyager_check(error, "voyager_transfer");
    }
}

/* Node 0: a round is sent when node 1 says so. */
static void send_round(unsigned method, long count, int round) {
    narthex_barrier();
    for (uint64_t each = 0; each < BLOCKS; each++)
        pattern_fill(blocks[each], bytes, (uint64_t)round * BLOCKS + each);
    narthex_barrier();
    while (rounds_allowed < round)
        narthex_poll();
    send_blocks(method, count);
}

/* Node 1: the time from the permission until all of a round has come, in nanoseconds. */
static uint64_t receive_round(struct voyager_queue *queue, long count, int round) {
    size_t packets =
        (size_t)count * ((bytes + VOYAGER_BLOCK_PACKET_BYTES - 1) / VOYAGER_BLOCK_PACKET_BYTES);
    narthex_barrier();
    narthex_barrier();
    voyager_check(voyager_set_channel(CHANNEL, packets, FIRST_OWN_QUEUE, (uint32_t)round),
                  "voyager_set_channel");
    uint64_t begin = narthex_time_ns();
    narthex_send(0, GO, &begin, sizeof begin);
    struct voyager_message message;
    while (!voyager_arrived(queue, &message))
        ;
    uint64_t end = narthex_time_ns();
    narthex_check(*(const word *)message.payload == (word)round, "round %d ends as another one",
                  round);
    voyager_free(queue);
    for (uint64_t each = 0; each < BLOCKS && each < (uint64_t)count; each++)
        pattern_check(blocks[each], bytes, (uint64_t)round * BLOCKS + each);
    return end - begin;
}

static unsigned method_of(const char *program, const char *name) {
    static const char *const NAMES[] = {"hardware", "firmware", "firmware-sends"};
    for (unsigned each = 0; each < sizeof NAMES / sizeof NAMES[0]; each++)
        if (strcmp(name, NAMES[each]) == 0)
            return VOYAGER_DMA_HARDWARE + each;
    narthex_fail("%s: a method is hardware, firmware or firmware-sends, not \"%s\"", program, name);
}

int main(int count, char **values) {
    narthex_check(count > 1 && narthex_nodes() == 2,
                  "voyager-block-transfer METHOD [BYTES [COUNT [WARM-UP]]] runs on two nodes");
    unsigned method = method_of(values[0], values[1]);
    bytes = (size_t)argument(count, values, 2, "bytes", 64, LARGEST, 4096);
    long measured = argument(count, values, 3, "count", 1, 100000, 32);
    long warm_up = argument(count, values, 4, "warm-up", 1, 100000, 4);
    narthex_register_handler(GO, on_go);
    voyager_check(voyager_register(blocks, sizeof blocks), "voyager_register");
    if (narthex_node() == 0) {
        send_round(method, warm_up, 1);
        send_round(method, measured, 2);
    } else {
        struct voyager_queue queue;
        voyager_check(voyager_open_receive(&queue, FIRST_OWN_QUEUE, VOYAGER_KIND_RESIDENT, SLOTS),
                      "voyager_open_receive");
        receive_round(&queue, warm_up, 1);
        uint64_t nanoseconds = receive_round(&queue, measured, 2);
        narthex_report("bandwidth", (double)measured * (double)bytes * 1e3 / (double)nanoseconds,
                       "MB/s");
        narthex_report("time a block", (double)nanoseconds / (double)measured, "ns");
    }
    narthex_barrier();
    return 0;
}
