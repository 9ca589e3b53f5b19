/* The Virtual Interface Architecture: what works, and how each wrong descriptor ends
 * (guest/via/vipl.h).
 *
 *     via [CASE]         one case, or all of them
 *
 * Two processes take part. Each case has VIs of its own; its results are checked here. */
#include "via_test.h"

#include "via/provider.h"

/* What works */

static void test_sizes(void) {
    static const VIP_UINT32 SIZES[] = {0, 1, 7, 8, 64, 100, 128, 1499, 1500, 1501, 4096, 9001};
    for (unsigned each = 0; each < sizeof SIZES / sizeof SIZES[0]; each++) {
        post_receive(1, in(), PART);
        narthex_barrier();
        pattern_fill(out() + each, SIZES[each], each);
        expect(send_now(out() + each, memory, SIZES[each]), VIP_STATUS_OP_SEND, "status of a send");
        VIP_DESCRIPTOR *done = received();
        expect(done->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE, "status of a receive");
        expect(done->CS.Length, SIZES[each], "length of a receive");
        pattern_check(in(), SIZES[each], each);
        narthex_barrier();
    }
}

static void test_segments(void) {
    VIP_DESCRIPTOR *send = descriptor(0), *receive = descriptor(1);
    via_describe(receive, in(), memory, 16);
    receive->DS[1].Local = (VIP_DATA_SEGMENT){{.Address = in() + 256}, memory, 2048};
    receive->CS.SegCount = 2;
    via_check(VipPostRecv(vi, receive, memory), "VipPostRecv");
    narthex_barrier();
    pattern_fill(out(), 32, 5);
    pattern_fill(out() + 512, 1600, 6);
    via_describe(send, out(), memory, 32);
    send->DS[1].Local = (VIP_DATA_SEGMENT){{.Address = out() + 512}, memory, 1600};
    send->CS.SegCount = 2;
    send->CS.Length = 1632;
    send->CS.ImmediateData = 0x1234;
    send->CS.Control |= VIP_CONTROL_IMMEDIATE;
    via_check(VipPostSend(vi, send, memory), "VipPostSend");
    expect(sent(), VIP_STATUS_OP_SEND, "status of a send");
    VIP_DESCRIPTOR *done = received();
    expect(done->CS.Status, VIP_STATUS_DONE | VIP_STATUS_OP_RECEIVE | VIP_STATUS_IMMEDIATE,
           "status of a receive");
    expect(done->CS.ImmediateData, 0x1234, "immediate data");
    char joined[1632];
    memcpy(joined, in(), 16);
    memcpy(joined + 16, in() + 256, sizeof joined - 16);
    pattern_check(joined, 32, 5);
    pattern_check(joined + 32, 1600, 6);
}

/* Messages back to back, more than the packet-to-address table may hold. */
static void test_many(void) {
    enum { MANY = 12, BYTES = 512 };
    VIP_DESCRIPTOR *done;
    for (int each = 0; each < MANY; each++)
        post_receive(2 + each, in() + each * BYTES, BYTES);
    narthex_barrier();
    for (uint64_t each = 0; own == 0 && each < MANY; each++) {
        char *from = out() + each * BYTES;
        pattern_fill(from, BYTES, each);
        via_describe(descriptor(DESCRIPTORS + (int)each), from, memory, BYTES);
        via_check(VipPostSend(vi, descriptor(DESCRIPTORS + (int)each), memory), "VipPostSend");
    }
    for (uint64_t each = 0; own == 0 && each < MANY; each++)
        expect(sent(), VIP_STATUS_OP_SEND, "status of a send");
    for (uint64_t each = 0; own == 1 && each < MANY; each++) {
        via_check(VipRecvWait(vi, VIP_INFINITE, &done), "VipRecvWait");
        expect((uintptr_t)done, (uintptr_t)descriptor(2 + (int)each), "descriptor in its turn");
        pattern_check(in() + each * BYTES, BYTES, each);
    }
}

