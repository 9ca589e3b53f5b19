/* Completion queues. What the verbs tell of is entered in a ring here: a program may take a
 * descriptor by VipSendDone or VipRecvDone before it has asked the queue for its entry. */
#include <stdlib.h>

#include "via_verbs/provider.h"

/* Two queues full of descriptors have room where the verbs tell of them. */
enum { LEAST_ROOM = 2 * VIA_DESCRIPTORS_LIMIT };

VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle) {
    if (is_no_cq(NicHandle, EntryCount, CQ_ENTRIES_LIMIT, CQHandle))
        return VIP_INVALID_PARAMETER;
    int room = EntryCount < LEAST_ROOM ? LEAST_ROOM : (int)EntryCount;
    struct via_cq *cq = calloc(1, sizeof *cq);
    if (cq)
        *cq = (struct via_cq){
            .nic = NicHandle,
            .size = (uint32_t)EntryCount,
            .entries = calloc(EntryCount, sizeof *cq->entries),
            .completions = {ibv_create_cq(NicHandle->context, room, NULL, NULL, 0), 0}};
    if (!cq || !cq->entries || !cq->completions.queue) {
        if (cq && cq->completions.queue)
            ibv_destroy_cq(cq->completions.queue);
        if (cq)
            free(cq->entries);
        free(cq);
        return VIP_ERROR_RESOURCE;
    }
    *CQHandle = cq;
    return VIP_SUCCESS;
}

VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle) {
    if (!CQHandle)
        return VIP_INVALID_PARAMETER;
    if (CQHandle->users > 0)
        return VIP_ERROR_RESOURCE;
    ibv_destroy_cq(CQHandle->completions.queue);
    free(CQHandle->entries);
    free(CQHandle);
    return VIP_SUCCESS;
}

void verbs_enter(struct via_cq *cq, struct via_vi *vi, bool receives) {
    if (cq->count == cq->size) {
        if (vi->state != VIP_STATE_ERROR)
            verbs_event(vi, VIP_ERROR_COMP_PROT);
        verbs_break(vi, VIP_ERROR_CONN_LOST);
        return;
    }
    uint32_t place = cq->first + cq->count;
    cq->entries[place < cq->size ? place : place - cq->size] = (struct via_entry){vi, receives};
    cq->count += 1;
}

void verbs_forget(struct via_cq *cq, const struct via_vi *vi) {
    for (uint32_t each = 0; cq && each < cq->size; each++)
        if (cq->entries[each].vi == vi)
            cq->entries[each].vi = NULL;
}

VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue) {
    if (!CQHandle || !ViHandle || !RecvQueue)
        return VIP_INVALID_PARAMETER;
    struct via_cq *cq = CQHandle;
    while (cq->count > 0 || verbs_take_completion(&cq->completions)) {
        if (cq->count == 0)
            continue;
        struct via_entry entry = cq->entries[cq->first];
        cq->first = cq->first + 1 == cq->size ? 0 : cq->first + 1;
        cq->count -= 1;
        if (entry.vi) {
            *ViHandle = entry.vi;
            *RecvQueue = entry.receives;
            return VIP_SUCCESS;
        }
    }
    verbs_listen(cq->nic);
    return VIP_NOT_DONE;
}

VIP_RETURN VIPL(VipCQWait)(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
                           VIP_BOOLEAN *RecvQueue) {
    return wait_for_entry(CQHandle, Timeout, ViHandle, RecvQueue);
}
