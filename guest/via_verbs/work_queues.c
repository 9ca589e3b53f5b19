/* Posting descriptors as work requests, and completing them in their order. */
#include "via_verbs/provider.h"

/* What the descriptor asks for, as its status names it. */
static VIP_UINT32 operation_of(const struct via_queue *queue, const VIP_DESCRIPTOR *descriptor) {
    if (queue->receives)
        return VIP_STATUS_OP_RECEIVE;
    switch (descriptor->CS.Control & VIP_CONTROL_OP_MASK) {
    case VIP_CONTROL_OP_RDMAWRITE:
        return VIP_STATUS_OP_RDMA_WRITE;
    case VIP_CONTROL_OP_RDMAREAD:
        return VIP_STATUS_OP_RDMA_READ;
    default:
        return VIP_STATUS_OP_SEND;
    }
}

/* Completing */

static VIP_DESCRIPTOR *next_to_end(const struct via_queue *queue) {
    return queue->posted[(queue->first + queue->done) % VIA_DESCRIPTORS_LIMIT];
}

static void finish(struct via_queue *queue, VIP_UINT32 status, VIP_UINT32 bytes) {
    VIP_DESCRIPTOR *descriptor = next_to_end(queue);
    descriptor->CS.Reserved = 0;
    descriptor->CS.Length = bytes;
    descriptor->CS.Status = VIP_STATUS_DONE | status;
    queue->done += 1;
    if (queue->cq)
        verbs_enter(queue->cq, queue->vi, queue->receives);
}

/* Completes descriptors that the library has found wrong, and whose turn it is. A wrong one ends
 * the connection. */
static void settle(struct via_queue *queue) {
    while (queue->under_way == 0 && queue->done < queue->count) {
        VIP_UINT32 status = next_to_end(queue)->CS.Reserved;
        finish(queue, status, 0);
        if (!(status & VIP_STATUS_DESC_FLUSHED_ERROR))
            verbs_break(queue->vi, VIP_ERROR_CONN_LOST);
    }
}

void verbs_flush(struct via_queue *queue) {
    queue->completions->under_way -= queue->under_way;
    queue->under_way = 0;
    while (queue->done < queue->count) {
        const VIP_DESCRIPTOR *descriptor = next_to_end(queue);
        VIP_UINT32 known = descriptor->CS.Reserved;
        VIP_UINT32 flushed = operation_of(queue, descriptor) | VIP_STATUS_DESC_FLUSHED_ERROR;
        finish(queue, known ? known : flushed, 0);
    }
}

static VIP_UINT32 errors_of(enum ibv_wc_status status) {
    switch (status) {
    case IBV_WC_SUCCESS:
        return 0;
    case IBV_WC_LOC_LEN_ERR:
        return VIP_STATUS_LENGTH_ERROR;
    case IBV_WC_LOC_QP_OP_ERR:
        return VIP_STATUS_FORMAT_ERROR;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
        return VIP_STATUS_PROTECTION_ERROR;
    case IBV_WC_WR_FLUSH_ERR:
        return VIP_STATUS_DESC_FLUSHED_ERROR;
    case IBV_WC_REM_ACCESS_ERR:
        return VIP_STATUS_RDMA_PROT_ERROR;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
        return VIP_STATUS_REMOTE_DESC_ERROR;
    default:
        return VIP_STATUS_TRANSPORT_ERROR;
    }
}

/* What the other end learns of an error here. */
static VIP_ERROR_CODE told_of(enum ibv_wc_status status, VIP_UINT32 operation) {
    if (status == IBV_WC_RNR_RETRY_EXC_ERR)
        return VIP_ERROR_RECVQ_EMPTY;
    if (status == IBV_WC_REM_ACCESS_ERR)
        return operation == VIP_STATUS_OP_RDMA_READ ? VIP_ERROR_RDMAR_PROT : VIP_ERROR_RDMAW_PROT;
    return VIP_ERROR_CONN_LOST;
}

/* A send or write with reliable delivery has succeeded once it is at the other interface, whatever
 * becomes of it there: that ends the connection, but is no error of the descriptor. */
static bool is_delivered(const struct via_queue *queue, enum ibv_wc_status status,
                         VIP_UINT32 operation) {
    return queue->vi->attributes.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY &&
           operation != VIP_STATUS_OP_RDMA_READ &&
           errors_of(status) & (VIP_STATUS_RDMA_PROT_ERROR | VIP_STATUS_REMOTE_DESC_ERROR);
}

__attribute__((noinline)) static void fail(struct via_queue *queue, enum ibv_wc_status status,
                                           VIP_UINT32 operation) {
    struct via_vi *vi = queue->vi;
    VIP_ERROR_CODE code = told_of(status, operation);
    bool was_connected = vi->state == VIP_STATE_CONNECTED;
    if (is_delivered(queue, status, operation)) {
        finish(queue, operation, next_to_end(queue)->CS.Length);
        if (was_connected)
            verbs_event(vi, code == VIP_ERROR_RECVQ_EMPTY ? VIP_ERROR_CONN_LOST : code);
    } else {
        finish(queue, operation | errors_of(status), 0);
    }
    verbs_break(vi, code);
}

