/* The Virtual Interface Architecture: how connections begin and end, and what becomes of messages
 * that find no room (guest/via/vipl.h).
 *
 *     via-connections [CASE]         one case, or all of them
 *
 * Two processes take part. Each case has VIs of its own; its results are checked here. */
#include "via_test.h"

static void test_no_descriptor(void) {
    if (own == 0) {
        expect(send_now(out(), memory, 8), VIP_STATUS_OP_SEND, "status of a send");
        expect_event(VIP_ERROR_CONN_LOST);
    } else {
        expect_event(VIP_ERROR_RECVQ_EMPTY);
    }
}

static void test_short_receive(void) {
    if (own == 1)
        post_receive(1, in(), 32);
    narthex_barrier();
    if (own == 0) {
        expect(send_now(out(), memory, 64), VIP_STATUS_OP_SEND, "status of a send");
        expect_event(VIP_ERROR_CONN_LOST);
    } else {
        expect(received()->CS.Status & VIP_STATUS_ERROR_MASK, VIP_STATUS_LENGTH_ERROR,
               "errors of a receive that is too short");
    }
}

/* Flushes what is posted when the other side leaves. */
static void test_disconnect(void) {
    post_receive(1, in(), 64);
    narthex_barrier();
    if (own == 0) {
        via_check(VipDisconnect(vi), "VipDisconnect");
        expect(received()->CS.Status & VIP_STATUS_ERROR_MASK, VIP_STATUS_DESC_FLUSHED_ERROR,
               "errors of a receive at the end");
    } else {
        expect_event(VIP_ERROR_CONN_LOST);
        expect(received()->CS.Status & VIP_STATUS_ERROR_MASK, VIP_STATUS_DESC_FLUSHED_ERROR,
               "errors of a receive at the end");
    }
}

/* A VI that was disconnected connects again. */
static void test_connect_again(void) {
    post_receive(1, in(), 64);
    narthex_barrier();
    if (own == 1)
        expect_event(VIP_ERROR_CONN_LOST);
    via_check(VipDisconnect(vi), "VipDisconnect");
    expect(received()->CS.Status & VIP_STATUS_ERROR_MASK, VIP_STATUS_DESC_FLUSHED_ERROR,
           "errors of a receive at the end");
    post_receive(1, in(), 64);
    via_connect(nic, vi, 1 - own, pairs++);
    narthex_barrier();
    expect(send_now(out(), memory, 64), VIP_STATUS_OP_SEND, "status of a send");
    expect(received()->CS.Length, 64, "length of a receive");
}

static void test_rdma_protection(void) {
    struct place other = exchange_places(memory);
    narthex_barrier();
    if (own == 0) {
        via_check(VipPostSend(vi,
                              rdma(VIP_CONTROL_OP_RDMAWRITE, out(), 8, other.address,
                                   (VIP_MEM_HANDLE)other.handle),
                              memory),
                  "VipPostSend");
        expect(sent(), VIP_STATUS_OP_RDMA_WRITE, "status of an RDMA write");
    }
    expect_event(VIP_ERROR_RDMAW_PROT);
}

static void test_unreliable(void) {
    narthex_barrier();
    if (own == 0)
        expect(send_now(out(), memory, 8), VIP_STATUS_OP_SEND, "status of a send");
    narthex_barrier();
    if (own == 1)
        post_receive(1, in(), 64);
    narthex_barrier();
    if (own == 0)
        expect(send_now(out(), memory, 16), VIP_STATUS_OP_SEND, "status of a send");
    else
        expect(received()->CS.Length, 16, "length of the message that is not lost");
}

/* With reliable reception the sender's descriptor tells what became of the message. */
static void test_reception(void) {
    if (own == 1)
        post_receive(1, in(), 32);
    narthex_barrier();
    if (own == 0) {
        expect(send_now(out(), memory, 32), VIP_STATUS_OP_SEND, "status of a send");
        expect(send_now(out(), memory, 32), VIP_STATUS_REMOTE_DESC_ERROR,
               "status of a send without a receive descriptor");
    } else {
        expect(received()->CS.Length, 32, "length of a receive");
        expect_event(VIP_ERROR_RECVQ_EMPTY);
    }
}

static void test_rdma_reception(void) {
    struct place other = exchange_places(memory);
    narthex_barrier();
    if (own == 1) {
        expect_event(VIP_ERROR_RDMAW_PROT);
        return;
    }
    VIP_DESCRIPTOR *write =
        rdma(VIP_CONTROL_OP_RDMAWRITE, out(), 8, other.address, (VIP_MEM_HANDLE)other.handle);
    via_check(VipPostSend(vi, write, memory), "VipPostSend");
    expect(sent(), VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR,
           "status of an RDMA write to memory that does not allow it");
}

/* Cases that make their VIs themselves */

