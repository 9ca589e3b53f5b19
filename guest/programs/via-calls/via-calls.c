/* What the calls take the processor that send and receive a message: by VIPL, over whatever
 * interface there is, and by the verbs that VIPL is built of over queue pairs.
 *
 *     via-calls [vipl|verbs [BYTES [COUNT [WARM-UP]]]]
 *                        by default vipl, 64 bytes, 200 round trips, 50 to warm up
 *
 * See README.md for what is inside the measured times. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../pattern.h"
#include "via/endpoint.h"

enum { PAGE = 4096, LARGEST = 16384, RECEIVES = 2, ENTRIES = 64, DESCRIPTOR = 128 };
enum { INLINE = 220, SEGMENTS = 6, PEER = 1 /* handler */ };

/* One of the two ways. `take` takes what has ended, if something has. */
struct way {
    const char *name;
    void (*open)(void);
    void (*send)(void);
    void (*post_receive)(int index);
    bool (*take)(bool *is_receive);
};

static uint32_t bytes;
static size_t all;
static char *memory, *out, *in[RECEIVES]; /* all of it is registered */

static void check(bool condition, const char *call) {
    narthex_check(condition, "node %d: %s fails", narthex_node(), call);
}

/* By VIPL */

static VIP_VI_HANDLE vi;
static VIP_CQ_HANDLE told;
static VIP_MEM_HANDLE handle;

static VIP_DESCRIPTOR *descriptor(int index) {
    return (VIP_DESCRIPTOR *)(void *)(memory + index * DESCRIPTOR);
}

static void vipl_post_receive(int index) {
    via_describe(descriptor(index), in[index], handle, bytes);
    via_check(VipPostRecv(vi, descriptor(index), handle), "VipPostRecv");
}

static void vipl_open(void) {
    VIP_NIC_HANDLE nic;
    VIP_MEM_ATTRIBUTES of_memory = {0};
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    via_check(VipCreatePtag(nic, &of_memory.Ptag), "VipCreatePtag");
    via_check(VipRegisterMem(nic, memory, all, &of_memory, &handle), "VipRegisterMem");
    via_check(VipCreateCQ(nic, ENTRIES, &told), "VipCreateCQ");
    VIP_VI_ATTRIBUTES of_vi = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                               .MaxTransferSize = LARGEST,
                               .Ptag = of_memory.Ptag};
    via_check(VipCreateVi(nic, &of_vi, told, told, &vi), "VipCreateVi");
    for (int each = 0; each < RECEIVES; each++)
        vipl_post_receive(each);
    via_connect(nic, vi, 1 - narthex_node(), 0);
}

static void vipl_send(void) {
    via_describe(descriptor(RECEIVES), out, handle, bytes);
    via_check(VipPostSend(vi, descriptor(RECEIVES), handle), "VipPostSend");
}

static bool vipl_take(bool *is_receive) {
    VIP_VI_HANDLE whose;
    VIP_BOOLEAN receives;
    VIP_DESCRIPTOR *done;
    if (VipCQDone(told, &whose, &receives) != VIP_SUCCESS)
        return false;
    *is_receive = receives;
    via_check(receives ? VipRecvDone(vi, &done) : VipSendDone(vi, &done), "VipDone");
    return true;
}

/* By verbs: as VIPL does it, each request with a completion, inline if it fits */

static struct ibv_qp *pair;
static struct ibv_cq *completions;
static struct ibv_mr *region;
static uint32_t peer_pair;

static void on_peer(int source, const void *payload, size_t length) {
    (void)source, (void)length;
    memcpy(&peer_pair, payload, sizeof peer_pair);
}

static void verbs_post_receive(int index) {
    struct ibv_sge part = {(uintptr_t)in[index], bytes, region->lkey};
    struct ibv_recv_wr receive = {.sg_list = &part, .num_sge = 1}, *bad;
    check(ibv_post_recv(pair, &receive, &bad) == 0, "ibv_post_recv");
}

static void connect_pair(void) {
    uint32_t own = pair->qp_num;
    narthex_register_handler(PEER, on_peer);
    narthex_send(1 - narthex_node(), PEER, &own, sizeof own);
    while (peer_pair == 0)
        narthex_poll();
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .path_mtu = IBV_MTU_4096,
                               .dest_qp_num = peer_pair,
                               .ah_attr = {.dlid = (uint16_t)(1 - narthex_node()), .port_num = 1},
                               .min_rnr_timer = 1,
                               .timeout = 14,
                               .retry_cnt = 7};
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

