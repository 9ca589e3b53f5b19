/* The latency of messages of the Virtual Interface Architecture between two programs (Won, Lee,
 * Park and Kim, Section 7.1): "A sender sends a fixed-size message to the receiver and then waits
 * for a message arrive from the receiver."
 *
 *     via-latency [BYTES [COUNT [WARM-UP]]]
 *                        by default 64 bytes, 200 round trips, 50 to warm up
 *
 * See README.md for what is inside the measured times. */
#include <stdbool.h>
#include <stdlib.h>

#include "../arguments.h"
#include "../pattern.h"
#include "messaging/copy.h"
#include "via/endpoint.h"

enum { RECEIVES = 2, COMPLETIONS = 64, LARGEST_PAUSE_CYCLES = 1023, ALIGNMENT = 128, PAGE = 4096 };

/* What is sent, and where it comes to: descriptor and data, each in blocks of its own, large data
 * in pages of their own. */
struct message {
    VIP_DESCRIPTOR *descriptor;
    word *data;
};

static VIP_VI_HANDLE vi;
static VIP_CQ_HANDLE completions; /* of both queues (Figure 2: Send6, Recv5) */
static VIP_MEM_HANDLE memory;
static VIP_UINT32 bytes;
static struct message out, in[RECEIVES];

/* Sums over the measured messages that this process sent and received, in nanoseconds. */
static struct times {
    uint64_t began, writing, posted, arrived, reading;
} times;

static void open_vi(void) {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    size_t each = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    each = each < PAGE ? each : (each + PAGE - 1) / PAGE * PAGE;
    size_t all = PAGE + ((RECEIVES + 1) * each + PAGE - 1) / PAGE * PAGE;
    char *start = aligned_alloc(PAGE, all), *data = start + PAGE;
    narthex_check(start, "node %d has no memory for messages", narthex_node());
    memset(start, 0, all);
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    via_check(VipCreatePtag(nic, &ptag), "VipCreatePtag");
    VIP_MEM_ATTRIBUTES of_memory = {.Ptag = ptag};
    VIP_VI_ATTRIBUTES of_vi = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                               .MaxTransferSize = bytes + sizeof times,
                               .Ptag = ptag};
    via_check(VipRegisterMem(nic, start, all, &of_memory, &memory), "VipRegisterMem");
    via_check(VipCreateCQ(nic, COMPLETIONS, &completions), "VipCreateCQ");
    via_check(VipCreateVi(nic, &of_vi, completions, completions, &vi), "VipCreateVi");
    for (int index = 0; index <= RECEIVES; index++) {
        struct message *message = index < RECEIVES ? &in[index] : &out;
        message->descriptor = (VIP_DESCRIPTOR *)(void *)(start + index * ALIGNMENT);
        message->data = (word *)(void *)(data + (size_t)index * each);
        via_describe(message->descriptor, message->data, memory, bytes);
        if (index < RECEIVES)
            via_check(VipPostRecv(vi, message->descriptor, memory), "VipPostRecv");
    }
    via_connect(nic, vi, 1 - narthex_node(), 0);
}

/* The word of a message, for a step of a key that no other message near it has. */
static inline word word_at(uint64_t key, size_t index) {
    return (word)(key * 0x10001 + index);
}

/* Writes a message and sends it; its times are entered if it is measured. */
static void send(uint64_t key, bool is_measured) {
    volatile word *data = out.data;
    uint64_t begin = narthex_time_ns();
    for (size_t index = 0; index < bytes / sizeof *data; index++)
        data[index] = word_at(key, index);
    uint64_t written = narthex_time_ns();
    via_describe(out.descriptor, out.data, memory, bytes);
    uint64_t posted = narthex_time_ns();
    via_check(VipPostSend(vi, out.descriptor, memory), "VipPostSend");
    if (is_measured) {
        times.began += begin;
        times.writing += written - begin;
        times.posted += posted;
    }
}

/* Polls the completion queue until it tells of a descriptor of the send queue, or of the receive
 * queue. */
