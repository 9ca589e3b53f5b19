/* What goes wrong over the verbs, and what goes right: two queue pairs of one process that are
 * connected to each other. Prints the status of each completion, or the error of the call.
 *
 *     verbs CASE */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "narthex.h"
#include "verbs_test.h"

enum { ENTRIES = 8, PAGE = 4096, REGION = 1024 };

static struct ibv_context *context;
static struct ibv_pd *domain, *other_domain;
static struct ibv_cq *completions;
static struct ibv_mr *memory;
static char *data;
static struct ibv_qp *pairs[2];
static struct ibv_qp_init_attr init = {.cap = {.max_send_wr = ENTRIES,
                                               .max_recv_wr = ENTRIES,
                                               .max_send_sge = 2,
                                               .max_recv_sge = 2,
                                               .max_inline_data = 64},
                                       .qp_type = IBV_QPT_RC};
enum { ALL = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
static struct ibv_qp_attr attr = {.qp_access_flags = ALL,
                                  .port_num = 1,
                                  .path_mtu = IBV_MTU_256,
                                  .ah_attr = {.port_num = 1},
                                  .min_rnr_timer = 1,
                                  .timeout = 1,
                                  .retry_cnt = 2,
                                  .rnr_retry = 2,
                                  .max_rd_atomic = 2,
                                  .max_dest_rd_atomic = 2};

static void connect_pair(int own, uint32_t peer) {
    connect_with(pairs[own], peer, attr);
}

static void open_pairs(void) {
    struct ibv_device **devices = ibv_get_device_list(NULL);
    context = ibv_open_device(devices[0]);
    domain = ibv_alloc_pd(context);
    other_domain = ibv_alloc_pd(context);
    data = aligned_alloc(PAGE, PAGE);
    memset(data, 0, PAGE);
    memory = ibv_reg_mr(domain, data, REGION, IBV_ACCESS_LOCAL_WRITE | ALL);
    check(memory, "ibv_reg_mr");
    completions = ibv_create_cq(context, ENTRIES, NULL, NULL, 0);
    init.send_cq = init.recv_cq = completions;
    for (int each = 0; each < 2; each++)
        pairs[each] = ibv_create_qp(domain, &init);
    check(pairs[0] && pairs[1], "ibv_create_qp");
}

static int post(enum ibv_wr_opcode opcode, struct ibv_sge part, uint64_t remote, uint32_t key,
                unsigned flags) {
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &part,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = flags | IBV_SEND_SIGNALED,
                             .imm_data = 77};
    struct ibv_send_wr *bad;
    wr.wr.rdma.remote_addr = remote;
    wr.wr.rdma.rkey = key;
    return ibv_post_send(pairs[0], &wr, &bad);
}

static struct ibv_sge part_of(size_t offset, size_t bytes) {
    return (struct ibv_sge){(uintptr_t)data + offset, (uint32_t)bytes, memory->lkey};
}

static void receive(size_t offset, size_t bytes) {
    struct ibv_sge parts[2] = {part_of(offset, bytes / 2),
                               part_of(offset + bytes / 2, bytes - bytes / 2)};
    struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = parts, .num_sge = 2}, *bad;
    check(ibv_post_recv(pairs[1], &wr, &bad) == 0, "ibv_post_recv");
}

static void print_completions(int count) {
    struct ibv_wc wc;
    for (; count > 0; count--) {
        while (ibv_poll_cq(completions, 1, &wc) == 0)
            ;
        printf("%s: %s", wc.wr_id == 2 ? "receive" : "request", ibv_wc_status_str(wc.status));
        if (wc.wr_id == 2 && wc.status == IBV_WC_SUCCESS)
            printf(", %u bytes%s", wc.byte_len, wc.wc_flags & IBV_WC_WITH_IMM ? ", immediate" : "");
        printf("\n");
    }
}

static void check_received(size_t bytes) {
    for (size_t each = 0; each < REGION / 2; each++)
        narthex_check(data[REGION / 2 + each] == (char)(each < bytes ? each * 7 + 1 : 0),
                      "%zu bytes: byte %zu is wrong", bytes, each);
}

/* Each length goes to an address in the midst of a block; what is beside it stays. What is read
 * comes from where the others are written. */
static void send_lengths(enum ibv_wr_opcode opcode) {
    static const size_t LENGTHS[] = {0, 1, 31, 32, 33, 63, 64, 65, 256, 257, 500};
    for (size_t each = 0; each < sizeof LENGTHS / sizeof *LENGTHS; each++) {
        size_t bytes = LENGTHS[each];
        bool reads = opcode == IBV_WR_RDMA_READ, receives = !reads && opcode != IBV_WR_RDMA_WRITE;
        size_t from = reads ? REGION / 2 : 0, to = REGION / 2 - from;
        memset(data + REGION / 2, 0, REGION / 2);
        for (size_t byte = 0; byte < bytes; byte++)
            data[byte] = (char)(byte * 7 + 1);
        if (receives)
            receive(REGION / 2, REGION / 2);
        unsigned flags = !reads && bytes <= 64 && bytes % 2 ? IBV_SEND_INLINE : 0;
        check(post(opcode, part_of(from, bytes), (uintptr_t)data + to, memory->rkey, flags) == 0,
              "ibv_post_send");
        print_completions(receives ? 2 : 1);
        check_received(bytes);
    }
}

