/* What becomes of datagrams: two queue pairs of one process. Prints the status of each completion.
 *
 *     datagrams CASE */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narthex.h"

enum { ENTRIES = 8, PAGE = 4096, MTU = 256, ROOM = 40, QUEUE_KEY = 0x1234, ASIDE = 0x5a };
enum { OWN_KEY = 0x80000000, PAUSE = 20000 };

static struct ibv_pd *domain;
static struct ibv_cq *completions;
static struct ibv_mr *memory;
static struct ibv_qp *pairs[3];
static struct ibv_ah *here;
static char *data, *target; /* of a page each */

static void check(bool condition, const char *what) {
    narthex_check(condition, "%s: %s", what, strerror(errno));
}

static struct ibv_qp *open_pair(void) {
    struct ibv_qp_init_attr init = {.send_cq = completions,
                                    .recv_cq = completions,
                                    .cap = {.max_send_wr = ENTRIES,
                                            .max_recv_wr = ENTRIES,
                                            .max_recv_sge = 2,
                                            .max_inline_data = 188},
                                    .qp_type = IBV_QPT_UD};
    struct ibv_qp *pair = ibv_create_qp(domain, &init);
    check(pair, "ibv_create_qp");
    struct ibv_qp_attr attr = {.port_num = 1, .qkey = QUEUE_KEY};
    int masks[] = {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0, IBV_QP_SQ_PSN};
    for (int each = 0; each < 3; each++) {
        attr.qp_state = IBV_QPS_INIT + each;
        errno = ibv_modify_qp(pair, &attr, IBV_QP_STATE | masks[each]);
        check(errno == 0, "ibv_modify_qp");
    }
    return pair;
}

static struct ibv_ah *address_of(uint16_t process, uint8_t is_global) {
    struct ibv_ah_attr attr = {.dlid = process, .port_num = 1, .is_global = is_global};
    return ibv_create_ah(domain, &attr);
}

static void open_all(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(devices[0]);
    domain = ibv_alloc_pd(context);
    data = aligned_alloc(PAGE, 2 * PAGE);
    memset(data, ASIDE, 2 * PAGE);
    target = data + PAGE;
    memory = ibv_reg_mr(domain, data, 2 * PAGE, IBV_ACCESS_LOCAL_WRITE);
    completions = ibv_create_cq(context, 2 * ENTRIES, NULL, NULL, 0);
    here = address_of((uint16_t)narthex_node(), 0);
    check(memory && completions && here, "opening");
    for (int each = 0; each < 3; each++)
        pairs[each] = open_pair();
}

struct message {
    struct ibv_ah *to;
    uint32_t number, key;
    size_t bytes;
    enum ibv_wr_opcode opcode;
    unsigned flags;
};

static int send_from(struct ibv_qp *pair, struct message message) {
    struct ibv_sge part = {(uintptr_t)data, (uint32_t)message.bytes, memory->lkey};
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &part,
                             .num_sge = 1,
                             .opcode = message.opcode,
                             .send_flags = message.flags | IBV_SEND_SIGNALED,
                             .imm_data = 77};
    struct ibv_send_wr *bad;
    wr.wr.ud.ah = message.to;
    wr.wr.ud.remote_qpn = message.number;
    wr.wr.ud.remote_qkey = message.key;
    return ibv_post_send(pair, &wr, &bad);
}

static void send_one(struct message message) {
    check(send_from(pairs[0], message) == 0, "ibv_post_send");
}

/* Two segments, of which the first one ends in the midst of the room. */
static void receive(size_t bytes) {
    struct ibv_sge parts[2] = {{(uintptr_t)target, 24, memory->lkey},
                               {(uintptr_t)target + 24, (uint32_t)bytes - 24, memory->lkey}};
    struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = parts, .num_sge = 2}, *bad;
    check(ibv_post_recv(pairs[1], &wr, &bad) == 0, "ibv_post_recv");
}

static struct ibv_wc print_completion(void) {
    struct ibv_wc wc;
    while (ibv_poll_cq(completions, 1, &wc) == 0)
        ;
    printf("%s: %s", wc.wr_id == 2 ? "receive" : "request", ibv_wc_status_str(wc.status));
    if (wc.wr_id == 2 && wc.status == IBV_WC_SUCCESS)
        printf(", %u bytes%s", wc.byte_len, wc.wc_flags & IBV_WC_WITH_IMM ? ", immediate" : "");
    printf("\n");
    return wc;
}

