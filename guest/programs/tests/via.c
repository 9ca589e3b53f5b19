/* The Virtual Interface Architecture: what works, and how each mistake ends (guest/via/vipl.h).
 *
 *     via [CASE]         one case, or all of them
 *
 * Two processes take part. Each case has VIs of its own; its results are checked here. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pattern.h"
#include "runtime/information.h"
#include "via/endpoint.h"
#include "via/provider.h"

enum { ARENA_BYTES = 65536, PART = 16384, ALIGNMENT = 128, DESCRIPTORS = 16 };

static VIP_NIC_HANDLE nic;
static VIP_PROTECTION_HANDLE ptag;
static VIP_MEM_HANDLE memory;
static char *arena; /* registered: descriptors, then memory to send from and to receive into */
static VIP_VI_HANDLE vi;
static unsigned pairs; /* of VIs that were connected */
static int own;
static VIP_NIC_ATTRIBUTES limits; /* what the interface can do */

/* The errors that belong to no call, as they come. */
static struct {
    VIP_ERROR_CODE code;
    VIP_VI_HANDLE vi;
} events[64];
static int seen;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error) {
    (void)context;
    events[seen % 64].code = error->ErrorCode;
    events[seen++ % 64].vi = error->ViHandle;
}

/* Help */

static VIP_DESCRIPTOR *descriptor(int index) {
    return (VIP_DESCRIPTOR *)(void *)(arena + index * 2 * ALIGNMENT);
}

static char *out(void) {
    return arena + PART;
}

static char *in(void) {
    return arena + 2 * PART;
}

static VIP_VI_HANDLE make_vi(VIP_RELIABILITY_LEVEL level, VIP_CQ_HANDLE sends,
                             VIP_CQ_HANDLE receives) {
    VIP_VI_ATTRIBUTES attributes = {.ReliabilityLevel = level,
                                    .MaxTransferSize = PART,
                                    .Ptag = ptag,
                                    .EnableRdmaWrite = VIP_TRUE,
                                    .EnableRdmaRead = limits.RDMAReadSupport != 0};
    VIP_VI_HANDLE made;
    via_check(VipCreateVi(nic, &attributes, sends, receives, &made), "VipCreateVi");
    return made;
}

static void open_pair(VIP_RELIABILITY_LEVEL level) {
    vi = make_vi(level, NULL, NULL);
    via_connect(nic, vi, 1 - own, pairs++);
}

static void close_pair(void) {
    VIP_DESCRIPTOR *done;
    narthex_barrier();
    via_check(VipDisconnect(vi), "VipDisconnect");
    while (VipRecvDone(vi, &done) != VIP_NOT_DONE || VipSendDone(vi, &done) != VIP_NOT_DONE)
        ;
    via_check(VipDestroyVi(vi), "VipDestroyVi");
    narthex_barrier();
    seen = 0;
}

static void post_receive(int index, void *to, VIP_UINT32 bytes) {
    via_describe(descriptor(index), to, memory, bytes);
    via_check(VipPostRecv(vi, descriptor(index), memory), "VipPostRecv");
}

/* Waits for the oldest send; its status without the lowest bit. */
static VIP_UINT32 sent(void) {
    VIP_DESCRIPTOR *done;
    VIP_RETURN result = VipSendWait(vi, VIP_INFINITE, &done);
    VIP_UINT32 status = done->CS.Status & ~(VIP_UINT32)VIP_STATUS_DONE;
    narthex_check((result == VIP_DESCRIPTOR_ERROR) == ((status & VIP_STATUS_ERROR_MASK) != 0),
                  "VipSendWait returns %d for status 0x%x", (int)result, status);
    return status;
}

static VIP_UINT32 send_now(void *from, VIP_MEM_HANDLE handle, VIP_UINT32 bytes) {
    via_describe(descriptor(0), from, handle, bytes);
    via_check(VipPostSend(vi, descriptor(0), memory), "VipPostSend");
    return sent();
}

static VIP_DESCRIPTOR *received(void) {
    VIP_DESCRIPTOR *done;
    VipRecvWait(vi, VIP_INFINITE, &done);
    return done;
}

static void expect(uint64_t got, uint64_t wanted, const char *what) {
    narthex_check(got == wanted, "node %d: %s is 0x%llx, not 0x%llx", own, what,
                  (unsigned long long)got, (unsigned long long)wanted);
}

