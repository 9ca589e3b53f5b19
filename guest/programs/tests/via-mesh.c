/* VIs between all pairs of processes: each sends a message to each other one, and checks what comes
 * (guest/via/vipl.h). */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "via/endpoint.h"

#include "../pattern.h"

enum { SLOT = 1024, DATA = 128, BYTES = 700 };

static VIP_MEM_HANDLE memory;
static char *slots; /* two for each process: to send, and to receive */

static VIP_DESCRIPTOR *describe(int rank, int is_receive) {
    VIP_DESCRIPTOR *slot = (VIP_DESCRIPTOR *)(void *)(slots + (2 * rank + is_receive) * SLOT);
    via_describe(slot, (char *)slot + DATA, memory, BYTES);
    return slot;
}

static uint64_t key_of(int from, int to) {
    return (uint64_t)(from * narthex_nodes() + to);
}

int main(void) {
    int own = narthex_node(), count = narthex_nodes();
    size_t bytes = ((size_t)count * 2 * SLOT + 4095) / 4096 * 4096;
    VIP_VI_HANDLE *vis = calloc((size_t)count, sizeof *vis);
    VIP_NIC_HANDLE nic;
    VIP_CQ_HANDLE arrivals;
    VIP_MEM_ATTRIBUTES of_memory = {0};
    slots = aligned_alloc(4096, bytes);
    narthex_check(vis && slots, "there is no memory");
    memset(slots, 0, bytes);
    via_check(VipOpenNic("via", &nic), "VipOpenNic");
    via_check(VipCreatePtag(nic, &of_memory.Ptag), "VipCreatePtag");
    via_check(VipRegisterMem(nic, slots, bytes, &of_memory, &memory), "VipRegisterMem");
    via_check(VipCreateCQ(nic, (VIP_ULONG)count, &arrivals), "VipCreateCQ");
    VIP_VI_ATTRIBUTES of_vi = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                               .MaxTransferSize = BYTES,
                               .Ptag = of_memory.Ptag};
    for (int rank = 0; rank < count; rank++) {
        if (rank == own)
            continue;
        via_check(VipCreateVi(nic, &of_vi, NULL, arrivals, &vis[rank]), "VipCreateVi");
        via_check(VipPostRecv(vis[rank], describe(rank, 1), memory), "VipPostRecv");
        via_connect(nic, vis[rank], rank, 0);
    }
    for (int rank = 0; rank < count; rank++) {
        if (rank == own)
            continue;
        VIP_DESCRIPTOR *sent = describe(rank, 0);
        pattern_fill((char *)sent + DATA, BYTES, key_of(own, rank));
        via_check(VipPostSend(vis[rank], sent, memory), "VipPostSend");
    }
    for (int each = 1; each < count; each++) {
        VIP_VI_HANDLE vi;
        VIP_BOOLEAN is_receive;
        VIP_DESCRIPTOR *done;
        via_check(VipCQWait(arrivals, VIP_INFINITE, &vi, &is_receive), "VipCQWait");
        via_check(VipRecvDone(vi, &done), "VipRecvDone");
        int rank = (int)((char *)done - slots) / (2 * SLOT);
        narthex_check(vis[rank] == vi && done->CS.Length == BYTES, "a message is at another VI");
        pattern_check((char *)done + DATA, BYTES, key_of(rank, own));
    }
    for (int rank = 0; rank < count; rank++) {
        VIP_DESCRIPTOR *done;
        if (rank != own)
            via_check(VipSendWait(vis[rank], VIP_INFINITE, &done), "VipSendWait");
    }
    narthex_barrier();
    return 0;
}