static void test_rdma(void) {
    VIP_MEM_ATTRIBUTES attributes = {ptag, VIP_TRUE, VIP_TRUE};
    VIP_MEM_HANDLE handle;
    via_check(VipRegisterMem(nic, in(), 8192, &attributes, &handle), "VipRegisterMem");
    struct place other = exchange_places(handle);
    if (own == 1)
        post_receive(1, in() + 8192, 64);
    narthex_barrier();
    if (own == 0) {
        pattern_fill(out(), 3000, 9);
        VIP_DESCRIPTOR *write = rdma(VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, out(), 3000,
                                     other.address + 100, (VIP_MEM_HANDLE)other.handle);
        write->CS.ImmediateData = 77;
        via_check(VipPostSend(vi, write, memory), "VipPostSend");
        expect(sent(), VIP_STATUS_OP_RDMA_WRITE, "status of an RDMA write");
    } else {
        VIP_DESCRIPTOR *done = received();
        expect(done->CS.Status,
               VIP_STATUS_DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE,
               "status of a remote RDMA write");
        expect(done->CS.ImmediateData, 77, "immediate data");
        pattern_check(in() + 100, 3000, 9);
    }
    narthex_barrier();
    if (own == 0) {
        memset(out(), 0, 3000);
        VIP_DESCRIPTOR *read = rdma(VIP_CONTROL_OP_RDMAREAD, out(), 3000, other.address + 100,
                                    (VIP_MEM_HANDLE)other.handle);
        via_check(VipPostSend(vi, read, memory), "VipPostSend");
        expect(sent(), VIP_STATUS_OP_RDMA_READ, "status of an RDMA read");
        pattern_check(out(), 3000, 9);
    }
    narthex_barrier();
    via_check(VipDeregisterMem(nic, in(), handle), "VipDeregisterMem");
}

/* Mistakes */

static void expect_failure(void *from, VIP_MEM_HANDLE handle, VIP_UINT32 bytes, VIP_UINT32 status) {
    if (own == 0) {
        expect(send_now(from, handle, bytes), status, "status of a wrong send");
        expect(send_now(out(), memory, 8), VIP_STATUS_DESC_FLUSHED_ERROR,
               "status of a send after it");
    } else {
        expect_event(VIP_ERROR_CONN_LOST);
    }
}

static void test_unregistered(void) {
    static char elsewhere[64];
    expect_failure(elsewhere, memory, 64, VIP_STATUS_PROTECTION_ERROR);
}

static void test_deregistered(void) {
    static _Alignas(ALIGNMENT) char elsewhere[4096];
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = ptag};
    VIP_MEM_HANDLE handle;
    via_check(VipRegisterMem(nic, elsewhere, sizeof elsewhere, &attributes, &handle),
              "VipRegisterMem");
    via_check(VipDeregisterMem(nic, elsewhere, handle), "VipDeregisterMem");
    expect_failure(elsewhere, handle, 64, VIP_STATUS_PROTECTION_ERROR);
}

static void test_length(void) {
    expect_failure(arena + ARENA_BYTES - 64, memory, 65, VIP_STATUS_PROTECTION_ERROR);
}

static void test_wrong_sum(void) {
    if (own == 0) {
        via_describe(descriptor(0), out(), memory, 64);
        descriptor(0)->CS.Length = 60;
        via_check(VipPostSend(vi, descriptor(0), memory), "VipPostSend");
        expect(sent(), VIP_STATUS_LENGTH_ERROR, "status of a send whose lengths differ");
    } else {
        expect_event(VIP_ERROR_CONN_LOST);
    }
}

/* What was posted before a wrong descriptor goes its way, and comes back before it. */
static void test_wrong_in_turn(void) {
    enum { BYTES = 4096 };
    if (own == 1)
        post_receive(1, in(), PART);
    narthex_barrier();
    if (own == 0) {
        VIP_DESCRIPTOR *first = descriptor(DESCRIPTORS), *second = descriptor(DESCRIPTORS + 1);
        pattern_fill(out(), BYTES, 4);
        via_describe(first, out(), memory, BYTES);
        via_describe(second, out(), memory, 64);
        second->CS.Length = 60;
        via_check(VipPostSend(vi, first, memory), "VipPostSend");
        via_check(VipPostSend(vi, second, memory), "VipPostSend");
        expect(sent(), VIP_STATUS_OP_SEND, "status of the send before a wrong one");
        expect(sent(), VIP_STATUS_LENGTH_ERROR, "status of a send whose lengths differ");
    } else {
        expect(received()->CS.Length, BYTES, "length of what came before a wrong one");
        pattern_check(in(), BYTES, 4);
        expect_event(VIP_ERROR_CONN_LOST);
    }
}

