/* Completion queues.
 *
 * An entry is the program's when its owner bit is that of the lap: 0 in the first, 1 in the second,
 * and so on. So a poll that finds nothing is one load from the cache.
 *
 * Those of programs with channels are made and unmade in event_channels.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/copy.h"
#include "verbs/completion_queues.h"
#include "verbs/provider.h"

enum { NO_QUEUE_PAIR = 0 };
enum { REQUEST, RECEIVE_WRITE_IMMEDIATE, RECEIVE, RECEIVE_IMMEDIATE, REQUEST_ERROR = 0xd };

__attribute__((weak)) struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
                                                   void *cq_context,
                                                   struct ibv_comp_channel *channel,
                                                   int comp_vector) {
    if (cqe < 1 || channel || comp_vector != 0 ||
        (uint64_t)cqe > device_of(context)->most_entries) {
        errno = EINVAL;
        return NULL;
    }
    return make_completion_queue(context, cqe, cq_context, sizeof(struct completion_queue));
}

__attribute__((weak)) int ibv_destroy_cq(struct ibv_cq *cq) {
    struct completion_queue *own = (struct completion_queue *)(void *)cq;
    int error = verbs_request_when_idle(cq->context, VERBS_DESTROY_COMPLETION_QUEUE, cq->handle);
    if (!error) {
        free(own->ring);
        free(own);
    }
    return error;
}

static inline bool is_new(const struct completion_queue *queue, uint32_t number) {
    uint8_t kind = *(const volatile uint8_t *)&queue->ring[number & queue->mask].kind_and_owner;
    bool is_second_lap = number & (queue->mask + 1);
    return (kind & 1) == is_second_lap;
}

/* Copies the payload of a completion to the memory of its receive. */
static void scatter(const struct receive_queue *queue, uint32_t place, const uint8_t *payload,
                    uint32_t bytes) {
    const struct segment *segment =
        (const struct segment *)(void *)(queue->ring +
                                         (size_t)place * queue->segments * sizeof *segment);
    while (bytes > 0) {
        uint32_t part = bytes < segment->length ? bytes : segment->length;
        copy((void *)(uintptr_t)segment->address, payload, part);
        payload += part;
        bytes -= part;
        segment++;
    }
}

static enum ibv_wc_opcode ended_as(uint8_t opcode) {
    switch (opcode) {
    case VERBS_WRITE:
    case VERBS_WRITE_IMMEDIATE:
        return IBV_WC_RDMA_WRITE;
    case VERBS_READ:
        return IBV_WC_RDMA_READ;
    case VERBS_COMPARE_SWAP:
        return IBV_WC_COMP_SWAP;
    case VERBS_FETCH_ADD:
        return IBV_WC_FETCH_ADD;
    default:
        return IBV_WC_SEND;
    }
}

static void end_request(struct queue_pair *pair, const struct completion *completion,
                        struct ibv_wc *wc) {
    uint32_t place = completion->index & pair->mask;
    pair->completed = pair->ends[place];
    wc->wr_id = pair->ids[place];
    wc->opcode = ended_as(pair->opcodes[place]);
    wc->byte_len = completion->bytes;
}

static void end_receive(struct receive_queue *queue, const struct completion *completion,
                        struct ibv_wc *wc) {
    uint32_t place = completion->index & queue->mask;
    wc->wr_id = queue->ids[place];
    wc->byte_len = completion->bytes;
    if (completion->kind_and_owner & 4)
        scatter(queue, place, completion->payload, completion->bytes);
    queue->is_posted[place] = false;
    while (queue->oldest != queue->posted && !queue->is_posted[queue->oldest & queue->mask])
        queue->oldest += 1;
}

static void translate(struct device_context *device, const struct completion *completion,
                      struct ibv_wc *wc) {
    int kind = completion->kind_and_owner >> 4;
    struct queue_pair *pair = device->pairs[completion->queue_pair - VERBS_FIRST_QUEUE_PAIR];
    *wc = (struct ibv_wc){.status = (enum ibv_wc_status)completion->status,
                          .qp_num = completion->queue_pair};
    if (kind == REQUEST || kind == REQUEST_ERROR) {
        end_request(pair, completion, wc);
        return;
    }
    end_receive(pair->receives, completion, wc);
    if (HAS_DATAGRAMS) {
        wc->src_qp = completion->source;
        wc->slid = completion->source_lid;
    }
    wc->opcode = kind == RECEIVE_WRITE_IMMEDIATE ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
    if (kind == RECEIVE_WRITE_IMMEDIATE || kind == RECEIVE_IMMEDIATE) {
        wc->wc_flags = IBV_WC_WITH_IMM;
        wc->imm_data = completion->immediate;
    }
}

/* Entries of a queue pair that goes are marked, and polls pass over them. */
VERB void verbs_forget_completions(struct ibv_cq *cq, uint32_t queue_pair) {
    struct completion_queue *own = (struct completion_queue *)(void *)cq;
    for (uint32_t each = own->taken; each - own->taken <= own->mask; each++) {
        struct completion *entry = &own->ring[each & own->mask];
        if (is_new(own, each) && entry->queue_pair == queue_pair)
            entry->queue_pair = NO_QUEUE_PAIR;
    }
}

VERB int ibv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc) {
    struct completion_queue *own = (struct completion_queue *)(void *)cq;
    int count = 0;
    uint32_t before = own->taken;
    for (; count < num_entries && is_new(own, own->taken); own->taken++) {
        COMPLETION_BEFORE_DATA();
        const struct completion *next = &own->ring[own->taken & own->mask];
        if (next->queue_pair != NO_QUEUE_PAIR)
            translate(device_of(cq->context), next, &wc[count++]);
    }
    if (own->taken != before)
        *own->record = own->taken;
    return count;
}

VERB const char *ibv_wc_status_str(enum ibv_wc_status status) {
    static const char *const WORDS[] = {
        "success",
        "local length error",
        "local QP operation error",
        "local EE context operation error",
        "local protection error",
        "Work Request Flushed Error",
        "memory management operation error",
        "bad response error",
        "local access error",
        "remote invalid request error",
        "remote access error",
        "remote operation error",
        "transport retry counter exceeded",
        "RNR retry counter exceeded",
    };
    unsigned number = (unsigned)status;
    return number < sizeof WORDS / sizeof *WORDS ? WORDS[number] : "unknown";
}
