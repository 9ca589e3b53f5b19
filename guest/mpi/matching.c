#include "mpi/matching.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "mpi/collectives.h"

struct queue mpi_queues[QUEUES];

static struct arrival *unused;

void matching_start(void) {
    for (struct queue *queue = mpi_queues; queue != mpi_queues + QUEUES; queue++) {
        queue->posted_end = &queue->posted;
        queue->arrived_end = &queue->arrived;
    }
}

static inline bool fits(int peer, int wanted_tag, int source, int tag) {
    return (peer == source || peer == MPI_ANY_SOURCE) &&
           (wanted_tag == tag || wanted_tag == MPI_ANY_TAG);
}

/* Takes the receive off the list in which a link leads to it. */
static void unlink_request(struct queue *queue, struct request **link) {
    struct request *request = *link;
    *link = request->next;
    if (!*link)
        queue->posted_end = link;
}

static struct request *take_posted(uint64_t envelope, int source) {
    uint16_t context = envelope_context(envelope);
    int tag = envelope_tag(envelope);
    struct queue *queue = queue_of(context);
    for (struct request **link = &queue->posted; *link; link = &(*link)->next) {
        struct request *request = *link;
        if (request->context == context && fits(request->peer, request->tag, source, tag)) {
            unlink_request(queue, link);
            return request;
        }
    }
    return NULL;
}

static inline bool takes(const struct arrival *arrival, int peer, int tag, uint16_t context) {
    return envelope_context(arrival->envelope) == context &&
           fits(peer, tag, arrival->source, envelope_tag(arrival->envelope));
}

/* Gives the message to its receive; frees its memory. */
static void hand_over(struct request *request, const struct arrival *arrival) {
    int source = arrival->source, tag = envelope_tag(arrival->envelope);
    if (envelope_kind(arrival->envelope) == EAGER) {
        receive_now(request, source, tag, arrival->data, arrival->bytes);
        give_credit(source, arrival->bytes);
    } else {
        grant(request, source, tag, arrival->bytes, arrival->slot);
    }
    if (arrival->is_kept)
        narthex_release(arrival->payload);
}

/* A message that came for no receive. */
static void keep(struct queue *queue, const struct arrival *arrival) {
    struct arrival *kept = unused;
    if (kept)
        unused = kept->next;
    else
        kept = mpi_allocate(sizeof *kept);
    *kept = *arrival;
    kept->next = NULL;
    if (!kept->is_kept && envelope_kind(kept->envelope) == EAGER) {
        narthex_keep(kept->payload);
        kept->is_kept = true;
    }
    *queue->arrived_end = kept;
    queue->arrived_end = &kept->next;
}

void match_arrival(const struct arrival *arrival) {
    uint16_t context = envelope_context(arrival->envelope);
    struct queue *queue = queue_of(context);
    struct request *request = take_posted(arrival->envelope, arrival->source);
    if (request) {
        hand_over(request, arrival);
        return;
    }
    if (is_collective(context))
        for (request = queue->posted; request; request = request->next)
            if (request->context == context)
                check_same_collective(request, arrival->source, envelope_tag(arrival->envelope));
    keep(queue, arrival);
}

void match_receive(struct request *request) {
    struct queue *queue = queue_of(request->context);
    for (struct arrival **link = &queue->arrived; *link; link = &(*link)->next) {
        struct arrival *arrival = *link;
        if (takes(arrival, request->peer, request->tag, request->context)) {
            *link = arrival->next;
            if (!*link)
                queue->arrived_end = link;
            hand_over(request, arrival);
            arrival->next = unused;
            unused = arrival;
            return;
        }
        if (is_collective(request->context) &&
            envelope_context(arrival->envelope) == request->context)
            check_same_collective(request, arrival->source, envelope_tag(arrival->envelope));
    }
    post(queue, request);
}

bool unpost(struct request *request) {
    struct queue *queue = queue_of(request->context);
    for (struct request **link = &queue->posted; *link; link = &(*link)->next)
        if (*link == request) {
            unlink_request(queue, link);
            return true;
        }
    return false;
}

const struct arrival *peek(int source, int tag, uint16_t context) {
    const struct arrival *arrival = queue_of(context)->arrived;
    while (arrival && !takes(arrival, source, tag, context))
        arrival = arrival->next;
    return arrival;
}