static void verbs_open(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    narthex_check(devices && devices[0], "there is no device with verbs: choose --interface Verbs");
    struct ibv_context *context = ibv_open_device(devices[0]);
    check(context, "ibv_open_device");
    struct ibv_pd *domain = ibv_alloc_pd(context);
    region = ibv_reg_mr(domain, memory, all, IBV_ACCESS_LOCAL_WRITE);
    completions = ibv_create_cq(context, 2 * ENTRIES, NULL, NULL, 0);
    check(region && completions, "ibv_reg_mr or ibv_create_cq");
    struct ibv_qp_init_attr init = {.send_cq = completions,
                                    .recv_cq = completions,
                                    .cap = {ENTRIES, ENTRIES, SEGMENTS, SEGMENTS, INLINE},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    pair = ibv_create_qp(domain, &init);
    check(pair, "ibv_create_qp");
    connect_pair();
    for (int each = 0; each < RECEIVES; each++)
        verbs_post_receive(each);
}

static void verbs_send(void) {
    struct ibv_sge part = {(uintptr_t)out, bytes, region->lkey};
    struct ibv_send_wr *bad, request = {.sg_list = &part,
                                        .num_sge = 1,
                                        .opcode = IBV_WR_SEND,
                                        .send_flags = bytes <= INLINE ? IBV_SEND_INLINE : 0};
    check(ibv_post_send(pair, &request, &bad) == 0, "ibv_post_send");
}

static bool verbs_take(bool *is_receive) {
    struct ibv_wc ended;
    if (ibv_poll_cq(completions, 1, &ended) == 0)
        return false;
    check(ended.status == IBV_WC_SUCCESS, "a request");
    *is_receive = ended.opcode == IBV_WC_RECV;
    return true;
}

static const struct way WAYS[] = {
    {"vipl", vipl_open, vipl_send, vipl_post_receive, vipl_take},
    {"verbs", verbs_open, verbs_send, verbs_post_receive, verbs_take},
};

/* Measuring */

enum part { SEND, TAKE_SEND, TAKE_RECEIVE, POST_RECEIVE, PARTS };
static const char *const NAMES[PARTS] = {"post a send", "take a send", "take a receive",
                                         "post a receive"};
static uint64_t spent[PARTS]; /* cycles of this process */

static void wait_for(const struct way *way, bool receive) {
    static unsigned ended[2];
    while (ended[receive] == 0) {
        bool is_receive;
        uint64_t begin = narthex_cycles();
        if (!way->take(&is_receive))
            continue;
        spent[is_receive ? TAKE_RECEIVE : TAKE_SEND] += narthex_cycles() - begin;
        ended[is_receive] += 1;
    }
    ended[receive] -= 1;
}

static void send(const struct way *way) {
    uint64_t begin = narthex_cycles();
    way->send();
    spent[SEND] += narthex_cycles() - begin;
}

static void round_trip(const struct way *way, int index) {
    if (narthex_node() == 0)
        send(way);
    wait_for(way, true);
    if (narthex_node() != 0)
        send(way);
    uint64_t begin = narthex_cycles();
    way->post_receive(index);
    spent[POST_RECEIVE] += narthex_cycles() - begin;
    wait_for(way, false);
}

static const struct way *way_of(const char *program, const char *name) {
    for (size_t each = 0; each < sizeof WAYS / sizeof *WAYS; each++)
        if (strcmp(name, WAYS[each].name) == 0)
            return &WAYS[each];
    narthex_fail("%s: argument 1 is \"%s\"; allowed are vipl and verbs", program, name);
}

int main(int count, char **values) {
    const struct way *way = way_of(values[0], count > 1 ? values[1] : "vipl");
    bytes = (uint32_t)argument(count, values, 2, "bytes", 1, LARGEST, 64);
    long measured = argument(count, values, 3, "count", 1, 1000000000, 200);
    long warm_up = argument(count, values, 4, "warm-up", 0, 1000000000, 50);
    narthex_check(narthex_nodes() == 2, "two processes take part, not %d", narthex_nodes());
    all = PAGE + (RECEIVES + 1) * (size_t)LARGEST;
    memory = aligned_alloc(PAGE, all);
    check(memory, "aligned_alloc");
    memset(memory, 0, all);
    out = memory + PAGE;
    for (int each = 0; each < RECEIVES; each++)
        in[each] = out + (size_t)(each + 1) * LARGEST;
    pattern_fill(out, bytes, 1);
    way->open();
    narthex_barrier();
    uint64_t start = 0;
    for (long each = 0; each < warm_up + measured; each++) {
        if (each == warm_up) {
            memset(spent, 0, sizeof spent);
            start = narthex_time_ns();
        }
        round_trip(way, (int)(each % RECEIVES));
    }
    double rounds = (double)measured, sum = 0;
    double time = (double)(narthex_time_ns() - start) / rounds;
    pattern_check(in[0], bytes, 1);
    for (int part = 0; narthex_node() == 0 && part < PARTS; part++) {
        narthex_report(NAMES[part], (double)spent[part] / rounds, "cycles");
        sum += (double)spent[part] / rounds;
    }
    if (narthex_node() == 0) {
        narthex_report("all calls", sum, "cycles");
        narthex_report("round trip", time, "ns");
    }
    narthex_barrier();
    return 0;
}
