/* Latency of unreliable datagrams between process 0, which has one queue pair for all, and each
 * other process in turn.
 *
 *     verbs-datagrams [BYTES [COUNT [WARM-UP [MOST INLINE]]]]
 *                        by default 64 bytes, 200 round trips, 50 to warm up, 188 bytes inline
 *
 * See README.md for what is measured. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../measure.h"
#include "../pattern.h"
#include "narthex.h"
#include "runtime/marker.h"

enum { LARGEST = 4096, DEPTH = 16, MOST_INLINE = 188, PAGE = 4096, MOST_PROCESSES = 64 };
enum { ROOM = sizeof(struct ibv_grh), SLOT = PAGE + LARGEST, QUEUE_KEY = 0x11111111, ASIDE = 0x5a };
enum { NUMBERS = 1 }; /* handler */

static struct ibv_context *context;
static struct ibv_pd *domain;
static struct ibv_cq *completions;
static struct ibv_qp *pair;
static struct ibv_mr *memory;
static struct ibv_ah *peers[MOST_PROCESSES];
static uint32_t numbers[MOST_PROCESSES]; /* of their queue pairs */
static char *in, *out[2]; /* what is sent next is written while the other one may still be read */
static size_t bytes, most_inline;
static int known;
static uint64_t aside_ns; /* spent on writing and checking messages */

static void on_number(int source, const void *payload, size_t length) {
    (void)length;
    memcpy(&numbers[source], payload, sizeof *numbers);
    known += 1;
}

static void check(bool condition, const char *call) {
    narthex_check(condition, "node %d: %s fails", narthex_node(), call);
}

/* Opening */

static void check_bytes(void) {
    struct ibv_port_attr port;
    check(ibv_query_port(context, 1, &port) == 0, "ibv_query_port");
    size_t most = (size_t)128 << port.active_mtu;
    narthex_check(bytes <= most, "a datagram has at most %zu bytes here, not %zu", most, bytes);
}

static void open_device(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    narthex_check(devices && devices[0], "there is no device with verbs: choose --interface Verbs");
    context = ibv_open_device(devices[0]);
    check(context, "ibv_open_device");
    ibv_free_device_list(devices);
    check_bytes();
    size_t all = SLOT + 2 * (size_t)LARGEST;
    char *start = aligned_alloc(PAGE, all);
    check(start, "aligned_alloc");
    memset(start, ASIDE, all);
    out[0] = start + SLOT;
    out[1] = out[0] + LARGEST;
    /* The payload begins with a page; the room is before it. */
    in = start + PAGE - ROOM;
    domain = ibv_alloc_pd(context);
    memory = ibv_reg_mr(domain, start, all, IBV_ACCESS_LOCAL_WRITE);
    completions = ibv_create_cq(context, 2 * DEPTH, NULL, NULL, 0);
    check(memory && completions, "ibv_reg_mr or ibv_create_cq");
}

