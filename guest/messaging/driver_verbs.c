/* Driver of messages over queue pairs (guest/verbs, infiniband/verbs.h), as a messaging library of
 * today uses them.
 *
 * Each process has a reliable connection to each process, itself too. All receive queues are one,
 * whose buffers are posted before and posted again by `REFILL`. A packet goes inline, if it fits;
 * the others are copied to a slot of registered memory and gathered from there. One send in
 * `SIGNAL` asks for a completion, which tells that those before it have ended, too. A sender whose
 * packets find no buffer at the other end is told so, and sends them again after a while (RNR):
 * there are no credits.
 *
 * Queue pairs are created in the order of the ranks, before the program begins. So both ends know
 * their numbers without a message; other libraries exchange them by another network.
 *
 * Where a packet goes the library tells only when it sends it: there is room if there is for every
 * peer. */
#include <stdlib.h>

#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "verbs/include/infiniband/verbs.h"

enum { SENDS = 16, SIGNAL = 8, REFILL = 16, LEAST_RECEIVES = 64, RECEIVES_OF_PEER = 16 };
enum { SLOT_BYTES = 320, ALIGNMENT = 4096, FIRST_PACKET = 0 };
enum { NOT_READY_TIMER = 1 /* 10 us */, TIMEOUT = 14 /* 67 ms */, RETRIES = 7, ALWAYS = 7 };

struct peer {
    struct ibv_qp *pair;
    unsigned sending; /* sends without a completion */
    unsigned unsignalled, next;
    char *slots;
};

static struct ibv_context *device;
static struct ibv_cq *sends, *arrivals;
static struct ibv_srq *receives;
static struct ibv_mr *memory;
static struct peer *peers;
static int count, starved; /* processes; peers to which no packet can go now */
static uint32_t most_inline;
static char *buffers;
static struct ibv_recv_wr refill[REFILL];
static struct ibv_sge refilled[REFILL];
static int empty;              /* buffers that are to be posted again */
static const char *arrived_in; /* the buffer of the packet that has arrived; NULL: none */

static void check(int error, const char *call) {
    narthex_check(error == 0, "node %d: %s fails with error %d", narthex_node(), call, error);
}

/* Starting */

static void post_buffer(char *buffer) {
    refilled[empty].addr = (uintptr_t)buffer;
    refill[empty].wr_id = (uintptr_t)buffer;
    if (++empty < REFILL)
        return;
    struct ibv_recv_wr *bad;
    empty = 0;
    check(ibv_post_srq_recv(receives, refill, &bad), "ibv_post_srq_recv");
}

static void post_buffers(int entries) {
    for (int each = 0; each < REFILL; each++) {
        refilled[each] = (struct ibv_sge){.length = SLOT_BYTES, .lkey = memory->lkey};
        refill[each] = (struct ibv_recv_wr){.next = each + 1 < REFILL ? &refill[each + 1] : NULL,
                                            .sg_list = &refilled[each],
                                            .num_sge = 1};
    }
    for (int each = 0; each < entries; each++)
        post_buffer(buffers + (size_t)each * SLOT_BYTES);
}

