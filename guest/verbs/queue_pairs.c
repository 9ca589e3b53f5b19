/* Queue pairs: creating them, and changing their states. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/provider.h"

/* Basic blocks of the largest request of a queue pair, and the inline data that it has room for. */
static uint32_t blocks_of(const struct ibv_qp_cap *cap, enum ibv_qp_type type) {
    /* An atomic operation has its operands beside the one entry that it gathers. */
    size_t entries = cap->max_send_sge > 2 ? cap->max_send_sge : 2;
    size_t gathered = entries * sizeof(struct segment);
    size_t inlined = (sizeof(uint32_t) + cap->max_inline_data + VERBS_SEGMENT - 1) / VERBS_SEGMENT *
                     VERBS_SEGMENT;
    size_t remote = has_datagrams(type) ? VERBS_ADDRESS : VERBS_SEGMENT;
    size_t bytes = VERBS_SEGMENT + remote + (gathered > inlined ? gathered : inlined);
    return (uint32_t)((bytes + VERBS_BASIC_BLOCK - 1) / VERBS_BASIC_BLOCK);
}

static bool is_sound(const struct device_context *device, const struct ibv_qp_init_attr *init) {
    const struct ibv_qp_cap *cap = &init->cap;
    bool receives = init->srq || (cap->max_recv_wr <= device->most_entries &&
                                  cap->max_recv_sge <= MOST_SEGMENTS);
    bool is_datagram = has_datagrams(init->qp_type);
    return (init->qp_type == IBV_QPT_RC || is_datagram) && init->send_cq && init->recv_cq &&
           receives && cap->max_send_sge <= MOST_SEGMENTS &&
           cap->max_inline_data <=
               device->most_inline - (is_datagram ? VERBS_ADDRESS - VERBS_SEGMENT : 0) &&
           cap->max_send_wr <= device->most_entries / SEGMENTS_OF_BLOCK;
}

enum { PAYLOAD_IN_COMPLETIONS = 1, WHOLE_BLOCKS = 2, DATAGRAMS = 4 };

static int create(struct ibv_pd *pd, struct ibv_qp_init_attr *init, uint64_t flags,
                  struct queue_pair *own) {
    struct device_context *device = device_of(pd->context);
    if (init->cap.max_send_sge == 0)
        init->cap.max_send_sge = 1;
    uint32_t requests = init->cap.max_send_wr ? init->cap.max_send_wr : 1;
    uint32_t logarithm = verbs_logarithm((uint64_t)requests * blocks_of(&init->cap, init->qp_type));
    size_t blocks = (size_t)1 << logarithm;
    own->ring = verbs_allocate(blocks * VERBS_BASIC_BLOCK + RECORD_BYTES);
    own->ids = calloc(blocks, sizeof *own->ids);
    own->ends = calloc(blocks, sizeof *own->ends);
    own->opcodes = calloc(blocks, 1);
    if (!own->ring || !own->ids || !own->ends || !own->opcodes)
        return ENOMEM;
    own->record = (uint32_t *)(void *)(own->ring + blocks * VERBS_BASIC_BLOCK);
    own->mask = (uint32_t)blocks - 1;
    own->most_blocks = blocks_of(&init->cap, init->qp_type);
    own->signals_all = init->sq_sig_all;
    own->receives =
        init->srq ? &((struct shared_receive_queue *)(void *)init->srq)->queue : &own->own;
    if (!init->srq) {
        uint32_t entries = init->cap.max_recv_wr ? init->cap.max_recv_wr : 1;
        uint32_t segments = init->cap.max_recv_sge ? init->cap.max_recv_sge : 1;
        int error = verbs_create_receive_queue(pd, entries, segments, &own->own);
        if (error)
            return error;
        init->cap.max_recv_wr = own->own.mask + 1;
        init->cap.max_recv_sge = own->own.segments;
    }
    uint64_t words[VERBS_REQUEST_WORDS] = {(uintptr_t)own->ring,
                                           logarithm,
                                           init->send_cq->handle,
                                           init->recv_cq->handle,
                                           own->receives->number,
                                           pd->handle,
                                           flags};
    int error = verbs_request(pd->context, VERBS_CREATE_QUEUE_PAIR, words);
    if (error) {
        if (!init->srq)
            verbs_destroy_receive_queue(pd->context, &own->own);
        return error;
    }
    own->cap = init->cap;
    uint32_t number = (uint32_t)words[7];
    own->qp = (struct ibv_qp){.context = pd->context,
                              .qp_context = init->qp_context,
                              .pd = pd,
                              .send_cq = init->send_cq,
                              .recv_cq = init->recv_cq,
                              .srq = init->srq,
                              .handle = number,
                              .qp_num = number,
                              .state = IBV_QPS_RESET,
                              .qp_type = has_datagrams(init->qp_type) ? IBV_QPT_UD : IBV_QPT_RC};
    device->pairs[number - VERBS_FIRST_QUEUE_PAIR] = own;
    device->users += 1;
    return 0;
}

static void release(struct queue_pair *own) {
    free(own->ring);
    free(own->ids);
    free(own->ends);
    free(own->opcodes);
    free(own);
}

static struct ibv_qp *create_with(struct ibv_pd *pd, struct ibv_qp_init_attr *init,
                                  uint64_t flags) {
    if (!is_sound(device_of(pd->context), init)) {
        errno = EINVAL;
        return NULL;
    }
    if (has_datagrams(init->qp_type))
        flags |= DATAGRAMS;
    struct queue_pair *own = calloc(1, sizeof *own);
    int error = own ? create(pd, init, flags, own) : ENOMEM;
    if (error) {
        if (own)
            release(own);
        errno = error;
        return NULL;
    }
    return &own->qp;
}

