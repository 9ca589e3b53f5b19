/* Sends with and without a copy (Won, Lee, Park and Kim, Section 5): node 0 writes messages in
 * several buffers of its own by turns, and sends each, first copied into memory that was registered
 * before, then in place over a pinned-down cache.
 *
 *     via-zero-copy [BYTES [COUNT [BUFFERS [LIMIT]]]]
 *                        by default 1024 bytes, 32 messages each way, 4 buffers, and a cache of
 *                        65536 bytes of registrations
 *
 * Node 1 checks every byte, and answers each message, so that one is under way at a time. */
#include <stdbool.h>
#include <stdlib.h>

#include "../arguments.h"
#include "../pattern.h"
#include "via/endpoint.h"
#include "via/zero_copy.h"

enum { PAGE = 4096, BUFFERS_LIMIT = 32, BYTES_LIMIT = 16384, ANSWER_BYTES = 8, ALIGNMENT = 128 };

static VIP_NIC_HANDLE nic;
static VIP_PROTECTION_HANDLE ptag;
static VIP_VI_HANDLE vi;
static VIP_MEM_HANDLE handle;
static char *memory; /* registered: a descriptor, then what comes */
static VIP_UINT32 bytes;

static char *allocate(size_t length) {
    size_t pages = (length + PAGE - 1) / PAGE * PAGE;
    char *taken = aligned_alloc(PAGE, pages);
    narthex_check(taken, "node %d has no memory", narthex_node());
    return memset(taken, 0, pages);
}

static void post_receive(void) {
    VIP_DESCRIPTOR *descriptor = (VIP_DESCRIPTOR *)(void *)memory;
    via_describe(descriptor, memory + ALIGNMENT, handle, BYTES_LIMIT);
    via_check(VipPostRecv(vi, descriptor, handle), "VipPostRecv");
}

static void await_receive(void) {
    VIP_DESCRIPTOR *done;
    via_check(VipRecvWait(vi, VIP_INFINITE, &done), "VipRecvWait");
}

static void start(void) {
    memory = allocate(ALIGNMENT + BYTES_LIMIT);
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    via_check(VipCreatePtag(nic, &ptag), "VipCreatePtag");
    VIP_MEM_ATTRIBUTES of_memory = {.Ptag = ptag};
    VIP_VI_ATTRIBUTES of_vi = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                               .MaxTransferSize = BYTES_LIMIT,
                               .Ptag = ptag};
    via_check(VipRegisterMem(nic, memory, ALIGNMENT + BYTES_LIMIT, &of_memory, &handle),
              "VipRegisterMem");
    via_check(VipCreateVi(nic, &of_vi, NULL, NULL, &vi), "VipCreateVi");
    post_receive();
    via_connect(nic, vi, 1 - narthex_node(), 0);
}

/* Sends messages and waits for their answers; the mean time from the first store of a message to
 * the end of its send. */
static double send_all(struct via_sender *sender, char *const *buffers, long buffers_count,
                       uint64_t count, bool in_place) {
    uint64_t sum = 0;
    for (uint64_t each = 0; each < count; each++) {
        char *buffer = buffers[each % (uint64_t)buffers_count];
        uint64_t begin = narthex_time_ns();
        pattern_fill(buffer, bytes, each);
        if (in_place)
            via_send_in_place(sender, buffer, bytes);
        else
            via_send_copied(sender, buffer, bytes);
        sum += narthex_time_ns() - begin;
        await_receive();
        post_receive();
    }
    return (double)sum / (double)count;
}

static void answer_all(struct via_sender *sender, uint64_t count) {
    for (uint64_t each = 0; each < count; each++) {
        await_receive();
        pattern_check(memory + ALIGNMENT, bytes, each);
        post_receive();
        via_send_copied(sender, &each, ANSWER_BYTES);
    }
}

static void report(struct via_sender *sender, long buffers_count, uint64_t count) {
    char *buffers[BUFFERS_LIMIT];
    for (long each = 0; each < buffers_count; each++)
        buffers[each] = allocate(bytes);
    narthex_report("copied", send_all(sender, buffers, buffers_count, count, false), "ns");
    narthex_report("in place", send_all(sender, buffers, buffers_count, count, true), "ns");
    narthex_report("hits", (double)sender->cache.hits, "registrations");
    narthex_report("misses", (double)sender->cache.misses, "registrations");
    narthex_report("releases", (double)sender->cache.releases, "registrations");
}

int main(int count, char **values) {
    bytes = (VIP_UINT32)argument(count, values, 1, "bytes", 1, BYTES_LIMIT, 1024);
    long messages = argument(count, values, 2, "count", 1, 1000000000, 32);
    long buffers = argument(count, values, 3, "buffers", 1, BUFFERS_LIMIT, 4);
    long limit = argument(count, values, 4, "limit", 0, 1L << 30, 65536);
    struct via_sender sender;
    narthex_check(narthex_nodes() == 2, "two processes take part, not %d", narthex_nodes());
    start();
    via_sender_open(&sender, nic, vi, ptag, BYTES_LIMIT, (size_t)limit);
    if (narthex_node() == 0)
        report(&sender, buffers, (uint64_t)messages);
    else
        for (int way = 0; way < 2; way++)
            answer_all(&sender, (uint64_t)messages);
    narthex_barrier();
    via_sender_close(&sender, nic);
    return 0;
}
