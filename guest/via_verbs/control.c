/* What VIPLs of different processes tell each other beside messages of the program: datagrams from
 * and to a queue pair that each process creates when it opens its interface. The messaging library
 * has made one for each process before, so it is the next one: all know its number. */
#include <stdlib.h>
#include <string.h>

#include "via_verbs/provider.h"

enum { RECEIVES = 256, SENDS = 64, QUEUE_KEY = 0x56495041, ALIGNMENT = 4096 };

/* A datagram has room for a route header in front. */
struct letter {
    char route[VERBS_ROUTE_HEADER];
    struct message message;
};

struct control {
    struct ibv_pd *domain;
    struct ibv_cq *sends, *arrivals;
    struct ibv_qp *pair;
    struct ibv_mr *memory;
    struct letter *letters;
    struct ibv_ah **addresses; /* by process */
    int sending;
};

static uint32_t well_known(void) {
    return VERBS_FIRST_QUEUE_PAIR + (uint32_t)narthex_nodes();
}

static void post_letter(struct control *control, uint64_t number) {
    struct ibv_sge part = {(uintptr_t)&control->letters[number], sizeof(struct letter),
                           control->memory->lkey};
    struct ibv_recv_wr *bad, receive = {.wr_id = number, .sg_list = &part, .num_sge = 1};
    ibv_post_recv(control->pair, &receive, &bad);
}

static bool open_pair(struct control *control) {
    struct ibv_qp_init_attr init = {.send_cq = control->sends,
                                    .recv_cq = control->arrivals,
                                    .cap = {.max_send_wr = SENDS,
                                            .max_recv_wr = RECEIVES,
                                            .max_inline_data = sizeof(struct message)},
                                    .qp_type = IBV_QPT_UD,
                                    .sq_sig_all = 1};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QUEUE_KEY};
    control->pair = ibv_create_qp(control->domain, &init);
    if (!control->pair)
        return false;
    narthex_check(control->pair->qp_num == well_known(),
                  "node %d: VipOpenNic has to come before the program's own queue pairs",
                  narthex_node());
    int failed = ibv_modify_qp(control->pair, &attr,
                               IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
    attr.qp_state = IBV_QPS_RTR;
    failed |= ibv_modify_qp(control->pair, &attr, IBV_QP_STATE);
    attr.qp_state = IBV_QPS_RTS;
    failed |= ibv_modify_qp(control->pair, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
    for (uint64_t each = 0; each < RECEIVES; each++)
        post_letter(control, each);
    return !failed;
}

struct control *verbs_open_control(struct ibv_context *context) {
    struct control *control = calloc(1, sizeof *control);
    size_t bytes = RECEIVES * sizeof(struct letter);
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!control)
        return NULL;
    control->letters = aligned_alloc(ALIGNMENT, bytes);
    control->addresses = calloc((size_t)narthex_nodes(), sizeof(struct ibv_ah *));
    control->domain = ibv_alloc_pd(context);
    control->sends = ibv_create_cq(context, SENDS, NULL, NULL, 0);
    control->arrivals = ibv_create_cq(context, RECEIVES, NULL, NULL, 0);
    if (control->letters && control->domain) {
        memset(control->letters, 0, bytes);
        control->memory =
            ibv_reg_mr(control->domain, control->letters, bytes, IBV_ACCESS_LOCAL_WRITE);
    }
    if (!control->addresses || !control->sends || !control->arrivals || !control->memory ||
        !open_pair(control)) {
        verbs_close_control(control);
        return NULL;
    }
    return control;
}

void verbs_close_control(struct control *control) {
    if (control->pair)
        ibv_destroy_qp(control->pair);
    if (control->memory)
        ibv_dereg_mr(control->memory);
    if (control->sends)
        ibv_destroy_cq(control->sends);
    if (control->arrivals)
        ibv_destroy_cq(control->arrivals);
    for (int each = 0; control->addresses && each < narthex_nodes(); each++)
        if (control->addresses[each])
            ibv_destroy_ah(control->addresses[each]);
    if (control->domain)
        ibv_dealloc_pd(control->domain);
    free(control->addresses);
    free(control->letters);
    free(control);
}

static struct ibv_ah *address_of(struct control *control, uint16_t process) {
    struct ibv_ah_attr attr = {.dlid = process, .port_num = 1};
    if (!control->addresses[process])
        control->addresses[process] = ibv_create_ah(control->domain, &attr);
    narthex_check(control->addresses[process], "node %d has no memory for an address",
                  narthex_node());
    return control->addresses[process];
}

void verbs_say(struct via_nic *nic, uint16_t process, const struct message *message) {
    struct control *control = nic->control;
    struct ibv_sge part = {(uintptr_t)message, sizeof *message, 0};
    struct ibv_send_wr *bad,
        request = {.sg_list = &part,
                   .num_sge = 1,
                   .opcode = IBV_WR_SEND,
                   .send_flags = IBV_SEND_INLINE,
                   .wr = {.ud = {address_of(control, process), well_known(), QUEUE_KEY}}};
    struct ibv_wc sent;
    while (control->sending == SENDS)
        control->sending -= ibv_poll_cq(control->sends, 1, &sent);
    control->sending += 1;
    int error = ibv_post_send(control->pair, &request, &bad);
    narthex_check(error == 0, "node %d: ibv_post_send fails with error %d", narthex_node(), error);
}

/* One message at a time: its caller looks in between for what it waits for. */
void verbs_listen(struct via_nic *nic) {
    struct control *control = nic->control;
    struct ibv_wc arrived;
    if (ibv_poll_cq(control->arrivals, 1, &arrived) > 0) {
        struct message message = control->letters[arrived.wr_id].message;
        post_letter(control, arrived.wr_id);
        verbs_handle(nic, arrived.slid, &message);
    }
    if (nic->events_count > 0)
        verbs_tell_events(nic);
}
