/* Blocks from node 0's memory to all other nodes' at once (Section 3: "multi-cast DMA only needs to
 * invoke Block Bus Operations unit once, followed by multiple invocations of the Block Transmit
 * unit").
 *
 *     voyager-multicast METHOD [BYTES [COUNT [WARM-UP]]]
 *
 * METHOD says how node 0 starts the transfers: calls (of the kernel agent, one for each receiver),
 * commands (its own, for each receiver), or multicast (its own, for all receivers). By default 4096
 * bytes, 8 blocks, 2 to warm up. See README.md. */
#include <errno.h>

#include "../arguments.h"
#include "../pattern.h"
#include "../voyager_pair.h"

enum { BLOCKS = 4, LARGEST = 16384, PAGE = 4096, CHANNEL = 0, SLOTS = 4, GO = 1 };
enum { RETRY_CYCLES = 50, POLL_CYCLES = 100 };
enum method { CALLS, COMMANDS, MULTICAST };

/* At the same address in all processes: a block goes from one to the others. */
static _Alignas(PAGE) char blocks[BLOCKS][LARGEST];

static enum method method;
static size_t bytes;
static long count, warm_up;
static struct voyager_commands commands;
static struct voyager_queue queue;
static int receivers[1 << 16], receivers_count;
static volatile long ready; /* receivers that wait for the next block, since the start */

static void on_ready(int source, const void *payload, size_t length) {
    (void)source, (void)payload, (void)length;
    ready += 1;
}

/* Node 0 */

static void call_for(int rank, const void *block) {
    int error;
    while ((error = voyager_transfer(VOYAGER_DMA_HARDWARE, rank, block, block, bytes, CHANNEL,
                                     FIRST_OWN_QUEUE)) == EAGAIN)
        narthex_pause(RETRY_CYCLES);
    voyager_check(error, "voyager_transfer");
}

static void command_for(const int *ranks, int ranks_count, const void *block) {
    voyager_check(voyager_multicast(&commands, ranks, (size_t)ranks_count, block, block, bytes,
                                    CHANNEL, FIRST_OWN_QUEUE),
                  "voyager_multicast");
}

/* The block has left, without a fault. Polls take the bus from the lines that are read. */
static void await_departure(void) {
    struct voyager_message message;
    while (!voyager_arrived(&queue, &message))
        narthex_pause(POLL_CYCLES);
    narthex_check(*(const word *)message.payload == 0, "a block leaves with fault %u",
                  *(const word *)message.payload);
    voyager_free(&queue);
}

/* Starts the transfers of a block; returns how long the processor is at it, in nanoseconds. */
static uint64_t start_block(const void *block) {
    uint64_t begin = narthex_time_ns();
    if (method == MULTICAST)
        command_for(receivers, receivers_count, block);
    else
        for (int each = 0; each < receivers_count; each++)
            method == CALLS ? call_for(receivers[each], block)
                            : command_for(&receivers[each], 1, block);
    return narthex_time_ns() - begin;
}

static void send_blocks(void) {
    uint64_t starting_ns = 0, all_ns = 0;
    for (long each = 0; each < warm_up + count; each++) {
        char *block = blocks[each % BLOCKS];
        pattern_fill(block, bytes, (uint64_t)each);
        while (ready < (each + 1) * receivers_count)
            narthex_poll();
        uint64_t begin = narthex_time_ns(), starting = start_block(block);
        for (int departed = method == MULTICAST ? 1 : receivers_count; departed > 0; departed--)
            await_departure();
        if (each >= warm_up) {
            starting_ns += starting;
            all_ns += narthex_time_ns() - begin;
        }
    }
    narthex_report("time to start", (double)starting_ns / (double)count, "ns");
    narthex_report("time a block", (double)all_ns / (double)count, "ns");
}

/* The others */

static void set_channel(uint32_t value) {
    const size_t packets = (bytes + VOYAGER_BLOCK_PACKET_BYTES - 1) / VOYAGER_BLOCK_PACKET_BYTES;
    int error = method == CALLS ? voyager_set_channel(CHANNEL, packets, FIRST_OWN_QUEUE, value)
                                : voyager_command_channel(&commands, CHANNEL, (uint32_t)packets,
                                                          FIRST_OWN_QUEUE, value);
    voyager_check(error, "setting a channel");
}

static void receive_blocks(void) {
    for (long each = 0; each < warm_up + count; each++) {
        set_channel((uint32_t)each);
        narthex_send(0, GO, &each, sizeof each);
        struct voyager_message message;
        while (!voyager_arrived(&queue, &message))
            ;
        narthex_check(*(const word *)message.payload == (word)each, "block %ld ends as another one",
                      each);
        voyager_free(&queue);
        pattern_check(blocks[each % BLOCKS], bytes, (uint64_t)each);
    }
}

static enum method method_of(const char *program, const char *name) {
    static const char *const NAMES[] = {"calls", "commands", "multicast"};
    for (unsigned each = 0; each < sizeof NAMES / sizeof NAMES[0]; each++)
        if (strcmp(name, NAMES[each]) == 0)
            return (enum method)each;
    narthex_fail("%s: a method is calls, commands or multicast, not \"%s\"", program, name);
}

int main(int values_count, char **values) {
    narthex_check(values_count > 1 && narthex_nodes() > 1,
                  "voyager-multicast METHOD [BYTES [COUNT [WARM-UP]]] runs on two nodes or more");
    method = method_of(values[0], values[1]);
    bytes = (size_t)argument(values_count, values, 2, "bytes", 1, LARGEST, 4096);
    count = argument(values_count, values, 3, "count", 1, 100000, 8);
    warm_up = argument(values_count, values, 4, "warm-up", 0, 100000, 2);
    for (int rank = 1; rank < narthex_nodes(); rank++)
        receivers[receivers_count++] = rank;
    narthex_register_handler(GO, on_ready);
    voyager_check(voyager_register(blocks, sizeof blocks), "voyager_register");
    voyager_check(voyager_open_receive(&queue, FIRST_OWN_QUEUE, VOYAGER_KIND_RESIDENT, SLOTS),
                  "voyager_open_receive");
    voyager_check(voyager_open_commands(&commands), "voyager_open_commands");
    narthex_barrier();
    if (narthex_node() == 0)
        send_blocks();
    else
        receive_blocks();
    voyager_check((int)voyager_commands_fault(&commands), "a command");
    narthex_barrier();
    return 0;
}
