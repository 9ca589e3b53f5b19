/* Latency and bandwidth of the verbs between two processes, in the manner of the perftest programs
 * ib_send_lat, ib_write_lat, ib_read_lat, ib_atomic_lat, ib_write_bw and ib_read_bw: no messaging
 * library in the measured part.
 *
 *     verbs-latency [send|write|read|atomic|bandwidth|read-bandwidth
 *                    [BYTES [COUNT [WARM-UP [MOST INLINE [POST LIST]]]]]]
 *                        by default send, 64 bytes, 200 times, 50 to warm up, 188 bytes inline,
 *                        requests posted one at a time
 *
 * See README.md for what is measured. verbs-events is the same with events. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../measure.h"
#include "../pattern.h"
#include "narthex.h"
#include "runtime/marker.h"

/* What stands between two looks at the completion queue, and how a program waits there. */
#ifndef COMPLETION_CHANNEL
#define COMPLETION_CHANNEL(context) NULL
#define ASK_FOR_EVENTS() ((void)0)
#define WAIT_FOR_EVENT() ((void)0)
#define REPORT_MORE() ((void)0)
#endif

enum {
    LARGEST = 65536,
    DEPTH = 64,
    SIGNAL = 16,
    INLINE = 188,
    MOST_INLINE = 220, /* what the interface takes: half of a BlueFlame register */
    PAGE = 4096,
    BATCH = 8,
    FETCHES = 16
};
enum { FOR_PEERS = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
enum { ADDRESSES = 1 }; /* handler */

/* What a process tells the other one before the verbs can be used. */
struct addresses {
    uint64_t buffer;
    uint32_t key, pair;
};

static struct ibv_context *context;
static struct ibv_pd *domain;
static struct ibv_cq *completions;
static struct ibv_qp *pair;
static struct ibv_mr *memory;
static char *out[2], *in; /* what is sent next is written while the other one may still be read */
static size_t bytes, most_inline;
static struct addresses peer;
static bool knows_peer;
static unsigned unsignalled, signal = SIGNAL;
static uint64_t aside_ns; /* spent on writing and checking messages */

static void on_addresses(int source, const void *payload, size_t length) {
    (void)source, (void)length;
    memcpy(&peer, payload, sizeof peer);
    knows_peer = true;
}

static void check(bool condition, const char *call) {
    narthex_check(condition, "node %d: %s fails", narthex_node(), call);
}

/* Opening and connecting */

static void open_pair(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    narthex_check(devices && devices[0], "there is no device with verbs: choose --interface Verbs");
    context = ibv_open_device(devices[0]);
    check(context, "ibv_open_device");
    ibv_free_device_list(devices);
    size_t all = 3 * (size_t)LARGEST;
    in = aligned_alloc(PAGE, all);
    check(in, "aligned_alloc");
    memset(in, 0, all);
    out[0] = in + LARGEST;
    out[1] = out[0] + LARGEST;
    domain = ibv_alloc_pd(context);
    memory = ibv_reg_mr(domain, in, all, IBV_ACCESS_LOCAL_WRITE | FOR_PEERS);
    completions = ibv_create_cq(context, 2 * DEPTH, NULL, COMPLETION_CHANNEL(context), 0);
    check(memory && completions, "ibv_reg_mr or ibv_create_cq");
    struct ibv_qp_init_attr init = {.send_cq = completions,
                                    .recv_cq = completions,
                                    .cap = {.max_send_wr = DEPTH,
                                            .max_recv_wr = DEPTH,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = (uint32_t)most_inline},
                                    .qp_type = IBV_QPT_RC};
    pair = ibv_create_qp(domain, &init);
    check(pair, "ibv_create_qp");
}

static void exchange_addresses(void) {
    struct addresses own = {(uintptr_t)in, memory->rkey, pair->qp_num};
    narthex_register_handler(ADDRESSES, on_addresses);
    narthex_send(1 - narthex_node(), ADDRESSES, &own, sizeof own);
    while (!knows_peer)
        narthex_poll();
}

static void connect_pair(void) {
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .qp_access_flags = FOR_PEERS,
                               .port_num = 1,
                               .path_mtu = IBV_MTU_4096,
                               .dest_qp_num = peer.pair,
                               .ah_attr = {.dlid = (uint16_t)(1 - narthex_node()), .port_num = 1},
                               .min_rnr_timer = 12,
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .max_rd_atomic = FETCHES,
                               .max_dest_rd_atomic = FETCHES};
    int failed = ibv_modify_qp(
        pair, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.qp_state = IBV_QPS_RTR;
    failed |= ibv_modify_qp(pair, &attr,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr.qp_state = IBV_QPS_RTS;
    failed |= ibv_modify_qp(pair, &attr,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    check(!failed, "ibv_modify_qp");
}

/* Messages */

static void post_receive(void) {
    struct ibv_sge part = {(uintptr_t)in, (uint32_t)bytes, memory->lkey};
    struct ibv_recv_wr receive = {.sg_list = &part, .num_sge = 1}, *bad;
    check(ibv_post_recv(pair, &receive, &bad) == 0, "ibv_post_recv");
}

/* The request that is posted again and again, as the perftest programs prepare theirs; as a list
 * where several are posted `together`. */
static struct ibv_sge part;
static struct ibv_send_wr requests[SIGNAL];
static long together = 1;

static void prepare(enum ibv_wr_opcode opcode) {
    bool is_atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    struct ibv_send_wr request = {.sg_list = &part, .num_sge = 1, .opcode = opcode};
    part = (struct ibv_sge){(uintptr_t)out[0], (uint32_t)bytes, memory->lkey};
    if (is_atomic) {
        request.wr.atomic.remote_addr = peer.buffer;
        request.wr.atomic.rkey = peer.key;
        request.wr.atomic.compare_add = 1;
    } else {
        request.wr.rdma.remote_addr = peer.buffer;
        request.wr.rdma.rkey = peer.key;
    }
    if (bytes <= most_inline && !is_atomic && opcode != IBV_WR_RDMA_READ)
        request.send_flags = IBV_SEND_INLINE;
    for (long each = 0; each < together; each++) {
        requests[each] = request;
        requests[each].next = each + 1 < together ? &requests[each + 1] : NULL;
    }
}

/* Posts the request, or a list of it. One in `signal` asks for a completion. */
static void post(void) {
    struct ibv_send_wr *bad, *last = &requests[together - 1];
    unsignalled += (unsigned)together;
    bool is_signalled = unsignalled >= signal;
    if (is_signalled) {
        unsignalled = 0;
        last->send_flags |= IBV_SEND_SIGNALED;
    }
    ENTER(ACTIVITY_SEND);
    int error = ibv_post_send(pair, requests, &bad);
    LEAVE();
    check(error == 0, "ibv_post_send");
    if (is_signalled)
        last->send_flags &= ~(unsigned)IBV_SEND_SIGNALED;
}

/* Takes what has ended, and returns how many receives there were. */
static int poll_completions(int *sent) {
    struct ibv_wc ended[BATCH];
    int received = 0, count = ibv_poll_cq(completions, BATCH, ended);
    for (int each = 0; each < count; each++) {
        narthex_check(ended[each].status == IBV_WC_SUCCESS, "node %d: %s", narthex_node(),
                      ibv_wc_status_str(ended[each].status));
        if (ended[each].opcode == IBV_WC_RECV)
            received += 1;
        else
            *sent += (int)signal;
    }
    return received;
}

static void write_message(uint64_t message) {
    part.addr = (uintptr_t)out[message / 2 % 2];
    pattern_fill(out[message / 2 % 2], bytes, message);
}

/* Both write the next message, and check the last one, when they have answered: on node 0 that time
 * is taken away, and node 1 is done before the next message comes. */
static void send_and_receive(uint64_t round, bool is_first) {
    int sent = 0;
    if (is_first)
        post();
    while (poll_completions(&sent) == 0)
        WAIT_FOR_EVENT();
    post_receive();
    if (!is_first)
        post();
    uint64_t start_ns = narthex_time_ns();
    pattern_check(in, bytes, 2 * round + is_first);
    write_message(2 * (round + 1) + !is_first);
    aside_ns += narthex_time_ns() - start_ns;
}

/* The last byte tells of a write: it is another one each round. A buffer that is gathered may
 * change when the peer has answered. */
static void write_mark(char mark) {
    out[0][bytes - 1] = mark;
    post();
}

static void write_and_wait(uint64_t round, bool is_first) {
    int sent = 0;
    char mark = (char)(round % 127 + 1);
    const volatile char *last = in + bytes - 1;
    if (is_first)
        write_mark(mark);
    while (*last != mark)
        ;
    if (!is_first)
        write_mark(mark);
    poll_completions(&sent);
}

/* Node 0 asks, and waits until it has what it asked for. */
static void fetch_and_wait(void) {
    int ended = 0;
    post();
    while (poll_completions(&ended), ended == 0)
        WAIT_FOR_EVENT();
}

static void read_and_wait(uint64_t round, bool is_first) {
    (void)round;
    if (is_first)
        fetch_and_wait();
}

/* The word that is added to counts how often. */
static void add_and_wait(uint64_t round, bool is_first) {
    if (!is_first)
        return;
    fetch_and_wait();
    uint64_t before;
    memcpy(&before, out[0], sizeof before);
    narthex_check(before == round, "the word was %llu before addition %llu",
                  (unsigned long long)before, (unsigned long long)round);
}

static double round_trips(long count, long warm_up, void (*round)(uint64_t, bool)) {
    uint64_t start = 0;
    for (long each = 0; each < count + warm_up; each++) {
        if (each == warm_up) {
            aside_ns = 0;
            start = narthex_time_ns();
        }
        round((uint64_t)each, narthex_node() == 0);
    }
    return (double)(narthex_time_ns() - start - aside_ns) / (double)count;
}

/* Node 0 writes or reads, with up to DEPTH requests under way; the time in ns. */
static uint64_t stream(long all, long warm_up) {
    uint64_t start = 0;
    int ended = 0;
    for (long posted = 0; posted < all; posted += together) {
        if (posted == warm_up)
            start = narthex_time_ns();
        while (posted + together - ended > DEPTH) {
            WAIT_FOR_EVENT();
            poll_completions(&ended);
        }
        post();
    }
    while (ended < all) {
        WAIT_FOR_EVENT();
        poll_completions(&ended);
    }
    return narthex_time_ns() - start;
}

static void report_stream(const char *report, long count, long warm_up) {
    long all = (warm_up + count + SIGNAL - 1) / SIGNAL * SIGNAL;
    double time_ns = (double)stream(all, warm_up);
    narthex_report(report, (double)(all - warm_up) * (double)bytes * 1e3 / time_ns, "MB/s");
    narthex_report("message rate", (double)(all - warm_up) * 1e3 / time_ns, "million/s");
}

struct measurement {
    const char *name, *report;
    void (*round)(uint64_t, bool); /* NULL: as many as there can be under way */
    enum ibv_wr_opcode opcode;
    int halves; /* of a round that are reported */
    bool waits; /* for each completion */
};

static const struct measurement MEASUREMENTS[] = {
    {"send", "send latency", send_and_receive, IBV_WR_SEND, 1, false},
    {"write", "write latency", write_and_wait, IBV_WR_RDMA_WRITE, 1, false},
    {"read", "read latency", read_and_wait, IBV_WR_RDMA_READ, 2, true},
    {"atomic", "atomic latency", add_and_wait, IBV_WR_ATOMIC_FETCH_AND_ADD, 2, true},
    {"bandwidth", "write bandwidth", NULL, IBV_WR_RDMA_WRITE, 0, false},
    {"read-bandwidth", "read bandwidth", NULL, IBV_WR_RDMA_READ, 0, false},
};
enum { MEASUREMENT_COUNT = sizeof MEASUREMENTS / sizeof *MEASUREMENTS };

static const struct measurement *measurement_of(const char *program, const char *name) {
    for (int each = 0; each < MEASUREMENT_COUNT; each++)
        if (strcmp(name, MEASUREMENTS[each].name) == 0)
            return &MEASUREMENTS[each];
    narthex_check(false,
                  "%s: argument 1 is \"%s\"; allowed are send, write, read, atomic, bandwidth and "
                  "read-bandwidth",
                  program, name);
    return NULL;
}

int main(int count, char **values) {
    const struct measurement *what = measurement_of(values[0], count > 1 ? values[1] : "send");
    bool adds = what->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    bytes = (size_t)argument(count, values, 2, "bytes", 1, LARGEST, adds ? sizeof(uint64_t) : 64);
    narthex_check(!adds || bytes == sizeof(uint64_t), "atomic operations are of 8 bytes, not %zu",
                  bytes);
    long measured = argument(count, values, 3, "count", 1, 1000000000, 200);
    long warm_up = argument(count, values, 4, "warm-up", 0, 1000000000, 50);
    most_inline = (size_t)argument(count, values, 5, "most inline", 0, MOST_INLINE, INLINE);
    together = argument(count, values, 6, "post list", 1, SIGNAL, 1);
    narthex_check(SIGNAL % together == 0 && warm_up % together == 0,
                  "%s: argument 6 (post list) is \"%ld\"; allowed are 1, 2, 4, 8 and 16, and a "
                  "warm-up of whole lists",
                  values[0], together);
    narthex_check(narthex_nodes() == 2, "two processes take part, not %d", narthex_nodes());
    signal = what->waits ? 1 : SIGNAL;
    open_pair();
    exchange_addresses();
    connect_pair();
    ASK_FOR_EVENTS();
    prepare(what->opcode);
    for (int each = 0; what->opcode == IBV_WR_SEND && each < DEPTH; each++)
        post_receive();
    if (what->opcode == IBV_WR_SEND)
        write_message(narthex_node() != 0);
    bool reads = what->opcode == IBV_WR_RDMA_READ;
    if (reads)
        pattern_fill(in, bytes, 1);
    narthex_barrier();
    narthex_region_begin(MEASURED_REGION);
    if (what->round) {
        double time = round_trips(measured, warm_up, what->round);
        if (narthex_node() == 0)
            narthex_report(what->report, time * what->halves / 2, "ns");
    } else if (narthex_node() == 0) {
        report_stream(what->report, measured, warm_up);
    }
    if (reads && narthex_node() == 0)
        pattern_check(out[0], bytes, 1);
    narthex_barrier();
    narthex_region_end(MEASURED_REGION);
    REPORT_MORE();
    return 0;
}
