/* Posting descriptors, and looking which are done.
 *
 * A descriptor's posting is one store to a doorbell, after the descriptor and its data are written.
 * Which descriptors are posted the library remembers by itself; the interface tells only in their
 * status that they are done, in the order of their posting. */
#include "messaging/narthex.h"
#include "via/provider.h"

/* Writes a descriptor and what it names to memory, where the interface reads it. */
static void flush_all(const struct via_nic *nic, const VIP_DESCRIPTOR *descriptor) {
    int count = descriptor->CS.SegCount;
    int first = (descriptor->CS.Control & VIP_CONTROL_OP_MASK) == VIP_CONTROL_OP_SENDRECV ? 0 : 1;
    for (int each = first; each < count && each < VIA_SEGMENTS_LIMIT; each++)
        via_flush(nic, descriptor->DS[each].Local.Data.Address, descriptor->DS[each].Local.Length);
    via_flush(nic, descriptor, sizeof descriptor->CS + (size_t)count * sizeof descriptor->DS[0]);
}

static VIP_RETURN post(struct via_vi *vi, struct via_queue *queue, VIP_DESCRIPTOR *descriptor,
                       VIP_MEM_HANDLE handle) {
    if ((uintptr_t)descriptor % VIP_DESCRIPTOR_ALIGNMENT != 0 || !descriptor ||
        is_posted(queue, descriptor))
        return VIP_INVALID_PARAMETER;
    if (queue->count == VIA_DESCRIPTORS_LIMIT)
        return VIP_ERROR_RESOURCE;
    uint32_t place = (queue->first + queue->count) % VIA_DESCRIPTORS_LIMIT;
    uint64_t token = (uintptr_t)descriptor | (uint64_t)handle << VIA_HANDLE_SHIFT;
    descriptor->CS.Status = 0;
    if (vi->nic->copies) {
        if (!via_window_post(vi, queue, place, descriptor, handle, queue == &vi->send))
            return VIP_ERROR_RESOURCE;
        token = queue->in_window[place] | VIA_WINDOW_HANDLE << VIA_HANDLE_SHIFT;
    } else if (vi->nic->flushes) {
        flush_all(vi->nic, descriptor);
    }
    queue->posted[place] = descriptor;
    queue->count += 1;
    COMPILER_BARRIER();
    *queue->doorbell = token;
    return VIP_SUCCESS;
}

VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemHandle) {
    return ViHandle ? post(ViHandle, &ViHandle->send, DescriptorPtr, MemHandle)
                    : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemHandle) {
    return ViHandle ? post(ViHandle, &ViHandle->receive, DescriptorPtr, MemHandle)
                    : VIP_INVALID_PARAMETER;
}

static inline bool oldest_is_done(struct via_vi *vi, struct via_queue *queue) {
    VIP_DESCRIPTOR *descriptor = queue->posted[queue->first];
    if (vi->nic->copies)
        return via_window_done(vi, queue, queue->first, queue == &vi->receive);
    /* Length and status, which are written together. */
    const volatile void *status = &descriptor->CS.Length;
    return via_poll(vi->nic, status) >> 32 & VIP_STATUS_DONE;
}

/* Takes the oldest descriptor of a queue, which is done. */
static VIP_RETURN take(struct via_queue *queue, VIP_DESCRIPTOR **descriptor) {
    COMPILER_BARRIER();
    VIP_DESCRIPTOR *taken = queue->posted[queue->first];
    queue->first = (queue->first + 1) % VIA_DESCRIPTORS_LIMIT;
    queue->count -= 1;
    *descriptor = taken;
    return taken->CS.Status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS;
}

static VIP_RETURN done(struct via_vi *vi, struct via_queue *queue, VIP_DESCRIPTOR **descriptor) {
    if (queue->count > 0 && oldest_is_done(vi, queue))
        return take(queue, descriptor);
    if (via_has_event(vi->nic))
        via_handle_events(vi->nic);
    *descriptor = NULL;
    return VIP_NOT_DONE;
}

static VIP_RETURN wait(struct via_vi *vi, struct via_queue *queue, VIP_ULONG timeout,
                       VIP_DESCRIPTOR **descriptor) {
    VIP_RETURN result;
    if (timeout == VIP_INFINITE) {
        while ((result = done(vi, queue, descriptor)) == VIP_NOT_DONE)
            if (queue->count == 0)
                return VIP_INVALID_STATE;
        return result;
    }
    uint64_t start = narthex_time_ns();
    while ((result = done(vi, queue, descriptor)) == VIP_NOT_DONE)
        if (narthex_time_ns() - start >= timeout * NANOSECONDS)
            return VIP_TIMEOUT;
    return result;
}

VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? done(ViHandle, &ViHandle->send, DescriptorPtr)
                                     : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? done(ViHandle, &ViHandle->receive, DescriptorPtr)
                                     : VIP_INVALID_PARAMETER;
}

VIP_RETURN(VipSendWait)(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? wait(ViHandle, &ViHandle->send, TimeOut, DescriptorPtr)
                                     : VIP_INVALID_PARAMETER;
}

VIP_RETURN(VipRecvWait)(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? wait(ViHandle, &ViHandle->receive, TimeOut, DescriptorPtr)
                                     : VIP_INVALID_PARAMETER;
}
