/* All processes read memory of process 0 and add to a word of it at once, over queue pairs of their
 * own: each read brings what is there, and no addition is lost.
 *
 *     verbs-fetch [ROUNDS [BYTES [TIMEOUT]]]    4.096 us times 2 to its power, 0: none */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../pattern.h"
#include "narthex.h"

enum { LARGEST = 8192, PAGE = 4096, MOST = 16, FETCHES = 4, ADDRESSES = 1 };
enum { FOR_PEERS = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

/* Process 0 has a queue pair for each other process, and each of these has one. */
struct addresses {
    uint64_t memory;
    uint32_t key, pair;
};

static struct ibv_cq *completions;
static struct ibv_qp *pairs[MOST];
static struct ibv_mr *memory;
static struct addresses peers[MOST];
static int known;
static uint8_t timeout;
static char *data; /* a word that is added to, a page on what is read */

static void on_addresses(int source, const void *payload, size_t length) {
    (void)length;
    memcpy(&peers[source], payload, sizeof *peers);
    known += 1;
}

static void check(bool condition, const char *call) {
    narthex_check(condition, "process %d: %s fails", narthex_node(), call);
}

static void connect_to(int peer) {
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .qp_access_flags = FOR_PEERS,
                               .port_num = 1,
                               .path_mtu = IBV_MTU_256,
                               .dest_qp_num = peers[peer].pair,
                               .ah_attr = {.dlid = (uint16_t)peer, .port_num = 1},
                               .timeout = timeout,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .max_rd_atomic = FETCHES,
                               .max_dest_rd_atomic = FETCHES};
    int failed = ibv_modify_qp(
        pairs[peer], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr.qp_state = IBV_QPS_RTR;
    failed |= ibv_modify_qp(pairs[peer], &attr,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr.qp_state = IBV_QPS_RTS;
    failed |= ibv_modify_qp(pairs[peer], &attr,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    check(!failed, "ibv_modify_qp");
}

static void open_all(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    narthex_check(devices && devices[0], "there is no device with verbs: choose --interface Verbs");
    struct ibv_context *context = ibv_open_device(devices[0]);
    struct ibv_pd *domain = ibv_alloc_pd(context);
    data = aligned_alloc(PAGE, PAGE + LARGEST);
    check(data, "aligned_alloc");
    memset(data, 0, PAGE + LARGEST);
    memory = ibv_reg_mr(domain, data, PAGE + LARGEST, IBV_ACCESS_LOCAL_WRITE | FOR_PEERS);
    completions = ibv_create_cq(context, 64, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {.send_cq = completions,
                                    .recv_cq = completions,
                                    .cap = {.max_send_wr = 8, .max_recv_wr = 1},
                                    .qp_type = IBV_QPT_RC};
    narthex_register_handler(ADDRESSES, on_addresses);
    narthex_barrier();
    int own = narthex_node(), others = narthex_nodes() - 1;
    for (int peer = own == 0; peer < (own == 0 ? narthex_nodes() : 1); peer++) {
        pairs[peer] = ibv_create_qp(domain, &init);
        check(pairs[peer], "ibv_create_qp");
        struct addresses told = {(uintptr_t)data, memory->rkey, pairs[peer]->qp_num};
        narthex_send(peer, ADDRESSES, &told, sizeof told);
    }
    while (known < (own == 0 ? others : 1))
        narthex_poll();
    for (int peer = 0; peer < narthex_nodes(); peer++)
        if (pairs[peer])
            connect_to(peer);
}

static void post(enum ibv_wr_opcode opcode, uint64_t id, size_t offset, size_t bytes) {
    struct ibv_sge part = {(uintptr_t)data + offset, (uint32_t)bytes, memory->lkey};
    struct ibv_send_wr wr = {.wr_id = id,
                             .sg_list = &part,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    if (opcode == IBV_WR_RDMA_READ) {
        wr.wr.rdma.remote_addr = peers[0].memory + PAGE;
        wr.wr.rdma.rkey = peers[0].key;
    } else {
        wr.wr.atomic.remote_addr = peers[0].memory;
        wr.wr.atomic.rkey = peers[0].key;
        wr.wr.atomic.compare_add = 1;
    }
    check(ibv_post_send(pairs[0], &wr, &bad) == 0, "ibv_post_send");
}

/* Two additions around a read: the word grows from the first one to the second, and from round to
 * round. */
static void fetch(long rounds, size_t bytes) {
    volatile uint64_t *before = (volatile uint64_t *)(void *)data;
    for (long round = 0; round < rounds; round++) {
        uint64_t last = before[1];
        memset(data + PAGE, 0, bytes);
        post(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0, sizeof *before);
        post(IBV_WR_RDMA_READ, 1, PAGE, bytes);
        post(IBV_WR_ATOMIC_FETCH_AND_ADD, 2, sizeof *before, sizeof *before);
        struct ibv_wc wc;
        for (uint64_t each = 0; each < 3; each++) {
            while (ibv_poll_cq(completions, 1, &wc) == 0)
                ;
            narthex_check(wc.status == IBV_WC_SUCCESS && wc.wr_id == each,
                          "process %d: request %d: %s", narthex_node(), (int)each,
                          ibv_wc_status_str(wc.status));
        }
        pattern_check(data + PAGE, bytes, 7);
        narthex_check(before[0] < before[1] && (round == 0 || last < before[0]),
                      "process %d, round %ld: the word was %d and then %d", narthex_node(), round,
                      (int)before[0], (int)before[1]);
    }
}

int main(int count, char **values) {
    long rounds = argument(count, values, 1, "rounds", 1, 1000000, 10);
    size_t bytes = (size_t)argument(count, values, 2, "bytes", 1, LARGEST, 1000);
    timeout = (uint8_t)argument(count, values, 3, "timeout", 0, 31, 0);
    narthex_check(narthex_nodes() <= MOST, "at most %d processes take part", MOST);
    open_all();
    if (narthex_node() == 0)
        pattern_fill(data + PAGE, bytes, 7);
    narthex_barrier();
    if (narthex_node() > 0)
        fetch(rounds, bytes);
    narthex_barrier();
    long sum = *(volatile long *)(void *)data, all = 2 * rounds * (narthex_nodes() - 1);
    narthex_check(narthex_node() > 0 || sum == all, "%ld additions, the word is %ld", all, sum);
    return 0;
}