/* The request has left before the receive is written. */
static void print_both(int from) {
    print_completion();
    struct ibv_wc wc = print_completion();
    narthex_check(wc.src_qp == pairs[from]->qp_num && wc.slid == narthex_node() &&
                      wc.qp_num == pairs[1]->qp_num && !(wc.wc_flags & IBV_WC_GRH),
                  "the datagram is of process %u, queue pair %x", wc.slid, wc.src_qp);
}

static void send_lengths(void) {
    static const size_t LENGTHS[] = {0, 1, 32, 33, 64, 188, 255, MTU};
    for (size_t each = 0; each < sizeof LENGTHS / sizeof *LENGTHS; each++) {
        size_t bytes = LENGTHS[each];
        int from = each % 2 ? 2 : 0;
        memset(target, ASIDE, PAGE);
        for (size_t byte = 0; byte < bytes; byte++)
            data[byte] = (char)(byte * 7 + each);
        receive(PAGE);
        struct message message = {here, pairs[1]->qp_num, QUEUE_KEY, bytes, IBV_WR_SEND, 0};
        message.opcode = from == 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
        message.flags = bytes <= 188 && each % 4 < 2 ? IBV_SEND_INLINE : 0;
        check(send_from(pairs[from], message) == 0, "ibv_post_send");
        print_both(from);
        for (size_t byte = 0; byte < PAGE; byte++) {
            bool is_payload = byte >= ROOM && byte < ROOM + bytes;
            char expected = is_payload ? (char)((byte - ROOM) * 7 + each) : ASIDE;
            narthex_check(target[byte] == expected, "%zu bytes: byte %zu is wrong", bytes, byte);
        }
    }
}

/* Five come where two receives are posted; a receive that is posted later is for what comes
 * later. */
static void drop(struct message message) {
    receive(PAGE);
    receive(PAGE);
    for (int each = 0; each < 5; each++)
        send_one(message);
    for (int each = 0; each < 7; each++)
        print_completion();
    narthex_pause(PAUSE);
    receive(PAGE);
    narthex_pause(PAUSE);
    struct ibv_wc wc;
    narthex_check(ibv_poll_cq(completions, 1, &wc) == 0, "a datagram that was lost has come");
    send_one(message);
    print_both(0);
}

/* What goes astray is lost, and the next one comes. */
static void lose(struct message astray, struct message message) {
    receive(PAGE);
    send_one(astray);
    print_completion();
    send_one(message);
    print_both(0);
}

static void refuse(struct message message) {
    message.to = NULL;
    printf("no address: %s\n", strerror(send_from(pairs[0], message)));
    printf("global address: %s\n", address_of(0, 1) ? "made" : strerror(errno));
    struct ibv_qp_init_attr init = {.send_cq = completions,
                                    .recv_cq = completions,
                                    .cap = {.max_inline_data = 189},
                                    .qp_type = IBV_QPT_UD};
    printf("inline: %s\n", ibv_create_qp(domain, &init) ? "created" : strerror(errno));
}

int main(int count, char **values) {
    const char *name = count > 1 ? values[1] : "lengths";
    open_all();
    struct message message = {here, pairs[1]->qp_num, QUEUE_KEY, 64, IBV_WR_SEND, 0};
    struct message astray = message;
    if (strcmp(name, "lengths") == 0) {
        send_lengths();
    } else if (strcmp(name, "no-receive") == 0) {
        drop(message);
    } else if (strcmp(name, "other-key") == 0) {
        astray.key += 1;
        message.key = OWN_KEY;
        lose(astray, message);
    } else if (strcmp(name, "no-queue-pair") == 0) {
        astray.number = 0x1234;
        lose(astray, message);
    } else if (strcmp(name, "no-process") == 0) {
        astray.to = address_of(999, 0);
        lose(astray, message);
    } else if (strcmp(name, "too-long") == 0) {
        message.bytes = MTU + 1;
        send_one(message);
        send_one(astray);
        print_completion();
        print_completion();
    } else if (strcmp(name, "short-receive") == 0) {
        receive(ROOM + 63);
        send_one(message);
        print_completion();
        print_completion();
    } else if (strcmp(name, "write") == 0) {
        message.opcode = IBV_WR_RDMA_WRITE;
        send_one(message);
        print_completion();
    } else if (strcmp(name, "calls") == 0) {
        refuse(message);
    } else {
        narthex_fail("no case %s", name);
    }
    return 0;
}
