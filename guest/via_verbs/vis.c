/* VIs, and the queue pairs that they have while they are connected. */
#include <stdlib.h>

#include "via_verbs/provider.h"

enum { TIMEOUT = 14 /* 67 ms */, RETRIES = 7, FIRST_PACKET = 0, LONGEST_MESSAGE = 1 << 30 };

/* Queue pairs */

static VIP_RETURN check(int error) {
    return error == 0 ? VIP_SUCCESS : VIP_ERROR_RESOURCE;
}

VIP_RETURN verbs_open_pair(struct via_vi *vi) {
    struct ibv_pd *domain = vi->nic->domains[vi->attributes.Ptag - 1];
    struct ibv_qp_init_attr init = {.send_cq = vi->send.completions->queue,
                                    .recv_cq = vi->receive.completions->queue,
                                    .cap = {VIA_DESCRIPTORS_LIMIT, VIA_DESCRIPTORS_LIMIT,
                                            VIA_SEGMENTS_LIMIT, VIA_SEGMENTS_LIMIT, MOST_INLINE},
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .qp_access_flags =
                                   (vi->attributes.EnableRdmaWrite ? IBV_ACCESS_REMOTE_WRITE : 0) |
                                   (vi->attributes.EnableRdmaRead ? IBV_ACCESS_REMOTE_READ : 0)};
    vi->pair = ibv_create_qp(domain, &init);
    if (!vi->pair)
        return VIP_ERROR_RESOURCE;
    vi->state = VIP_STATE_IDLE;
    return check(ibv_modify_qp(
        vi->pair, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

/* A message that finds no receive ends the connection: it is not tried again. */
VIP_RETURN verbs_connect_pair(struct via_vi *vi, uint16_t peer, uint32_t peer_pair) {
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = IBV_MTU_4096,
                               .dest_qp_num = peer_pair,
                               .rq_psn = FIRST_PACKET,
                               .sq_psn = FIRST_PACKET,
                               .ah_attr = {.dlid = peer, .port_num = 1},
                               .min_rnr_timer = 1,
                               .timeout = TIMEOUT,
                               .retry_cnt = RETRIES,
                               .rnr_retry = 0,
                               .max_rd_atomic = FETCHES,
                               .max_dest_rd_atomic = FETCHES};
    int failed =
        ibv_modify_qp(vi->pair, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr.qp_state = IBV_QPS_RTS;
    failed |= ibv_modify_qp(vi->pair, &attr,
                            IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    vi->peer = peer;
    vi->peer_pair = peer_pair;
    if (!failed)
        vi->state = VIP_STATE_CONNECTED;
    return check(failed);
}

/* Takes what has ended, then the queue pair away; all other descriptors are flushed. */
static void close_pair(struct via_vi *vi) {
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    vi->state = VIP_STATE_ERROR;
    ibv_modify_qp(vi->pair, &attr, IBV_QP_STATE);
    while (verbs_take_completion(vi->send.completions) ||
           verbs_take_completion(vi->receive.completions))
        ;
    ibv_destroy_qp(vi->pair);
    vi->pair = NULL;
    verbs_flush(&vi->send);
    verbs_flush(&vi->receive);
}

/* The same, and tells the other end. */
static void leave(struct via_vi *vi, VIP_ERROR_CODE code) {
    bool was_connected = vi->state == VIP_STATE_CONNECTED;
    struct message lost = {
        .kind = LOST, .code = code, .from = vi->pair->qp_num, .to = vi->peer_pair};
    close_pair(vi);
    if (was_connected)
        verbs_say(vi->nic, vi->peer, &lost);
}

void verbs_break(struct via_vi *vi, VIP_ERROR_CODE code) {
    if (vi->state != VIP_STATE_ERROR)
        leave(vi, code);
}

void verbs_is_broken(struct via_vi *vi, VIP_ERROR_CODE code) {
    close_pair(vi);
    verbs_event(vi, code);
}

/* VIs */

static VIP_RETURN check_attributes(const struct via_nic *nic, const VIP_VI_ATTRIBUTES *attributes) {
    VIP_RETURN service = check_service(attributes, LONGEST_MESSAGE);
    if (service != VIP_SUCCESS)
        return service;
    if (attributes->Ptag < 1 || attributes->Ptag > PTAGS_LIMIT ||
        !nic->domains[attributes->Ptag - 1])
        return VIP_INVALID_PTAG;
    return VIP_SUCCESS;
}

/* A queue without a CQ has the VI's own completion queue. */
static void start_queue(struct via_vi *vi, struct via_queue *queue, struct via_cq *cq) {
    queue->vi = vi;
    queue->cq = cq;
    queue->completions = cq ? &cq->completions : &vi->own;
    queue->receives = queue == &vi->receive;
    if (cq)
        cq->users += 1;
}

static void end_queue(struct via_queue *queue) {
    if (!queue->cq)
        return;
    queue->cq->users -= 1;
    verbs_forget(queue->cq, queue->vi);
}

static void release(struct via_vi *vi) {
    if (vi->pair)
        ibv_destroy_qp(vi->pair);
    end_queue(&vi->send);
    end_queue(&vi->receive);
    if (vi->own.queue)
        ibv_destroy_cq(vi->own.queue);
    free(vi);
}

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttribs,
                       VIP_CQ_HANDLE SendCQHandle, VIP_CQ_HANDLE RecvCQHandle,
                       VIP_VI_HANDLE *ViHandle) {
    if (!NicHandle || !ViAttribs || !ViHandle)
        return VIP_INVALID_PARAMETER;
    VIP_RETURN result = check_attributes(NicHandle, ViAttribs);
    struct via_vi *vi = result == VIP_SUCCESS ? calloc(1, sizeof *vi) : NULL;
    if (!vi)
        return result != VIP_SUCCESS ? result : VIP_ERROR_RESOURCE;
    vi->nic = NicHandle;
    vi->attributes = *ViAttribs;
    start_queue(vi, &vi->send, SendCQHandle);
    start_queue(vi, &vi->receive, RecvCQHandle);
    bool needs_own = !SendCQHandle || !RecvCQHandle;
    if (needs_own)
        vi->own.queue = ibv_create_cq(NicHandle->context, 2 * VIA_DESCRIPTORS_LIMIT, NULL, NULL, 0);
    result = needs_own && !vi->own.queue ? VIP_ERROR_RESOURCE : verbs_open_pair(vi);
    if (result != VIP_SUCCESS) {
        release(vi);
        return result;
    }
    vi->next = NicHandle->vis;
    NicHandle->vis = vi;
    *ViHandle = vi;
    return VIP_SUCCESS;
}

VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle) {
    if (!ViHandle)
        return VIP_INVALID_PARAMETER;
    if (!is_unused(ViHandle))
        return VIP_ERROR_RESOURCE;
    struct via_nic *nic = ViHandle->nic;
    struct via_vi **link = &nic->vis;
    while (*link != ViHandle)
        link = &(*link)->next;
    *link = ViHandle->next;
    for (int each = 0; each < EVENTS; each++)
        if (nic->events[each].vi == ViHandle)
            nic->events[each].vi = NULL;
    release(ViHandle);
    return VIP_SUCCESS;
}

VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttribs,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty) {
    if (!ViHandle || !State || !ViAttribs || !ViSendQEmpty || !ViRecvQEmpty)
        return VIP_INVALID_PARAMETER;
    verbs_listen(ViHandle->nic);
    describe_vi(ViHandle, State, ViAttribs, ViSendQEmpty, ViRecvQEmpty);
    return VIP_SUCCESS;
}

VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle) {
    if (!ViHandle)
        return VIP_INVALID_PARAMETER;
    if (ViHandle->state == VIP_STATE_CONNECTED)
        leave(ViHandle, VIP_ERROR_CONN_LOST);
    if (ViHandle->pair)
        return VIP_SUCCESS;
    ViHandle->send.is_stopped = ViHandle->receive.is_stopped = false;
    return verbs_open_pair(ViHandle);
}
