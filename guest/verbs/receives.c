/* Receive queues, of one queue pair or shared. The interface learns from the record that receives
 * are posted: no store goes to a register. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/provider.h"

int verbs_create_receive_queue(struct ibv_pd *pd, uint32_t entries, uint32_t segments,
                               struct receive_queue *queue) {
    uint32_t logarithm = verbs_logarithm(entries), of_segments = verbs_logarithm(segments);
    size_t count = (size_t)1 << logarithm, bytes = (count << of_segments) * sizeof(struct segment);
    size_t at = (bytes + RECORD_BYTES - 1) / RECORD_BYTES * RECORD_BYTES;
    *queue = (struct receive_queue){.ring = verbs_allocate(at + RECORD_BYTES),
                                    .mask = (uint32_t)count - 1,
                                    .segments = UINT32_C(1) << of_segments,
                                    .ids = calloc(count, sizeof *queue->ids),
                                    .is_posted = calloc(count, sizeof *queue->is_posted)};
    queue->record = (uint32_t *)(void *)(queue->ring + at);
    uint64_t words[VERBS_REQUEST_WORDS] = {(uintptr_t)queue->ring, logarithm, of_segments,
                                           (uintptr_t)queue->record, pd->handle};
    bool is_there = queue->ring && queue->ids && queue->is_posted;
    int error = is_there ? verbs_request(pd->context, VERBS_CREATE_RECEIVE_QUEUE, words) : ENOMEM;
    queue->number = (uint32_t)words[5];
    if (error) {
        free(queue->ring);
        free(queue->ids);
        free(queue->is_posted);
    }
    return error;
}

int verbs_destroy_receive_queue(struct ibv_context *context, struct receive_queue *queue) {
    int error = verbs_request_when_idle(context, VERBS_DESTROY_RECEIVE_QUEUE, queue->number);
    if (!error) {
        free(queue->ring);
        free(queue->ids);
        free(queue->is_posted);
    }
    return error;
}

static int post(struct receive_queue *queue, const struct ibv_recv_wr *wr) {
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > queue->segments)
        return EINVAL;
    if (queue->posted - queue->oldest > queue->mask)
        return ENOMEM;
    uint32_t place = queue->posted & queue->mask;
    size_t stride = queue->segments * sizeof(struct segment);
    volatile struct segment *segment =
        (volatile struct segment *)(void *)(queue->ring + place * stride);
    for (int each = 0; each < wr->num_sge; each++, segment++) {
        segment->length = wr->sg_list[each].length;
        segment->key = wr->sg_list[each].lkey;
        segment->address = wr->sg_list[each].addr;
    }
    if ((uint32_t)wr->num_sge < queue->segments)
        segment->key = VERBS_NO_KEY;
    queue->ids[place] = wr->wr_id;
    queue->is_posted[place] = true;
    queue->posted += 1;
    return 0;
}

int verbs_post_receives(struct receive_queue *queue, struct ibv_recv_wr *wr,
                        struct ibv_recv_wr **bad) {
    int error = 0;
    uint32_t before = queue->posted;
    for (; wr && !error; wr = wr->next) {
        error = post(queue, wr);
        if (error && bad)
            *bad = wr;
    }
    if (queue->posted != before) {
        STORES_BEFORE_DEVICE();
        *queue->record = queue->posted & 0xffff;
    }
    return error;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr) {
    uint32_t entries = srq_init_attr->attr.max_wr, segments = srq_init_attr->attr.max_sge;
    bool is_sound = entries > 0 && entries <= device_of(pd->context)->most_entries &&
                    segments > 0 && segments <= MOST_SEGMENTS;
    struct shared_receive_queue *own = calloc(1, sizeof *own);
    int error = !own       ? ENOMEM
                : is_sound ? verbs_create_receive_queue(pd, entries, segments, &own->queue)
                           : EINVAL;
    if (error) {
        free(own);
        errno = error;
        return NULL;
    }
    srq_init_attr->attr.max_wr = own->queue.mask + 1;
    srq_init_attr->attr.max_sge = own->queue.segments;
    own->srq = (struct ibv_srq){pd->context, srq_init_attr->srq_context, pd, own->queue.number};
    return &own->srq;
}

int ibv_destroy_srq(struct ibv_srq *srq) {
    struct shared_receive_queue *own = (struct shared_receive_queue *)(void *)srq;
    int error = verbs_destroy_receive_queue(srq->context, &own->queue);
    if (!error)
        free(own);
    return error;
}

int ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr) {
    struct shared_receive_queue *own = (struct shared_receive_queue *)(void *)srq;
    return verbs_post_receives(&own->queue, wr, bad_wr);
}

int ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr) {
    struct queue_pair *own = (struct queue_pair *)(void *)qp;
    if (qp->srq || qp->state == IBV_QPS_RESET) {
        if (bad_wr)
            *bad_wr = wr;
        return EINVAL;
    }
    return verbs_post_receives(&own->own, wr, bad_wr);
}