static void test_format(void) {
    if (own == 0) {
        via_describe(descriptor(0), out(), memory, 64);
        descriptor(0)->CS.Control = 0x40;
        via_check(VipPostSend(vi, descriptor(0), memory), "VipPostSend");
        expect(sent() & VIP_STATUS_ERROR_MASK, VIP_STATUS_FORMAT_ERROR,
               "errors of a wrong control");
    } else {
        expect_event(VIP_ERROR_CONN_LOST);
    }
}

/* A descriptor whose Next is itself: the interface follows no chain. One that is posted already is
 * refused. */
static void test_circle(void) {
    post_receive(1, in(), 64);
    expect(VipPostRecv(vi, descriptor(1), memory), VIP_INVALID_PARAMETER, "posting it twice");
    narthex_barrier();
    descriptor(0)->CS.Next.Address = descriptor(0);
    descriptor(0)->CS.NextHandle = memory;
    expect(send_now(out(), memory, 64), VIP_STATUS_OP_SEND, "status of a send");
    expect(received()->CS.Length, 64, "length of a receive");
    descriptor(0)->CS.Next.Address = NULL;
}

/* Rings the doorbells of VIs that are none of this process: of nobody's, and, where another process
 * shares the interface, of its own. That one's messages come as if nothing had been. */
static void test_doorbell(void) {
    uint64_t page = narthex_information()->via_doorbells;
    int rung = 0;
    for (uint64_t number = 0; number < 8; number++)
        if (!nic->vis[number]) {
            uint64_t token = (uintptr_t)descriptor(0) | (uint64_t)memory << VIA_HANDLE_SHIFT;
            *(volatile uint64_t *)(uintptr_t)(page + number * VIA_DOORBELL_STRIDE) = token;
            rung += 1;
        }
    VIP_DESCRIPTOR *done;
    while (seen < rung)
        VipSendDone(vi, &done);
    for (int each = 0; each < rung; each++)
        expect(events[each].code, VIP_ERROR_POST_DESC, "the error of a stranger's doorbell");
    post_receive(1, in(), 64);
    narthex_barrier();
    expect(send_now(out(), memory, 64), VIP_STATUS_OP_SEND, "status of a send");
    expect(received()->CS.Length, 64, "length of a receive");
}

static void test_wrong_handle(void) {
    via_describe(descriptor(0), out(), memory, 8);
    via_check(VipPostSend(vi, descriptor(0), memory + 100), "VipPostSend");
    expect(sent(), VIP_STATUS_PROTECTION_ERROR, "status of a send with a wrong handle");
}

static const struct test TESTS[] = {
    {"sizes", test_sizes, RELIABLE, false, false},
    {"segments", test_segments, RELIABLE, false, false},
    {"many", test_many, RELIABLE, false, false},
    {"rdma", test_rdma, RELIABLE, true, false},
    {"unregistered", test_unregistered, RELIABLE, false, false},
    {"deregistered", test_deregistered, RELIABLE, false, false},
    {"length", test_length, RELIABLE, false, false},
    {"wrong-sum", test_wrong_sum, RELIABLE, false, false},
    {"wrong-in-turn", test_wrong_in_turn, RELIABLE, false, false},
    {"format", test_format, RELIABLE, false, false},
    {"circle", test_circle, RELIABLE, false, false},
    {"doorbell", test_doorbell, RELIABLE, false, true},
    {"wrong-handle", test_wrong_handle, RELIABLE, false, false},
};

int main(int count, char **values) {
    return run_cases(count, values, TESTS, sizeof TESTS / sizeof TESTS[0]);
}
