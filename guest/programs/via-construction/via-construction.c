/* How the order in which a message is written matters to eager data transfer (Won, Lee, Park and
 * Kim, Section 5): each write after a block was fetched makes another invalidation and another
 * fetch of it.
 *
 *     via-construction [ORDER [BYTES [COUNT [PAUSE]]]]
 *                        by default sequential, 4096 bytes, 20 messages, no pause
 *
 * ORDER is sequential, random, or stride: the first word of each block, then the second word of
 * each, and so on. PAUSE cycles are spent before each word. Node 1 checks what comes, and answers.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "../arguments.h"
#include "../pattern.h"
#include "messaging/copy.h"
#include "runtime/information.h"
#include "via/endpoint.h"

enum { PAGE = 4096, BYTES_LIMIT = 16384, ALIGNMENT = 128, ANSWER_BYTES = 8 };

static VIP_VI_HANDLE vi;
static VIP_MEM_HANDLE handle;
static VIP_UINT32 bytes;
static VIP_DESCRIPTOR *out, *in;
static volatile word *sent, *received;
static uint32_t *order; /* in which the words are written */

static void start(void) {
    VIP_NIC_HANDLE nic;
    VIP_PROTECTION_HANDLE ptag;
    size_t all = PAGE + 2 * BYTES_LIMIT;
    char *memory = aligned_alloc(PAGE, all);
    narthex_check(memory, "node %d has no memory for messages", narthex_node());
    memset(memory, 0, all);
    out = (VIP_DESCRIPTOR *)(void *)memory;
    in = (VIP_DESCRIPTOR *)(void *)(memory + ALIGNMENT);
    sent = (word *)(void *)(memory + PAGE);
    received = (word *)(void *)(memory + PAGE + BYTES_LIMIT);
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    via_check(VipCreatePtag(nic, &ptag), "VipCreatePtag");
    VIP_MEM_ATTRIBUTES of_memory = {.Ptag = ptag};
    VIP_VI_ATTRIBUTES of_vi = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                               .MaxTransferSize = BYTES_LIMIT,
                               .Ptag = ptag};
    via_check(VipRegisterMem(nic, memory, all, &of_memory, &handle), "VipRegisterMem");
    via_check(VipCreateVi(nic, &of_vi, NULL, NULL, &vi), "VipCreateVi");
    via_describe(in, (void *)(uintptr_t)received, handle, BYTES_LIMIT);
    via_check(VipPostRecv(vi, in, handle), "VipPostRecv");
    via_connect(nic, vi, 1 - narthex_node(), 0);
}

/* Each place once, in the order that is asked for. */
static void make_order(const char *name) {
    uint32_t words = bytes / sizeof(word), of_block = ALIGNMENT / sizeof(word);
    order = malloc(words * sizeof *order);
    narthex_check(order, "node %d has no memory for %u words", narthex_node(), words);
    bool is_stride = strcmp(name, "stride") == 0, is_random = strcmp(name, "random") == 0;
    narthex_check(is_stride || is_random || strcmp(name, "sequential") == 0,
                  "the order is \"%s\"; allowed are sequential, random and stride", name);
    uint32_t blocks = words / of_block;
    for (uint32_t each = 0; each < words; each++)
        order[each] = is_stride ? each % blocks * of_block + each / blocks : each;
    uint64_t random = random_start(narthex_seed(), 0);
    for (uint32_t left = words; is_random && left > 1; left--) {
        uint32_t chosen = (uint32_t)(random_next(&random) % left), last = order[left - 1];
        order[left - 1] = order[chosen];
        order[chosen] = last;
    }
}

static word word_at(uint64_t key, uint32_t index) {
    return (word)(key * 0x10001 + index);
}

static uint64_t construct(uint64_t key, uint64_t pause) {
    uint64_t begin = narthex_time_ns();
    for (uint32_t each = 0; each < bytes / sizeof(word); each++) {
        if (pause > 0)
            narthex_pause(pause);
        sent[order[each]] = word_at(key, order[each]);
    }
    return narthex_time_ns() - begin;
}

static void send(VIP_UINT32 length) {
    VIP_DESCRIPTOR *done;
    via_describe(out, (void *)(uintptr_t)sent, handle, length);
    via_check(VipPostSend(vi, out, handle), "VipPostSend");
    via_check(VipSendWait(vi, VIP_INFINITE, &done), "VipSendWait");
}

static void receive(void) {
    VIP_DESCRIPTOR *done;
    via_check(VipRecvWait(vi, VIP_INFINITE, &done), "VipRecvWait");
}

static void post_again(void) {
    via_describe(in, (void *)(uintptr_t)received, handle, BYTES_LIMIT);
    via_check(VipPostRecv(vi, in, handle), "VipPostRecv");
}

static void send_all(uint64_t count, uint64_t pause) {
    uint64_t sum = 0;
    for (uint64_t each = 0; each < count; each++) {
        narthex_region_begin("construction");
        sum += construct(each, pause);
        narthex_region_end("construction");
        send(bytes);
        receive();
        post_again();
    }
    narthex_report("user data", (double)sum / (double)count, "ns");
}

static void answer_all(uint64_t count) {
    for (uint64_t each = 0; each < count; each++) {
        receive();
        for (uint32_t index = 0; index < bytes / sizeof(word); index++)
            narthex_check(received[index] == word_at(each, index),
                          "message %llu is wrong in word %u", (unsigned long long)each, index);
        post_again();
        send(ANSWER_BYTES);
    }
}

int main(int count, char **values) {
    bytes = (VIP_UINT32)argument(count, values, 2, "bytes", ALIGNMENT, BYTES_LIMIT, 4096);
    long messages = argument(count, values, 3, "count", 1, 1000000000, 20);
    long pause = argument(count, values, 4, "pause", 0, 1000000, 0);
    narthex_check(bytes % ALIGNMENT == 0, "%u bytes are not whole blocks of %d", bytes, ALIGNMENT);
    narthex_check(narthex_nodes() == 2, "two processes take part, not %d", narthex_nodes());
    make_order(count > 1 ? values[1] : "sequential");
    start();
    if (narthex_node() == 0)
        send_all((uint64_t)messages, (uint64_t)pause);
    else
        answer_all((uint64_t)messages);
    return 0;
}