VERB struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr) {
    return create_with(pd, qp_init_attr, PAYLOAD_IN_COMPLETIONS);
}

VERB struct ibv_qp *ibv_create_qp_ex(struct ibv_context *context,
                                     struct ibv_qp_init_attr_ex *qp_init_attr_ex) {
    struct ibv_qp_init_attr_ex *ex = qp_init_attr_ex;
    uint32_t flags = ex->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? ex->create_flags : 0;
    if (!(ex->comp_mask & IBV_QP_INIT_ATTR_PD) || ex->pd->context != context ||
        (flags & ~(uint32_t)IBV_QP_CREATE_PCI_WRITE_END_PADDING)) {
        errno = EINVAL;
        return NULL;
    }
    struct ibv_qp_init_attr init = {ex->qp_context, ex->send_cq, ex->recv_cq,   ex->srq,
                                    ex->cap,        ex->qp_type, ex->sq_sig_all};
    struct ibv_qp *created =
        create_with(ex->pd, &init, PAYLOAD_IN_COMPLETIONS | (flags ? WHOLE_BLOCKS : 0));
    ex->cap = init.cap;
    return created;
}

/* Times of the specification's Table 45, in units of 10 us; code 0 is 655,360 us. */
static uint64_t delay_of(uint8_t code) {
    static const uint16_t TIMES[32] = {0,    1,    2,    3,     4,     6,     8,     12,
                                       16,   24,   32,   48,    64,    96,    128,   192,
                                       256,  384,  512,  768,   1024,  1536,  2048,  3072,
                                       4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
    uint64_t units = (code & 31) == 0 ? 65536 : TIMES[code & 31];
    return units * 10000;
}

enum {
    FOR_INIT = IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT,
    FOR_RTR = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MIN_RNR_TIMER |
        IBV_QP_MAX_DEST_RD_ATOMIC,
    FOR_RTS = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
        IBV_QP_MAX_QP_RD_ATOMIC,
};

static int set_state(struct queue_pair *own, enum ibv_qp_state state, uint64_t first) {
    uint64_t words[VERBS_REQUEST_WORDS] = {own->qp.qp_num, (uint64_t)state, first};
    return verbs_request(own->qp.context, VERBS_SET_STATE, words);
}

static int connect_to(struct queue_pair *own, const struct ibv_qp_attr *attr) {
    uint64_t words[VERBS_REQUEST_WORDS] = {own->qp.qp_num,
                                           attr->ah_attr.dlid,
                                           attr->dest_qp_num,
                                           attr->rq_psn,
                                           UINT64_C(128) << attr->path_mtu,
                                           own->access,
                                           delay_of(attr->min_rnr_timer),
                                           attr->max_dest_rd_atomic};
    return verbs_request(own->qp.context, VERBS_CONNECT, words);
}

static int become_sender(struct queue_pair *own, const struct ibv_qp_attr *attr) {
    uint64_t words[VERBS_REQUEST_WORDS] = {own->qp.qp_num,     IBV_QPS_RTS,     attr->sq_psn,
                                           attr->timeout,      attr->retry_cnt, attr->rnr_retry,
                                           attr->max_rd_atomic};
    return verbs_request(own->qp.context, VERBS_SET_STATE, words);
}

VERB int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask) {
    struct queue_pair *own = (struct queue_pair *)(void *)qp;
    if (!(attr_mask & IBV_QP_STATE))
        return EINVAL;
    enum ibv_qp_state state = attr->qp_state;
    int error = EINVAL;
    if (state == IBV_QPS_ERR) {
        error = set_state(own, state, 0);
    } else if (state == IBV_QPS_INIT && (attr_mask & FOR_INIT) == FOR_INIT && attr->port_num == 1) {
        own->access = attr->qp_access_flags;
        error = set_state(own, state, 0);
    } else if (state == IBV_QPS_RTR && (attr_mask & FOR_RTR) == FOR_RTR) {
        error = connect_to(own, attr);
    } else if (state == IBV_QPS_RTS && (attr_mask & FOR_RTS) == FOR_RTS) {
        error = become_sender(own, attr);
    }
    if (!error)
        qp->state = state;
    return error;
}

VERB int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
                      struct ibv_qp_init_attr *init_attr) {
    struct queue_pair *own = (struct queue_pair *)(void *)qp;
    uint64_t words[VERBS_REQUEST_WORDS] = {qp->qp_num};
    int error = verbs_request(qp->context, VERBS_QUERY_QUEUE_PAIR, words);
    (void)attr_mask;
    if (error)
        return error;
    qp->state = (enum ibv_qp_state)words[1];
    memset(attr, 0, sizeof *attr);
    attr->qp_state = qp->state;
    attr->cap = own->cap;
    *init_attr = (struct ibv_qp_init_attr){.qp_context = qp->qp_context,
                                           .send_cq = qp->send_cq,
                                           .recv_cq = qp->recv_cq,
                                           .srq = qp->srq,
                                           .cap = own->cap,
                                           .qp_type = qp->qp_type,
                                           .sq_sig_all = own->signals_all};
    return 0;
}

VERB int ibv_destroy_qp(struct ibv_qp *qp) {
    struct queue_pair *own = (struct queue_pair *)(void *)qp;
    struct device_context *device = device_of(qp->context);
    int error = verbs_request_when_idle(qp->context, VERBS_DESTROY_QUEUE_PAIR, qp->qp_num);
    if (error)
        return error;
    if (!qp->srq)
        error = verbs_destroy_receive_queue(qp->context, &own->own);
    verbs_forget_completions(qp->send_cq, qp->qp_num);
    verbs_forget_completions(qp->recv_cq, qp->qp_num);
    device->pairs[qp->qp_num - VERBS_FIRST_QUEUE_PAIR] = NULL;
    device->users -= 1;
    release(own);
    return error;
}
