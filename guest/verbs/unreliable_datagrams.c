/* Unreliable datagrams: their addresses, and the verbs that know them. Within a subnet an address
 * is a process's number: no call of the system makes it.
 *
 * The verbs are compiled here once more. A program that makes addresses links these; any other one
 * finds those of the same names first, which stand before this file in the library. */
#define WITH_DATAGRAMS
#include "verbs/completions.c"
#include "verbs/sends.c"
#define ibv_modify_qp modify_connected
#include "verbs/queue_pairs.c"
#undef ibv_modify_qp

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr) {
    bool is_sound = attr->port_num == 1 && !attr->is_global;
    struct address_handle *own = is_sound ? malloc(sizeof *own) : NULL;
    if (!own) {
        errno = is_sound ? ENOMEM : EINVAL;
        return NULL;
    }
    *own = (struct address_handle){{pd->context, pd, 0}, attr->dlid, attr->sl};
    return &own->ah;
}

int ibv_destroy_ah(struct ibv_ah *ah) {
    free(ah);
    return 0;
}

enum { FOR_INIT_OF_DATAGRAMS = IBV_QP_QKEY | IBV_QP_PKEY_INDEX | IBV_QP_PORT };

/* The states of a queue pair for datagrams, which is connected to none. */
static int modify_unconnected(struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask) {
    enum ibv_qp_state state = attr->qp_state;
    bool is_first = state == IBV_QPS_INIT && attr->port_num == 1;
    int needed = is_first ? FOR_INIT_OF_DATAGRAMS : state == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0;
    if ((mask & needed) != needed || !(is_first || state == IBV_QPS_RTR || state == IBV_QPS_RTS))
        return EINVAL;
    int error =
        set_state((struct queue_pair *)(void *)qp, state, is_first ? attr->qkey : attr->sq_psn);
    if (!error)
        qp->state = state;
    return error;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask) {
    bool is_connected = qp->qp_type != IBV_QPT_UD || attr->qp_state == IBV_QPS_ERR;
    if (is_connected || !(attr_mask & IBV_QP_STATE))
        return modify_connected(qp, attr, attr_mask);
    return modify_unconnected(qp, attr, attr_mask);
}