/* Adds, or swaps if the word is `compared`; what it was goes to `offset`. */
static void post_atomic(enum ibv_wr_opcode opcode, size_t offset, uint64_t remote, uint64_t operand,
                        uint64_t compared) {
    struct ibv_sge part = part_of(offset, sizeof(uint64_t));
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &part,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    bool adds = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    wr.wr.atomic.remote_addr = remote;
    wr.wr.atomic.rkey = memory->rkey;
    wr.wr.atomic.compare_add = adds ? operand : compared;
    wr.wr.atomic.swap = operand;
    check(ibv_post_send(pairs[0], &wr, &bad) == 0, "ibv_post_send");
}

static void atomics(void) {
    uint64_t *words = (uint64_t *)(void *)data, *word = words + 64;
    *word = 100;
    post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, (uintptr_t)word, 5, 0);
    post_atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 8, (uintptr_t)word, 7, 105);
    post_atomic(IBV_WR_ATOMIC_CMP_AND_SWP, 16, (uintptr_t)word, 9, 105);
    post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 24, (uintptr_t)word, (uint64_t)-8, 0);
    print_completions(4);
    for (int each = 0; each < 4; each++)
        printf("%lld ", (long long)words[each]);
    printf("%lld\n", (long long)*word);
}

/* What is written is read back at once, and written on behind a fence: each sees what was before
 * it. */
static void in_order(void) {
    const size_t BYTES = 300, READ = 320;
    uint64_t there = (uintptr_t)data + REGION / 2 + 8;
    for (int round = 1; round <= 4; round++) {
        memset(data, round, BYTES);
        memset(data + READ, 0, BYTES / 2);
        struct ibv_sge back = part_of(READ, BYTES / 2);
        check(post(IBV_WR_RDMA_WRITE, part_of(0, BYTES), there, memory->rkey, 0) == 0 &&
                  post(IBV_WR_RDMA_READ, back, there + 3, memory->rkey, 0) == 0 &&
                  post(IBV_WR_RDMA_WRITE, back, there + BYTES, memory->rkey, IBV_SEND_FENCE) == 0,
              "ibv_post_send");
        print_completions(3);
        for (size_t each = 0; each < BYTES + BYTES / 2; each++)
            narthex_check(data[REGION / 2 + 8 + each] == round, "round %d: byte %zu is wrong",
                          round, each);
    }
}

static void overflow(void) {
    for (int each = 0; each < ENTRIES; each++)
        receive(0, 64);
    for (int each = 0; each < 2 * ENTRIES; each++)
        while (post(IBV_WR_SEND, part_of(0, 64), 0, 0, 0) == ENOMEM)
            narthex_pause(1000);
    narthex_pause(1000000);
}

static void failing_calls(void) {
    struct ibv_sge part = part_of(0, 65);
    printf("inline: %s\n", strerror(post(IBV_WR_SEND, part, 0, 0, IBV_SEND_INLINE)));
    struct ibv_sge parts[3] = {part, part, part};
    struct ibv_send_wr wr = {.sg_list = parts, .num_sge = 3, .opcode = IBV_WR_SEND}, *bad;
    printf("segments: %s\n", strerror(ibv_post_send(pairs[0], &wr, &bad)));
    init.cap.max_inline_data = 4096;
    printf("queue pair: %s\n", ibv_create_qp(domain, &init) ? "created" : strerror(errno));
    bool is_registered =
        ibv_reg_mr(domain, (void *)(uintptr_t)0x40000000, 64, IBV_ACCESS_LOCAL_WRITE);
    printf("region: %s\n", is_registered ? "registered" : strerror(errno));
    printf("domain: %s\n", strerror(ibv_dealloc_pd(domain)));
    printf("completion queue: %s\n", strerror(ibv_destroy_cq(completions)));
    attr.qp_state = IBV_QPS_RTS;
    printf("state: %s\n", strerror(ibv_modify_qp(pairs[0], &attr, IBV_QP_STATE)));
}

static void close_all(void) {
    for (int each = 0; each < 2; each++)
        check(ibv_destroy_qp(pairs[each]) == 0, "ibv_destroy_qp");
    check(ibv_dereg_mr(memory) == 0 && ibv_destroy_cq(completions) == 0 &&
              ibv_dealloc_pd(domain) == 0 && ibv_dealloc_pd(other_domain) == 0 &&
              ibv_close_device(context) == 0,
          "closing");
    printf("closed\n");
}

static uint32_t told_key;

static void on_key(int source, const void *payload, size_t length) {
    (void)source, (void)length;
    memcpy(&told_key, payload, sizeof told_key);
}