/* Waits until this error was reported. */
static void expect_event(VIP_ERROR_CODE code) {
    VIP_DESCRIPTOR *done;
    for (int each = 0;; each += each < seen) {
        while (each == seen)
            VipSendDone(vi, &done);
        if (events[each].code == code)
            return;
    }
}

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

static VIP_DESCRIPTOR *rdma(VIP_UINT16 operation, char *local, VIP_UINT32 bytes, uint64_t remote,
                            VIP_MEM_HANDLE handle) {
    VIP_DESCRIPTOR *made = descriptor(0);
    made->CS.Control = operation;
    made->CS.SegCount = 2;
    made->CS.Length = bytes;
    made->DS[0].Remote = (VIP_ADDRESS_SEGMENT){{remote}, handle, 0};
    made->DS[1].Local = (VIP_DATA_SEGMENT){{.Address = local}, memory, bytes};
    return made;
}

/* Each process tells the other where its memory is. */
struct place {
    uint64_t address;
    uint64_t handle;
};

static struct place exchange_places(VIP_MEM_HANDLE handle) {
    struct place mine = {(uintptr_t)in(), handle}, other;
    post_receive(1, in() + 8192, sizeof mine);
    narthex_barrier();
    memcpy(out(), &mine, sizeof mine);
    expect(send_now(out(), memory, sizeof mine), VIP_STATUS_OP_SEND, "status of a send");
    received();
    memcpy(&other, in() + 8192, sizeof other);
    return other;
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

enum pair { RELIABLE, UNRELIABLE, RECEPTION, ALONE };

struct test {
    const char *name;
    void (*run)(void);
    enum pair pair;
    bool needs_rdma, needs_doorbells;
};

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

static const VIP_RELIABILITY_LEVEL LEVELS[] = {
    [RELIABLE] = VIP_SERVICE_RELIABLE_DELIVERY,
    [UNRELIABLE] = VIP_SERVICE_UNRELIABLE,
    [RECEPTION] = VIP_SERVICE_RELIABLE_RECEPTION,
    [ALONE] = VIP_SERVICE_RELIABLE_DELIVERY,
};

static void expect_refusal(VIP_RELIABILITY_LEVEL level) {
    VIP_VI_ATTRIBUTES attributes = {.ReliabilityLevel = level, .MaxTransferSize = 64, .Ptag = ptag};
    VIP_VI_HANDLE made;
    expect(VipCreateVi(nic, &attributes, NULL, NULL, &made), VIP_INVALID_RELIABILITY_LEVEL,
           "making a VI of a level that the interface does not have");
}

static void run(const struct test *test) {
    VIP_RELIABILITY_LEVEL level = LEVELS[test->pair];
    bool has_doorbells = narthex_information()->send_driver == DRIVER_VIA;
    if (!(limits.ReliabilityLevelSupport & level))
        return expect_refusal(level);
    if ((test->needs_rdma && limits.RDMAReadSupport == 0) ||
        (test->needs_doorbells && !has_doorbells))
        return;
    if (test->pair != ALONE)
        open_pair(level);
    test->run();
    if (test->pair != ALONE)
        close_pair();
    if (own == 0)
        printf("%s\n", test->name);
}

int main(int count, char **values) {
    own = narthex_node();
    arena = aligned_alloc(4096, ARENA_BYTES);
    narthex_check(arena && narthex_nodes() == 2, "two processes with memory take part");
    memset(arena, 0, ARENA_BYTES);
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    via_check(VipQueryNic(nic, &limits), "VipQueryNic");
    VipErrorCallback(nic, NULL, on_error);
    via_check(VipCreatePtag(nic, &ptag), "VipCreatePtag");
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = ptag};
    via_check(VipRegisterMem(nic, arena, ARENA_BYTES, &attributes, &memory), "VipRegisterMem");
    narthex_barrier();
    int found = 0;
    for (size_t each = 0; each < sizeof TESTS / sizeof TESTS[0]; each++)
        if (count < 2 || strcmp(values[1], TESTS[each].name) == 0) {
            run(&TESTS[each]);
            found += 1;
        }
    narthex_check(found > 0, "there is no case \"%s\"", values[1]);
    return 0;
}
