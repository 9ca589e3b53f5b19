/* Help for the self-checks of VIPL: two processes, each case with VIs of its own. */
#ifndef NARTHEX_PROGRAMS_TESTS_VIA_TEST_H
#define NARTHEX_PROGRAMS_TESTS_VIA_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pattern.h"
#include "runtime/information.h"
#include "via/endpoint.h"

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

static inline VIP_DESCRIPTOR *descriptor(int index) {
    return (VIP_DESCRIPTOR *)(void *)(arena + index * 2 * ALIGNMENT);
}

static inline char *out(void) {
    return arena + PART;
}

static inline char *in(void) {
    return arena + 2 * PART;
}

static inline VIP_VI_HANDLE make_vi(VIP_RELIABILITY_LEVEL level, VIP_CQ_HANDLE sends,
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

static inline void open_pair(VIP_RELIABILITY_LEVEL level) {
    vi = make_vi(level, NULL, NULL);
    via_connect(nic, vi, 1 - own, pairs++);
}

static inline void close_pair(void) {
    VIP_DESCRIPTOR *done;
    narthex_barrier();
    via_check(VipDisconnect(vi), "VipDisconnect");
    while (VipRecvDone(vi, &done) != VIP_NOT_DONE || VipSendDone(vi, &done) != VIP_NOT_DONE)
        ;
    via_check(VipDestroyVi(vi), "VipDestroyVi");
    narthex_barrier();
    seen = 0;
}

static inline void post_receive(int index, void *to, VIP_UINT32 bytes) {
    via_describe(descriptor(index), to, memory, bytes);
    via_check(VipPostRecv(vi, descriptor(index), memory), "VipPostRecv");
}

/* Waits for the oldest send; its status without the lowest bit. */
static inline VIP_UINT32 sent(void) {
    VIP_DESCRIPTOR *done;
    VIP_RETURN result = VipSendWait(vi, VIP_INFINITE, &done);
    VIP_UINT32 status = done->CS.Status & ~(VIP_UINT32)VIP_STATUS_DONE;
    narthex_check((result == VIP_DESCRIPTOR_ERROR) == ((status & VIP_STATUS_ERROR_MASK) != 0),
                  "VipSendWait returns %d for status 0x%x", (int)result, status);
    return status;
}

static inline VIP_UINT32 send_now(void *from, VIP_MEM_HANDLE handle, VIP_UINT32 bytes) {
    via_describe(descriptor(0), from, handle, bytes);
    via_check(VipPostSend(vi, descriptor(0), memory), "VipPostSend");
    return sent();
}

static inline VIP_DESCRIPTOR *received(void) {
    VIP_DESCRIPTOR *done;
    VipRecvWait(vi, VIP_INFINITE, &done);
    return done;
}

static inline void expect(uint64_t got, uint64_t wanted, const char *what) {
    narthex_check(got == wanted, "node %d: %s is 0x%llx, not 0x%llx", own, what,
                  (unsigned long long)got, (unsigned long long)wanted);
}

/* Waits until this error was reported. */
static inline void expect_event(VIP_ERROR_CODE code) {
    VIP_DESCRIPTOR *done;
    for (int each = 0;; each += each < seen) {
        while (each == seen)
            VipSendDone(vi, &done);
        if (events[each].code == code)
            return;
    }
}

static inline VIP_DESCRIPTOR *rdma(VIP_UINT16 operation, char *local, VIP_UINT32 bytes,
                                   uint64_t remote, VIP_MEM_HANDLE handle) {
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

static inline struct place exchange_places(VIP_MEM_HANDLE handle) {
    struct place mine = {(uintptr_t)in(), handle}, other;
    post_receive(1, in() + 8192, sizeof mine);
    narthex_barrier();
    memcpy(out(), &mine, sizeof mine);
    expect(send_now(out(), memory, sizeof mine), VIP_STATUS_OP_SEND, "status of a send");
    received();
    memcpy(&other, in() + 8192, sizeof other);
    return other;
}

/* Cases */

enum pair { RELIABLE, UNRELIABLE, RECEPTION, ALONE };

struct test {
    const char *name;
    void (*run)(void);
    enum pair pair;
    bool needs_rdma, needs_doorbells;
};

static const VIP_RELIABILITY_LEVEL LEVELS[] = {
    [RELIABLE] = VIP_SERVICE_RELIABLE_DELIVERY,
    [UNRELIABLE] = VIP_SERVICE_UNRELIABLE,
    [RECEPTION] = VIP_SERVICE_RELIABLE_RECEPTION,
    [ALONE] = VIP_SERVICE_RELIABLE_DELIVERY,
};

static inline void expect_refusal(VIP_RELIABILITY_LEVEL level) {
    VIP_VI_ATTRIBUTES attributes = {.ReliabilityLevel = level, .MaxTransferSize = 64, .Ptag = ptag};
    VIP_VI_HANDLE made;
    expect(VipCreateVi(nic, &attributes, NULL, NULL, &made), VIP_INVALID_RELIABILITY_LEVEL,
           "making a VI of a level that the interface does not have");
}

static inline void run(const struct test *test) {
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

/* Runs one case, or all of them; `main` of the programs. */
static inline int run_cases(int count, char **values, const struct test *tests,
                            size_t tests_count) {
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
    for (size_t each = 0; each < tests_count; each++)
        if (count < 2 || strcmp(values[1], tests[each].name) == 0) {
            run(&tests[each]);
            found += 1;
        }
    narthex_check(found > 0, "there is no case \"%s\"", values[1]);
    return 0;
}

#endif