bool verbs_take_completion(struct completions *completions) {
    struct ibv_wc ended;
    if (ibv_poll_cq(completions->queue, 1, &ended) == 0)
        return false;
    struct via_queue *queue = (struct via_queue *)(uintptr_t)ended.wr_id;
    VIP_DESCRIPTOR *descriptor = next_to_end(queue);
    VIP_UINT32 operation = operation_of(queue, descriptor);
    completions->under_way -= 1;
    queue->under_way -= 1;
    if (ended.status != IBV_WC_SUCCESS) {
        fail(queue, ended.status, operation);
        return true;
    }
    if (queue->receives) {
        if (ended.opcode == IBV_WC_RECV_RDMA_WITH_IMM)
            operation = VIP_STATUS_OP_REMOTE_RDMA_WRITE;
        if (ended.wc_flags & IBV_WC_WITH_IMM) {
            operation |= VIP_STATUS_IMMEDIATE;
            descriptor->CS.ImmediateData = ended.imm_data;
        }
    }
    finish(queue, operation, queue->receives ? ended.byte_len : descriptor->CS.Length);
    if (queue->is_stopped)
        settle(queue);
    return true;
}

/* Posting */

/* What a descriptor says, as a work request does. */
struct work {
    const VIP_ADDRESS_SEGMENT *remote; /* of an RDMA */
    struct ibv_sge parts[VIA_SEGMENTS_LIMIT];
    int count;
    VIP_UINT32 bytes;
    bool is_registered; /* all of it */
};

/* Gathers the segments; the errors of the descriptor, 0: none. A segment of no bytes is left out:
 * to the interface a length of 0 is the longest one. */
static VIP_UINT32 read(const struct via_queue *queue, const VIP_DESCRIPTOR *descriptor,
                       VIP_MEM_HANDLE handle, struct work *work) {
    const struct via_nic *nic = queue->vi->nic;
    const VIP_VI_ATTRIBUTES *attributes = &queue->vi->attributes;
    VIP_UINT16 operation = descriptor->CS.Control & VIP_CONTROL_OP_MASK;
    int segments = descriptor->CS.SegCount, first = operation == VIP_CONTROL_OP_SENDRECV ? 0 : 1;
    if (descriptor->CS.Control & VIP_CONTROL_RESERVED || operation == VIP_CONTROL_OP_RESERVED ||
        (queue->receives && first == 1) || segments < first || segments > VIA_SEGMENTS_LIMIT)
        return VIP_STATUS_FORMAT_ERROR;
    size_t size = sizeof descriptor->CS + (size_t)segments * sizeof descriptor->DS[0];
    if (!verbs_is_registered(nic, attributes->Ptag, handle, descriptor, size))
        return VIP_STATUS_PROTECTION_ERROR;
    uint64_t sum = 0;
    work->remote = first == 1 ? &descriptor->DS[0].Remote : NULL;
    work->count = 0;
    for (const VIP_DESCRIPTOR_SEGMENT *each = &descriptor->DS[first];
         each != &descriptor->DS[segments]; each++) {
        const VIP_DATA_SEGMENT *local = &each->Local;
        sum += local->Length;
        if (local->Length > 0)
            work->parts[work->count++] =
                (struct ibv_sge){local->Data.AddressBits, local->Length, local->Handle};
    }
    work->bytes = (VIP_UINT32)sum;
    bool is_wrong = sum != descriptor->CS.Length || sum > attributes->MaxTransferSize;
    return !queue->receives && is_wrong ? VIP_STATUS_LENGTH_ERROR : 0;
}

/* Whether all that a work request names is registered, so that the processor may copy it. */
static bool may_copy(const struct via_queue *queue, const struct work *work) {
    const struct via_vi *vi = queue->vi;
    for (int each = 0; each < work->count; each++) {
        const struct ibv_sge *part = &work->parts[each];
        if (!verbs_is_registered(vi->nic, vi->attributes.Ptag, part->lkey,
                                 (const void *)(uintptr_t)part->addr, part->length))
            return false;
    }
    return true;
}

static enum ibv_wr_opcode opcode_of(VIP_UINT16 control) {
    bool is_immediate = control & VIP_CONTROL_IMMEDIATE;
    switch (control & VIP_CONTROL_OP_MASK) {
    case VIP_CONTROL_OP_RDMAWRITE:
        return is_immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    case VIP_CONTROL_OP_RDMAREAD:
        return IBV_WR_RDMA_READ;
    default:
        return is_immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
    }
}

