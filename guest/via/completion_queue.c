/* Completion queues: the interface enters which VI's queue has a descriptor that is done. */
#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "via/provider.h"

static volatile uint64_t *entries_of(const struct via_cq *cq) {
    return (volatile uint64_t *)(uintptr_t)(cq->memory + VIA_CQ_ENTRIES_AT);
}

VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle) {
    if (is_no_cq(NicHandle, EntryCount, VIA_CQ_ENTRIES_LIMIT, CQHandle))
        return VIP_INVALID_PARAMETER;
    size_t bytes = VIA_CQ_ENTRIES_AT + EntryCount * sizeof(uint64_t);
    bytes = (bytes + VIA_PAGE_BYTES - 1) / VIA_PAGE_BYTES * VIA_PAGE_BYTES;
    struct via_cq *cq = malloc(sizeof *cq);
    char *memory = aligned_alloc(VIA_PAGE_BYTES, bytes);
    VIP_RETURN result = VIP_ERROR_RESOURCE;
    if (cq && memory) {
        memset(memory, 0, bytes);
        if (NicHandle->flushes)
            via_flush(NicHandle, memory, bytes);
        uint64_t words[VIA_REQUEST_WORDS] = {(uintptr_t)memory, bytes, EntryCount};
        result = via_request(NicHandle, VIA_CREATE_CQ, words);
        *cq = (struct via_cq){NicHandle, words[3], words[4], EntryCount, 0, 0, 1, memory};
        if (result == VIP_SUCCESS) {
            result = via_await(NicHandle, words[5], VIP_INFINITE, NULL);
            if (result != VIP_SUCCESS) { /* the agent has made it */
                VipDestroyCQ(cq);
                return result;
            }
        }
    }
    if (result != VIP_SUCCESS) {
        free(memory);
        free(cq);
        return result;
    }
    *CQHandle = cq;
    return VIP_SUCCESS;
}

VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle) {
    if (!CQHandle)
        return VIP_INVALID_PARAMETER;
    uint64_t words[VIA_REQUEST_WORDS] = {CQHandle->number};
    VIP_RETURN result = via_ask(CQHandle->nic, VIA_DESTROY_CQ, words, 1);
    if (result != VIP_SUCCESS)
        return result;
    words[0] = CQHandle->handle;
    result = via_request(CQHandle->nic, VIA_RELEASE, words);
    free(CQHandle->memory);
    free(CQHandle);
    return result;
}

/* Takes the next entry, which is new, and tells the interface so. */
static uint64_t take(struct via_cq *cq) {
    uint64_t entry = entries_of(cq)[cq->index];
    cq->taken += 1;
    cq->index += 1;
    if (cq->index == cq->entries) {
        cq->index = 0;
        cq->sense ^= 1;
    }
    *(volatile uint64_t *)(uintptr_t)cq->memory = cq->taken;
    if (cq->nic->flushes)
        flush_block(cq->memory);
    return entry;
}

VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue) {
    if (!CQHandle || !ViHandle || !RecvQueue)
        return VIP_INVALID_PARAMETER;
    struct via_nic *nic = CQHandle->nic;
    volatile uint64_t *next = entries_of(CQHandle) + CQHandle->index;
    if ((via_poll(nic, next) & 1) != CQHandle->sense) {
        if (via_has_event(nic))
            via_handle_events(nic);
        return VIP_NOT_DONE;
    }
    uint64_t entry = take(CQHandle);
    *ViHandle = nic->vis[entry >> 2 & (VIA_VIS_LIMIT - 1)];
    *RecvQueue = (entry >> 1 & 1) != 0;
    return VIP_SUCCESS;
}

VIP_RETURN(VipCQWait)(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
                      VIP_BOOLEAN *RecvQueue) {
    return wait_for_entry(CQHandle, Timeout, ViHandle, RecvQueue);
}