static void test_full_cq(void) {
    VIP_CQ_HANDLE cq;
    via_check(VipCreateCQ(nic, 2, &cq), "VipCreateCQ");
    vi = make_vi(VIP_SERVICE_RELIABLE_DELIVERY, cq, NULL);
    via_connect(nic, vi, 1 - own, pairs++);
    for (int each = 0; each < 5; each++)
        post_receive(1 + each, in(), 64);
    narthex_barrier();
    VIP_VI_HANDLE whose;
    VIP_BOOLEAN is_receive;
    if (own == 0) {
        for (int each = 0; each < 2; each++) { /* twice around */
            expect(send_now(out(), memory, 8), 0, "status of a send");
            via_check(VipCQWait(cq, VIP_INFINITE, &whose, &is_receive), "VipCQWait");
            narthex_check(whose == vi && !is_receive, "the queue tells of another VI");
        }
        for (int each = 0; each < 3; each++)
            send_now(out(), memory, 8);
        expect_event(VIP_ERROR_COMP_PROT);
    } else {
        expect_event(VIP_ERROR_CONN_LOST);
    }
    close_pair();
    via_check(VipDestroyCQ(cq), "VipDestroyCQ");
}

static VIP_NET_ADDRESS address(uint16_t node, uint32_t discriminator) {
    VIP_NET_ADDRESS made = {.HostAddressLen = sizeof node,
                            .DiscriminatorLen = sizeof discriminator};
    memcpy(made.HostAddress, &node, sizeof node);
    memcpy(made.HostAddress + sizeof node, &discriminator, sizeof discriminator);
    return made;
}

static void test_connections(void) {
    VIP_CONN_HANDLE connection;
    VIP_NET_ADDRESS nobody = address((uint16_t)((1 - own) / narthex_processes()), 999),
                    nowhere = address(60000, 1);
    VIP_NET_ADDRESS here = address(0, 1000);
    vi = make_vi(VIP_SERVICE_RELIABLE_DELIVERY, NULL, NULL);
    expect(VipConnectRequest(vi, NULL, &nobody, VIP_INFINITE, NULL), VIP_NO_MATCH,
           "a call to nobody");
    expect(VipConnectRequest(vi, NULL, &nowhere, VIP_INFINITE, NULL), VIP_NOT_REACHABLE,
           "a call to a node that is not there");
    expect(VipConnectWait(nic, &nobody, 1, NULL, NULL, &connection), VIP_TIMEOUT,
           "a wait for nobody");
    expect(send_now(out(), memory, 8), VIP_STATUS_DESC_FLUSHED_ERROR,
           "a send without a connection");
    narthex_barrier();
    if (own == 0) {
        via_check(VipConnectWait(nic, &here, VIP_INFINITE, NULL, NULL, &connection),
                  "VipConnectWait");
        via_check(VipConnectReject(connection), "VipConnectReject");
    } else {
        VIP_RETURN result;
        while ((result = VipConnectRequest(vi, NULL, &here, VIP_INFINITE, NULL)) == VIP_NO_MATCH)
            ;
        expect(result, VIP_REJECT, "a call that is rejected");
    }
    close_pair();
}

/* More registrations than the interface has memory for copies: later ones go by DMA. */
static void test_registrations(void) {
    enum { EACH = 65536, MOST = 80 };
    static VIP_MEM_HANDLE handles[MOST];
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = ptag};
    char *all = aligned_alloc(4096, (size_t)EACH * MOST);
    narthex_check(all, "there is no memory");
    memset(all, 0, (size_t)EACH * MOST);
    int count = 0;
    VIP_RETURN result = VIP_SUCCESS;
    for (; count < MOST && result == VIP_SUCCESS; count += result == VIP_SUCCESS)
        result =
            VipRegisterMem(nic, all + (size_t)count * EACH, EACH, &attributes, &handles[count]);
    narthex_check(result == VIP_SUCCESS || result == VIP_ERROR_RESOURCE, "registering returns %d",
                  (int)result);
    narthex_check(count > 1, "%d registrations are few", count);
    open_pair(VIP_SERVICE_RELIABLE_DELIVERY);
    char *last = all + (size_t)(count - 1) * EACH;
    via_describe(descriptor(1), last + 8192, handles[count - 1], 4096);
    via_check(VipPostRecv(vi, descriptor(1), memory), "VipPostRecv");
    narthex_barrier();
    pattern_fill(last, 4096, 3);
    expect(send_now(last, handles[count - 1], 4096), VIP_STATUS_OP_SEND, "status of a send");
    expect(received()->CS.Length, 4096, "length of a receive");
    pattern_check(last + 8192, 4096, 3);
    close_pair();
    for (int each = 0; each < count; each++)
        via_check(VipDeregisterMem(nic, all + (size_t)each * EACH, handles[each]),
                  "VipDeregisterMem");
    free(all);
}

static const struct test TESTS[] = {
    {"no-descriptor", test_no_descriptor, RELIABLE, false, false},
    {"short-receive", test_short_receive, RELIABLE, false, false},
    {"disconnect", test_disconnect, RELIABLE, false, false},
    {"connect-again", test_connect_again, RELIABLE, false, false},
    {"rdma-protection", test_rdma_protection, RELIABLE, true, false},
    {"unreliable", test_unreliable, UNRELIABLE, false, false},
    {"reception", test_reception, RECEPTION, false, false},
    {"rdma-reception", test_rdma_reception, RECEPTION, true, false},
    {"full-cq", test_full_cq, ALONE, false, false},
    {"connections", test_connections, ALONE, false, false},
    {"registrations", test_registrations, ALONE, false, false},
};

int main(int count, char **values) {
    return run_cases(count, values, TESTS, sizeof TESTS / sizeof TESTS[0]);
}