static void wait_for(bool is_receive) {
    static unsigned told[2]; /* of either queue, and not waited for yet */
    while (told[is_receive] == 0) {
        VIP_VI_HANDLE whose;
        VIP_BOOLEAN of_receive;
        via_check(VipCQWait(completions, VIP_INFINITE, &whose, &of_receive), "VipCQWait");
        told[of_receive] += 1;
    }
    told[is_receive] -= 1;
}

/* Takes the descriptor back that was sent. */
static void finish_send(void) {
    VIP_DESCRIPTOR *done;
    wait_for(false);
    via_check(VipSendDone(vi, &done), "VipSendDone");
}

/* Waits for a message, reads and checks it. */
static void receive(uint64_t key, bool is_measured) {
    VIP_DESCRIPTOR *done;
    const struct message *message = &in[key % RECEIVES];
    wait_for(true);
    via_check(VipRecvDone(vi, &done), "VipRecvDone");
    uint64_t arrived = narthex_time_ns();
    const volatile word *data = message->data;
    word wrong = 0;
    for (size_t index = 0; index < bytes / sizeof *data; index++)
        wrong |= data[index] ^ word_at(key, index);
    uint64_t read = narthex_time_ns();
    narthex_check(wrong == 0 && done == message->descriptor && done->CS.Length == bytes,
                  "node %d: message %llu of %u bytes is wrong", narthex_node(),
                  (unsigned long long)key, bytes);
    if (is_measured) {
        times.arrived += arrived;
        times.reading += read - arrived;
    }
}

/* Lets the next message but one come to where the last one came. */
static void post_again(uint64_t key) {
    VIP_DESCRIPTOR *descriptor = in[key % RECEIVES].descriptor;
    via_describe(descriptor, in[key % RECEIVES].data, memory, bytes);
    via_check(VipPostRecv(vi, descriptor, memory), "VipPostRecv");
}

static void round_trips(uint64_t rounds, uint64_t warm_up) {
    uint64_t random = random_start(narthex_seed(), 0);
    for (uint64_t round = 0; round < rounds; round++) {
        bool is_measured = round >= warm_up;
        if (round == warm_up)
            narthex_region_begin("round trips");
        if (narthex_node() == 0) {
            narthex_pause(random_next(&random) % (LARGEST_PAUSE_CYCLES + 1));
            send(round, is_measured);
            receive(round, is_measured);
        } else {
            receive(round, is_measured);
            send(round, is_measured);
        }
        post_again(round);
        finish_send();
    }
    narthex_region_end("round trips");
}

/* Node 1 sends its sums; node 0 reports the means. */
static void on_times(int source, const void *payload, size_t length) {
    struct times other;
    (void)source, (void)length;
    memcpy(&other, payload, sizeof other);
    times.began += other.began;
    times.writing += other.writing;
    times.reading += other.reading;
    times.posted += other.posted;
    times.arrived += other.arrived;
}

enum { TIMES = 1 };

static void report(double messages) {
    double latency = (double)(times.arrived - times.posted) / messages;
    narthex_report("latency with user data", (double)(times.arrived - times.began) / messages,
                   "ns");
    narthex_report("latency", latency, "ns");
    narthex_report("user data", (double)times.writing / messages, "ns");
    double reading = (double)times.reading / messages;
    narthex_report("reading", reading, "ns");
    narthex_report("latency until it is read", latency + reading, "ns");
}

int main(int count, char **values) {
    bytes = (VIP_UINT32)argument(count, values, 1, "bytes", 4, 32768, 64);
    long measured = argument(count, values, 2, "count", 1, 1000000000, 200);
    long warm_up = argument(count, values, 3, "warm-up", 0, 1000000000, 50);
    narthex_check(bytes % sizeof(word) == 0, "%u bytes are not whole words", bytes);
    narthex_check(narthex_nodes() == 2, "two processes take part, not %d", narthex_nodes());
    narthex_register_handler(TIMES, on_times);
    open_vi();
    round_trips((uint64_t)(measured + warm_up), (uint64_t)warm_up);
    if (narthex_node() == 1)
        narthex_send(0, TIMES, &times, sizeof times);
    narthex_barrier();
    if (narthex_node() == 0)
        report(2.0 * (double)measured);
    return 0;
}