static void create_pair(struct ibv_pd *pd, int rank, char *slots) {
    struct ibv_qp_init_attr_ex init = {
        .send_cq = sends,
        .recv_cq = arrivals,
        .srq = receives,
        .cap = {.max_send_wr = SENDS, .max_send_sge = 2, .max_inline_data = most_inline},
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
        .pd = pd,
        .create_flags = IBV_QP_CREATE_PCI_WRITE_END_PADDING};
    peers[rank] = (struct peer){.pair = ibv_create_qp_ex(device, &init), .slots = slots};
    narthex_check(peers[rank].pair, "node %d has no queue pair left for its peers", narthex_node());
    narthex_check(peers[rank].pair->qp_num == VERBS_FIRST_QUEUE_PAIR + (uint32_t)rank,
                  "node %d: a queue pair was created before the messaging library's own",
                  narthex_node());
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    check(ibv_modify_qp(peers[rank].pair, &attr,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
          "ibv_modify_qp");
}

static void connect_pair(int rank) {
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = IBV_MTU_4096,
                               .dest_qp_num = VERBS_FIRST_QUEUE_PAIR + (uint32_t)narthex_node(),
                               .rq_psn = FIRST_PACKET,
                               .sq_psn = FIRST_PACKET,
                               .ah_attr = {.dlid = (uint16_t)rank, .port_num = 1},
                               .min_rnr_timer = NOT_READY_TIMER,
                               .timeout = TIMEOUT,
                               .retry_cnt = RETRIES,
                               .rnr_retry = ALWAYS};
    check(ibv_modify_qp(peers[rank].pair, &attr,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
          "ibv_modify_qp");
    attr.qp_state = IBV_QPS_RTS;
    check(ibv_modify_qp(peers[rank].pair, &attr,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
          "ibv_modify_qp");
}

static void open_all(void) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    count = narthex_nodes();
    int entries = count * RECEIVES_OF_PEER;
    entries = entries < LEAST_RECEIVES ? LEAST_RECEIVES : entries;
    size_t slots = (size_t)(entries + count * SENDS) * SLOT_BYTES;
    slots = (slots + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    buffers = aligned_alloc(ALIGNMENT, slots);
    peers = calloc((size_t)count, sizeof *peers);
    device = list && list[0] ? ibv_open_device(list[0]) : NULL;
    narthex_check(buffers && peers && device, "node %d cannot open its interface", narthex_node());
    ibv_free_device_list(list);
    memset(buffers, 0, slots);
    struct ibv_pd *pd = ibv_alloc_pd(device);
    memory = pd ? ibv_reg_mr(pd, buffers, slots, IBV_ACCESS_LOCAL_WRITE) : NULL;
    sends = ibv_create_cq(device, count * SENDS, NULL, NULL, 0);
    arrivals = ibv_create_cq(device, entries, NULL, NULL, 0);
    struct ibv_srq_init_attr init = {.attr = {.max_wr = (uint32_t)entries, .max_sge = 1}};
    receives = pd ? ibv_create_srq(pd, &init) : NULL;
    narthex_check(memory && sends && arrivals && receives,
                  "node %d has no memory left for packets, or may not pin it", narthex_node());
    most_inline = VERBS_BLUE_FLAME_HALF - 2 * VERBS_SEGMENT - sizeof(uint32_t);
    char *of_sends = buffers + (size_t)entries * SLOT_BYTES;
    for (int rank = 0; rank < count; rank++)
        create_pair(pd, rank, of_sends + (size_t)rank * SENDS * SLOT_BYTES);
    post_buffers(entries);
    for (int rank = 0; rank < count; rank++)
        connect_pair(rank);
}

static void start(const struct narthex_information *machine) {
    (void)machine;
    if (!device)
        open_all();
}

/* Sending */

/* A request is made once, and each message changes what is its own. */
static struct ibv_sge parts[2];
static struct ibv_send_wr request = {.sg_list = parts, .opcode = IBV_WR_SEND};

static void reclaim(void) {
    struct ibv_wc completion;
    while (ibv_poll_cq(sends, 1, &completion) > 0) {
        narthex_check(completion.status == IBV_WC_SUCCESS, "node %d: a message fails: %s",
                      narthex_node(), ibv_wc_status_str(completion.status));
        struct peer *peer = &peers[completion.wr_id];
        starved -= peer->sending == SENDS;
        peer->sending -= SIGNAL;
    }
}

static bool has_room(void) {
    if (starved > 0)
        reclaim();
    return starved == 0;
}

/* The payload goes behind the header; a larger header has a word of zeros more. */
static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    int rank = header_peer(header);
    struct peer *peer = &peers[rank];
    uint64_t front[2] = {header_out((header & ~UINT64_C(0xffff)) | (uint64_t)narthex_node(), extra),
                         0};
    uint32_t in_front = (uint32_t)(sizeof *front + extra);
    parts[0] = (struct ibv_sge){(uintptr_t)front, in_front, 0};
    parts[1] = (struct ibv_sge){(uintptr_t)payload, (uint32_t)bytes, 0};
    request.wr_id = (uint64_t)rank;
    request.num_sge = bytes > 0 ? 2 : 1;
    request.send_flags = IBV_SEND_INLINE;
    if (in_front + bytes > most_inline) {
        char *slot = peer->slots + peer->next * SLOT_BYTES;
        copy(slot, front, in_front);
        copy(slot + in_front, payload, bytes);
        parts[0] = (struct ibv_sge){(uintptr_t)slot, in_front + (uint32_t)bytes, memory->lkey};
        request.num_sge = 1;
        request.send_flags = 0;
    }
    if (++peer->unsignalled == SIGNAL) {
        peer->unsignalled = 0;
        request.send_flags |= IBV_SEND_SIGNALED;
    }
    peer->next = (peer->next + 1) % SENDS;
    starved += ++peer->sending == SENDS;
    struct ibv_send_wr *bad;
    check(ibv_post_send(peer->pair, &request, &bad), "ibv_post_send");
}

/* Receiving */

static inline uint64_t arrived(size_t extra) {
    if (!arrived_in) {
        struct ibv_wc completion;
        if (ibv_poll_cq(arrivals, 1, &completion) == 0)
            return 0;
        narthex_check(completion.status == IBV_WC_SUCCESS, "node %d: a packet fails: %s",
                      narthex_node(), ibv_wc_status_str(completion.status));
        arrived_in = (const char *)(uintptr_t)completion.wr_id;
    }
    return header_in(*(const volatile uint64_t *)(const void *)arrived_in, extra);
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    copy_in(payload, arrived_in + sizeof(uint64_t), bytes, extra);
    post_buffer((char *)(uintptr_t)arrived_in);
    arrived_in = NULL;
}

SEND_DRIVER(send_verbs, start, has_room, send);
RECEIVE_DRIVER(receive_verbs, start, arrived, receive, NULL);