static int post_send(struct via_queue *queue, const VIP_DESCRIPTOR *descriptor, struct work *work) {
    struct ibv_send_wr *bad, request = {.wr_id = (uintptr_t)queue,
                                        .sg_list = work->parts,
                                        .num_sge = work->count,
                                        .opcode = opcode_of(descriptor->CS.Control),
                                        .imm_data = descriptor->CS.ImmediateData};
    if (work->remote) {
        request.wr.rdma.remote_addr = work->remote->Data.AddressBits;
        request.wr.rdma.rkey = work->remote->Handle;
    }
    if (descriptor->CS.Control & VIP_CONTROL_QFENCE)
        request.send_flags = IBV_SEND_FENCE;
    if (work->bytes <= MOST_INLINE && request.opcode != IBV_WR_RDMA_READ && may_copy(queue, work))
        request.send_flags |= IBV_SEND_INLINE;
    return ibv_post_send(queue->vi->pair, &request, &bad);
}

static int post_receive(struct via_queue *queue, struct work *work) {
    struct ibv_recv_wr *bad, request = {
                                 .wr_id = (uintptr_t)queue,
                                 .sg_list = work->parts,
                                 .num_sge = work->count,
                             };
    return ibv_post_recv(queue->vi->pair, &request, &bad);
}

/* Gives a descriptor to the interface; false if there is no room for that. */
static bool hand_over(struct via_queue *queue, const VIP_DESCRIPTOR *descriptor,
                      struct work *work) {
    struct completions *completions = queue->completions;
    if (completions->under_way == (uint32_t)completions->queue->cqe)
        return false;
    int error = queue->receives ? post_receive(queue, work) : post_send(queue, descriptor, work);
    if (error)
        return false;
    completions->under_way += 1;
    queue->under_way += 1;
    return true;
}

static VIP_RETURN post(struct via_queue *queue, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle) {
    if ((uintptr_t)descriptor % VIP_DESCRIPTOR_ALIGNMENT != 0 || !descriptor ||
        is_posted(queue, descriptor))
        return VIP_INVALID_PARAMETER;
    if (queue->count == VIA_DESCRIPTORS_LIMIT)
        return VIP_ERROR_RESOURCE;
    VIP_VI_STATE state = queue->vi->state;
    bool is_open = state == VIP_STATE_CONNECTED || (queue->receives && state != VIP_STATE_ERROR);
    struct work work;
    VIP_UINT32 errors = !is_open || queue->is_stopped ? VIP_STATUS_DESC_FLUSHED_ERROR
                                                      : read(queue, descriptor, handle, &work);
    descriptor->CS.Status = 0;
    descriptor->CS.Reserved = 0;
    if (errors == 0 && !hand_over(queue, descriptor, &work))
        return VIP_ERROR_RESOURCE;
    queue->posted[(queue->first + queue->count) % VIA_DESCRIPTORS_LIMIT] = descriptor;
    queue->count += 1;
    if (errors != 0) {
        descriptor->CS.Reserved = operation_of(queue, descriptor) | errors;
        queue->is_stopped |= is_open;
        settle(queue);
    }
    return VIP_SUCCESS;
}

VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemHandle) {
    return ViHandle ? post(&ViHandle->send, DescriptorPtr, MemHandle) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemHandle) {
    return ViHandle ? post(&ViHandle->receive, DescriptorPtr, MemHandle) : VIP_INVALID_PARAMETER;
}

/* Asking */

static VIP_RETURN done(struct via_queue *queue, VIP_DESCRIPTOR **descriptor) {
    while (queue->done == 0 && verbs_take_completion(queue->completions))
        ;
    if (queue->done == 0) {
        verbs_listen(queue->vi->nic);
        *descriptor = NULL;
        return VIP_NOT_DONE;
    }
    VIP_DESCRIPTOR *taken = queue->posted[queue->first];
    queue->first = (queue->first + 1) % VIA_DESCRIPTORS_LIMIT;
    queue->count -= 1;
    queue->done -= 1;
    *descriptor = taken;
    return taken->CS.Status & VIP_STATUS_ERROR_MASK ? VIP_DESCRIPTOR_ERROR : VIP_SUCCESS;
}

static VIP_RETURN wait(struct via_queue *queue, VIP_ULONG timeout, VIP_DESCRIPTOR **descriptor) {
    VIP_RETURN result;
    if (timeout == VIP_INFINITE) {
        while ((result = done(queue, descriptor)) == VIP_NOT_DONE)
            if (queue->count == 0)
                return VIP_INVALID_STATE;
        return result;
    }
    uint64_t start = narthex_time_ns();
    while ((result = done(queue, descriptor)) == VIP_NOT_DONE)
        if (narthex_time_ns() - start >= timeout * NANOSECONDS)
            return VIP_TIMEOUT;
    return result;
}

VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? done(&ViHandle->send, DescriptorPtr) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? done(&ViHandle->receive, DescriptorPtr)
                                     : VIP_INVALID_PARAMETER;
}

VIP_RETURN VIPL(VipSendWait)(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut,
                             VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? wait(&ViHandle->send, TimeOut, DescriptorPtr)
                                     : VIP_INVALID_PARAMETER;
}

VIP_RETURN VIPL(VipRecvWait)(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut,
                             VIP_DESCRIPTOR **DescriptorPtr) {
    return ViHandle && DescriptorPtr ? wait(&ViHandle->receive, TimeOut, DescriptorPtr)
                                     : VIP_INVALID_PARAMETER;
}