/* Process 1 registers one region more than process 0 has, and tells its key. */
static uint32_t others_key(void) {
    enum { KEYS = 1 };
    narthex_register_handler(KEYS, on_key);
    if (narthex_node() == 1) {
        struct ibv_mr *own = ibv_reg_mr(domain, data, REGION, IBV_ACCESS_LOCAL_WRITE | ALL);
        narthex_send(0, KEYS, &own->rkey, sizeof own->rkey);
        exit(0);
    }
    while (told_key == 0)
        narthex_poll();
    return told_key;
}

static void run_case(const char *name) {
    uintptr_t target = (uintptr_t)data + REGION / 2;
    struct ibv_sge part = part_of(0, 64);
    int completions_due = 1;
    if (strcmp(name, "local-key") == 0) {
        part.lkey += 1;
        post(IBV_WR_SEND, part, 0, 0, 0);
    } else if (strcmp(name, "local-length") == 0) {
        post(IBV_WR_SEND, part_of(REGION - 32, 64), 0, 0, 0);
    } else if (strcmp(name, "domain") == 0) {
        part.lkey = ibv_reg_mr(other_domain, data, REGION, IBV_ACCESS_LOCAL_WRITE)->lkey;
        post(IBV_WR_SEND, part, 0, 0, 0);
    } else if (strcmp(name, "remote-key") == 0) {
        post(IBV_WR_RDMA_WRITE, part, target, memory->rkey + 256, 0);
    } else if (strcmp(name, "remote-length") == 0) {
        post(IBV_WR_RDMA_WRITE, part, (uintptr_t)data + REGION - 63, memory->rkey, 0);
    } else if (strcmp(name, "long-read") == 0) {
        post(IBV_WR_RDMA_READ, part, (uintptr_t)data + REGION - 63, memory->rkey, 0);
    } else if (strcmp(name, "key-of-another-process") == 0) {
        post(IBV_WR_RDMA_WRITE, part, target, others_key(), 0);
    } else if (strcmp(name, "no-right") == 0) {
        struct ibv_mr *own = ibv_reg_mr(domain, data, REGION, IBV_ACCESS_LOCAL_WRITE);
        post(IBV_WR_RDMA_WRITE, part, target, own->rkey, 0);
    } else if (strcmp(name, "no-right-to-read") == 0) {
        struct ibv_mr *own = ibv_reg_mr(domain, data, REGION, IBV_ACCESS_LOCAL_WRITE);
        post(IBV_WR_RDMA_READ, part, target, own->rkey, 0);
    } else if (strcmp(name, "no-right-to-write") == 0) {
        part.lkey = ibv_reg_mr(domain, data, REGION, IBV_ACCESS_REMOTE_READ)->lkey;
        post(IBV_WR_RDMA_READ, part, target, memory->rkey, 0);
    } else if (strcmp(name, "no-reads") == 0) {
        post(IBV_WR_RDMA_READ, part, target, memory->rkey, 0);
    } else if (strcmp(name, "word-in-two-halves") == 0) {
        post_atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, 0, target + 4, 1, 0);
    } else if (strcmp(name, "refused-behind-a-read") == 0) {
        post(IBV_WR_RDMA_READ, part_of(0, 500), target, memory->rkey, 0);
        post(IBV_WR_RDMA_WRITE, part, target, memory->rkey + 256, 0);
        completions_due = 2;
    } else if (strcmp(name, "short-receive") == 0) {
        receive(0, 63);
        receive(0, 64);
        post(IBV_WR_SEND, part, 0, 0, 0);
        post(IBV_WR_SEND, part, 0, 0, 0);
        completions_due = 4;
    } else if (strcmp(name, "no-receive") == 0) {
        post(IBV_WR_SEND, part, 0, 0, 0);
    } else if (strcmp(name, "late-receive") == 0) {
        post(IBV_WR_SEND, part, 0, 0, 0);
        narthex_pause(3000);
        receive(512, 64);
        completions_due = 2;
    } else {
        narthex_fail("no case %s", name);
    }
    print_completions(completions_due);
}

int main(int count, char **values) {
    const char *name = count > 1 ? values[1] : "send";
    open_pairs();
    bool is_lost = strcmp(name, "no-peer") == 0;
    if (strcmp(name, "no-reads") == 0)
        attr.max_rd_atomic = 0;
    connect_pair(0, is_lost ? 0x1234 : pairs[1]->qp_num);
    connect_pair(1, pairs[0]->qp_num);
    if (strcmp(name, "send") == 0)
        send_lengths(IBV_WR_SEND);
    else if (strcmp(name, "write") == 0)
        send_lengths(IBV_WR_RDMA_WRITE);
    else if (strcmp(name, "immediate") == 0)
        send_lengths(IBV_WR_RDMA_WRITE_WITH_IMM);
    else if (strcmp(name, "read") == 0)
        send_lengths(IBV_WR_RDMA_READ);
    else if (strcmp(name, "atomics") == 0)
        atomics();
    else if (strcmp(name, "in-order") == 0)
        in_order();
    else if (strcmp(name, "overflow") == 0)
        overflow();
    else if (strcmp(name, "calls") == 0)
        failing_calls();
    else
        run_case(is_lost ? "no-receive" : name);
    if (strcmp(name, "send") == 0)
        close_all();
    return 0;
}
