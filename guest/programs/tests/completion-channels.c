/* Channels of completions between two queue pairs of one process that are connected to each other:
 * what events there are, and what calls refuse.
 *
 *     completion-channels */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narthex.h"
#include "verbs_test.h"

enum { ENTRIES = 8, PAGE = 4096, BYTES = 64, QUEUES = 2 };
enum { SENDS, ARRIVALS }; /* completion queues */

static struct ibv_context *context;
static struct ibv_comp_channel *channel;
static struct ibv_cq *queues[QUEUES];
static int names[QUEUES];
static struct ibv_qp *pairs[2];
static struct ibv_mr *memory;
static char *data;

static void connect_pair(int own, uint32_t peer) {
    struct ibv_qp_attr attr = {.port_num = 1,
                               .path_mtu = IBV_MTU_256,
                               .ah_attr = {.port_num = 1},
                               .min_rnr_timer = 1,
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7};
    connect_with(pairs[own], peer, attr);
}

static void open_all(void) {
    context = ibv_open_device(ibv_get_device_list(NULL)[0]);
    channel = ibv_create_comp_channel(context);
    check(channel, "ibv_create_comp_channel");
    for (int each = 0; each < QUEUES; each++)
        queues[each] = ibv_create_cq(context, ENTRIES, &names[each], channel, 0);
    struct ibv_pd *domain = ibv_alloc_pd(context);
    data = aligned_alloc(PAGE, PAGE);
    memory = ibv_reg_mr(domain, data, PAGE, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_qp_init_attr init = {.send_cq = queues[SENDS],
                                    .recv_cq = queues[ARRIVALS],
                                    .cap = {ENTRIES, ENTRIES, .max_send_sge = 1, .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    for (int each = 0; each < 2; each++)
        pairs[each] = ibv_create_qp(domain, &init);
    check(memory && pairs[0] && pairs[1], "ibv_create_qp");
    connect_pair(0, pairs[1]->qp_num);
    connect_pair(1, pairs[0]->qp_num);
}

static void post_receive(uint32_t bytes) {
    struct ibv_sge part = {(uintptr_t)data, bytes, memory->lkey};
    struct ibv_recv_wr receive = {.sg_list = &part, .num_sge = 1}, *bad;
    check(ibv_post_recv(pairs[1], &receive, &bad) == 0, "ibv_post_recv");
}

static void send(unsigned flags) {
    struct ibv_sge part = {(uintptr_t)data + BYTES, BYTES, memory->lkey};
    struct ibv_send_wr request = {
        .sg_list = &part, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = flags};
    struct ibv_send_wr *bad;
    check(ibv_post_send(pairs[0], &request, &bad) == 0, "ibv_post_send");
}

static int taken(int queue) {
    struct ibv_wc completions[ENTRIES];
    return ibv_poll_cq(queues[queue], ENTRIES, completions);
}

static void wait_for(int queue, int count) {
    while (count > 0)
        count -= taken(queue);
}

static void ask(int queue, int solicited_only) {
    check(ibv_req_notify_cq(queues[queue], solicited_only) == 0, "ibv_req_notify_cq");
}

/* Takes an event, which has to be of this queue. */
static void expect_event_of(int queue) {
    struct ibv_cq *cq;
    void *name;
    check(ibv_get_cq_event(channel, &cq, &name) == 0, "ibv_get_cq_event");
    narthex_check(cq == queues[queue] && name == &names[queue], "an event of another queue");
}

static void expect_an_event_for_a_completion(void) {
    ask(ARRIVALS, 0);
    post_receive(BYTES);
    send(0);
    expect_event_of(ARRIVALS);
    ibv_ack_cq_events(queues[ARRIVALS], 1);
    narthex_check(taken(ARRIVALS) == 1, "the completion is not there behind its event");
}

/* Three completions, one event; the second one is of the other queue. */
static void expect_one_event_for_several_completions(void) {
    for (int each = 0; each < 3; each++)
        post_receive(BYTES);
    ask(ARRIVALS, 0);
    for (int each = 0; each < 3; each++)
        send(each < 2 ? 0 : IBV_SEND_SIGNALED);
    wait_for(SENDS, 1);
    ask(SENDS, 0);
    expect_event_of(ARRIVALS);
    wait_for(ARRIVALS, 3);
    post_receive(BYTES);
    send(IBV_SEND_SIGNALED);
    expect_event_of(SENDS);
    wait_for(ARRIVALS, 1);
    wait_for(SENDS, 1);
    ibv_ack_cq_events(queues[ARRIVALS], 1);
    ibv_ack_cq_events(queues[SENDS], 1);
}

static void expect_an_event_at_once_for_one_that_is_there(void) {
    post_receive(BYTES);
    send(IBV_SEND_SIGNALED);
    wait_for(SENDS, 1);
    ask(ARRIVALS, 0);
    expect_event_of(ARRIVALS);
    ibv_ack_cq_events(queues[ARRIVALS], 1);
    wait_for(ARRIVALS, 1);
}

/* The second message asks for the event. */
static void expect_an_event_for_a_solicited_one_alone(void) {
    post_receive(BYTES);
    post_receive(BYTES);
    ask(ARRIVALS, 1);
    ask(SENDS, 0);
    send(IBV_SEND_SIGNALED);
    expect_event_of(SENDS);
    wait_for(SENDS, 1);
    ask(SENDS, 0);
    send(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
    expect_event_of(ARRIVALS);
    expect_event_of(SENDS);
    ibv_ack_cq_events(queues[ARRIVALS], 1);
    ibv_ack_cq_events(queues[SENDS], 2);
    wait_for(ARRIVALS, 2);
    wait_for(SENDS, 1);
}

/* A receive that is too short fails, which is solicited whatever the sender says. */
static void expect_an_event_for_an_error(void) {
    ask(ARRIVALS, 1);
    post_receive(BYTES - 1);
    send(0);
    expect_event_of(ARRIVALS);
    struct ibv_wc completion;
    narthex_check(ibv_poll_cq(queues[ARRIVALS], 1, &completion) == 1 &&
                      completion.status == IBV_WC_LOC_LEN_ERR,
                  "the receive does not fail");
    ibv_ack_cq_events(queues[ARRIVALS], 1);
}

static void close_all(void) {
    narthex_check(ibv_destroy_comp_channel(channel) == EBUSY, "a channel goes with its queues");
    narthex_check(ibv_destroy_cq(queues[ARRIVALS]) == EBUSY, "a queue goes with its queue pairs");
    wait_for(SENDS, 1);
    ask(SENDS, 0);
    for (int each = 0; each < 2; each++)
        check(ibv_destroy_qp(pairs[each]) == 0, "ibv_destroy_qp");
    for (int each = 0; each < QUEUES; each++)
        check(ibv_destroy_cq(queues[each]) == 0, "ibv_destroy_cq");
    struct ibv_cq *polled = ibv_create_cq(context, ENTRIES, NULL, NULL, 0);
    narthex_check(ibv_req_notify_cq(polled, 0) == EINVAL, "a queue without a channel is armed");
    narthex_check(!ibv_create_cq(context, ENTRIES, NULL, channel, 1) && errno == EINVAL,
                  "there is another vector");
    check(ibv_destroy_cq(polled) == 0, "ibv_destroy_cq");
    check(ibv_destroy_comp_channel(channel) == 0, "ibv_destroy_comp_channel");
}

int main(void) {
    open_all();
    for (int each = 0; each < ENTRIES; each++) {
        expect_an_event_for_a_completion();
        expect_one_event_for_several_completions();
        expect_an_event_at_once_for_one_that_is_there();
        expect_an_event_for_a_solicited_one_alone();
    }
    expect_an_event_for_an_error();
    close_all();
    return 0;
}