static void open_pair(void) {
    struct ibv_qp_init_attr init = {.send_cq = completions,
                                    .recv_cq = completions,
                                    .cap = {.max_send_wr = DEPTH,
                                            .max_recv_wr = DEPTH,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1,
                                            .max_inline_data = (uint32_t)most_inline},
                                    .qp_type = IBV_QPT_UD};
    pair = ibv_create_qp(domain, &init);
    check(pair, "ibv_create_qp");
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QUEUE_KEY};
    int failed =
        ibv_modify_qp(pair, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    attr.qp_state = IBV_QPS_RTR;
    failed |= ibv_modify_qp(pair, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    failed |= ibv_modify_qp(pair, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    check(!failed, "ibv_modify_qp");
}

static struct ibv_ah *address_of(uint16_t process) {
    struct ibv_ah_attr attr = {.dlid = process, .port_num = 1};
    struct ibv_ah *address = ibv_create_ah(domain, &attr);
    check(address, "ibv_create_ah");
    return address;
}

static void exchange_numbers(void) {
    narthex_register_handler(NUMBERS, on_number);
    if (narthex_node() > 0) {
        narthex_send(0, NUMBERS, &pair->qp_num, sizeof pair->qp_num);
        return;
    }
    while (known < narthex_nodes() - 1)
        narthex_poll();
    for (int each = 1; each < narthex_nodes(); each++)
        peers[each] = address_of((uint16_t)each);
}

/* Messages */

static void post_receive(void) {
    struct ibv_sge part = {(uintptr_t)in, (uint32_t)(ROOM + bytes), memory->lkey};
    struct ibv_recv_wr receive = {.sg_list = &part, .num_sge = 1}, *bad;
    check(ibv_post_recv(pair, &receive, &bad) == 0, "ibv_post_recv");
}

/* The request that is posted again and again. */
static struct ibv_sge part;
static struct ibv_send_wr request = {.sg_list = &part, .num_sge = 1, .opcode = IBV_WR_SEND};

static void prepare(void) {
    part = (struct ibv_sge){0, (uint32_t)bytes, memory->lkey};
    request.wr.ud.remote_qkey = QUEUE_KEY;
    if (bytes <= most_inline)
        request.send_flags = IBV_SEND_INLINE;
}

/* Posts it. One in DEPTH asks for a completion. */
static void post(const char *payload, struct ibv_ah *address, uint32_t number) {
    static unsigned unsignalled;
    struct ibv_send_wr *bad;
    part.addr = (uintptr_t)payload;
    request.wr.ud.ah = address;
    request.wr.ud.remote_qpn = number;
    unsignalled = (unsignalled + 1) % DEPTH;
    if (unsignalled == DEPTH / 2)
        request.send_flags |= IBV_SEND_SIGNALED;
    ENTER(ACTIVITY_SEND);
    int error = ibv_post_send(pair, &request, &bad);
    LEAVE();
    check(error == 0, "ibv_post_send");
    request.send_flags &= ~(unsigned)IBV_SEND_SIGNALED;
}

/* Waits for a message, and tells who has sent it. */
static struct ibv_wc receive(void) {
    struct ibv_wc ended = {.opcode = IBV_WC_SEND};
    while (ended.opcode != IBV_WC_RECV) {
        while (ibv_poll_cq(completions, 1, &ended) == 0)
            ;
        narthex_check(ended.status == IBV_WC_SUCCESS, "node %d: %s", narthex_node(),
                      ibv_wc_status_str(ended.status));
    }
    return ended;
}

static void check_message(const struct ibv_wc *ended, uint64_t key) {
    narthex_check(ended->byte_len == ROOM + bytes, "node %d: %u bytes have come", narthex_node(),
                  ended->byte_len);
    for (int each = 0; each < ROOM; each++)
        narthex_check(in[each] == ASIDE, "byte %d before the payload has changed", each);
    pattern_check(in + ROOM, bytes, key);
}

static int peer_of(uint64_t round) {
    return 1 + (int)(round % (uint64_t)(narthex_nodes() - 1));
}

static void ask(uint64_t round) {
    int peer = peer_of(round);
    post(out[round % 2], peers[peer], numbers[peer]);
    struct ibv_wc ended = receive();
    post_receive();
    uint64_t start_ns = narthex_time_ns();
    narthex_check(ended.slid == peer && ended.src_qp == numbers[peer],
                  "the answer is of process %u, queue pair %x", ended.slid, ended.src_qp);
    check_message(&ended, 2 * round + 1);
    pattern_fill(out[(round + 1) % 2], bytes, 2 * (round + 1));
    aside_ns += narthex_time_ns() - start_ns;
}

/* The answer to a round is written before; then comes the one to the next round of this process.
 */
static void answer(uint64_t round) {
    struct ibv_wc ended = receive();
    post_receive();
    post(out[round / (uint64_t)(narthex_nodes() - 1) % 2], peers[0], ended.src_qp);
    check_message(&ended, 2 * round);
    uint64_t next = round + (uint64_t)narthex_nodes() - 1;
    pattern_fill(out[next / (uint64_t)(narthex_nodes() - 1) % 2], bytes, 2 * next + 1);
}

static void round_trips(long count, long warm_up) {
    uint64_t start = 0;
    int own = narthex_node();
    pattern_fill(out[0], bytes, own == 0 ? 0 : 2 * (uint64_t)(own - 1) + 1);
    if (own > 0)
        peers[0] = address_of(0);
    narthex_barrier();
    narthex_region_begin(MEASURED_REGION);
    for (long each = 0; each < count + warm_up; each++) {
        if (each == warm_up) {
            aside_ns = 0;
            start = narthex_time_ns();
        }
        if (own == 0)
            ask((uint64_t)each);
        else if (own == peer_of((uint64_t)each))
            answer((uint64_t)each);
    }
    double time_ns = (double)(narthex_time_ns() - start - aside_ns);
    if (own == 0)
        narthex_report("datagram latency", time_ns / (double)count / 2, "ns");
    narthex_barrier();
    narthex_region_end(MEASURED_REGION);
}

int main(int count, char **values) {
    bytes = (size_t)argument(count, values, 1, "bytes", 1, LARGEST, 64);
    long measured = argument(count, values, 2, "count", 1, 1000000000, 200);
    long warm_up = argument(count, values, 3, "warm-up", 0, 1000000000, 50);
    most_inline = (size_t)argument(count, values, 4, "most inline", 0, MOST_INLINE, MOST_INLINE);
    narthex_check(narthex_nodes() >= 2 && narthex_nodes() <= MOST_PROCESSES,
                  "2 to %d processes take part, not %d", MOST_PROCESSES, narthex_nodes());
    open_device();
    open_pair();
    exchange_numbers();
    prepare();
    for (int each = 0; each < DEPTH; each++)
        post_receive();
    round_trips(measured, warm_up);
    return 0;
}
