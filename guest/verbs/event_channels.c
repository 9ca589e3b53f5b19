/* Channels: a program waits for an event instead of polling a completion queue.
 *
 *   ibv_req_notify_cq ─► (completion, event, message) ─► ibv_get_cq_event ─► ibv_ack_cq_events
 *
 * A queue is armed as libmlx5 does it: a word with the number of completions taken and of events
 * taken goes to the record, then to the register. An event is an entry of the channel's event queue
 * in memory. It is the program's when its owner bit is that of the lap: 1 in the first, 0 in the
 * second, and so on. While there is none, the thread sleeps until the message behind it.
 *
 * Programs with channels link this file, whose ibv_create_cq and ibv_destroy_cq stand in for those
 * of completions.c. Any other one finds those first, as they stand before this file in the library:
 * what it links does not depend on channels. */
#include "runtime/interrupts.h"
#include "verbs/channels.h"
#include "verbs/completion_queues.h"

enum { MOST_EVENTS = 1024, NO_QUEUE = 0, INDEX = VERBS_ARM_SOLICITED - 1 };

struct event {
    volatile uint32_t completion_queue;
    uint8_t unused[59];
    volatile uint8_t owner;
};
_Static_assert(sizeof(struct event) == VERBS_EVENT, "the interface's events");

struct channel {
    struct ibv_comp_channel channel;
    struct event *ring;
    uint32_t number, mask, taken; /* entries less one; events */
};

struct notified_queue {
    struct completion_queue queue;
    struct channel *channel; /* NULL: none */
    struct notified_queue *next;
    uint32_t sequence, told, acknowledged; /* events taken; those that the program was told of */
};

static struct notified_queue *first; /* of all */

static struct channel *own_channel(struct ibv_comp_channel *channel) {
    return (struct channel *)(void *)channel;
}

static struct notified_queue *own_queue(struct ibv_cq *cq) {
    return (struct notified_queue *)(void *)cq;
}

/* Channels */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context) {
    uint64_t most = device_of(context)->most_objects;
    uint32_t logarithm = verbs_logarithm(most < MOST_EVENTS ? most : MOST_EVENTS);
    struct channel *own = calloc(1, sizeof *own);
    struct event *ring = verbs_allocate(sizeof *ring << logarithm);
    uint64_t words[VERBS_REQUEST_WORDS] = {(uintptr_t)ring, logarithm};
    int error = own && ring ? verbs_request(context, VERBS_CREATE_EVENT_QUEUE, words) : ENOMEM;
    if (error) {
        free(own);
        free(ring);
        errno = error == ENOTTY ? EOPNOTSUPP : error;
        return NULL;
    }
    *own = (struct channel){.channel = {context},
                            .ring = ring,
                            .number = (uint32_t)words[2],
                            .mask = (UINT32_C(1) << logarithm) - 1};
    return &own->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel) {
    struct channel *own = own_channel(channel);
    int error = verbs_request_when_idle(channel->context, VERBS_DESTROY_EVENT_QUEUE, own->number);
    if (!error) {
        free(own->ring);
        free(own);
    }
    return error;
}

uint64_t verbs_vector(const struct ibv_comp_channel *channel) {
    return ((const struct channel *)(const void *)channel)->number;
}

/* Completion queues */

static struct notified_queue *find_queue(uint32_t number) {
    struct notified_queue *queue = first;
    while (queue && queue->queue.cq.handle != number)
        queue = queue->next;
    return queue;
}

struct ibv_cq *verbs_completion_queue(uint32_t number) {
    return &find_queue(number)->queue.cq;
}

int verbs_join_channel(struct ibv_cq *cq, struct ibv_comp_channel *channel) {
    struct channel *to = own_channel(channel);
    uint64_t words[VERBS_REQUEST_WORDS] = {cq->handle, to->number};
    int error = verbs_request(cq->context, VERBS_NOTIFY, words);
    if (error)
        return error;
    own_queue(cq)->channel = to;
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector) {
    if (cqe < 1 || comp_vector != 0 || (uint64_t)cqe > device_of(context)->most_entries) {
        errno = EINVAL;
        return NULL;
    }
    struct ibv_cq *cq =
        make_completion_queue(context, cqe, cq_context, sizeof(struct notified_queue));
    if (!cq)
        return NULL;
    struct notified_queue *own = own_queue(cq);
    own->next = first;
    first = own;
    int error = channel ? verbs_join_channel(cq, channel) : 0;
    if (error) {
        ibv_destroy_cq(cq);
        errno = error;
        return NULL;
    }
    return cq;
}

/* Entries of a channel that tell of a queue tell of none. */
static void forget_events(struct channel *channel, uint32_t number) {
    for (uint32_t each = 0; each <= channel->mask; each++)
        if (channel->ring[each].completion_queue == number)
            channel->ring[each].completion_queue = NO_QUEUE;
}

int ibv_destroy_cq(struct ibv_cq *cq) {
    struct notified_queue *own = own_queue(cq);
    int error = verbs_request_when_idle(cq->context, VERBS_DESTROY_COMPLETION_QUEUE, cq->handle);
    if (error)
        return error;
    struct notified_queue **link = &first;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
    if (own->channel)
        forget_events(own->channel, cq->handle);
    while (__atomic_load_n(&own->acknowledged, __ATOMIC_ACQUIRE) != own->told)
        ;
    free(own->queue.ring);
    free(own);
    return 0;
}

/* Events */

int ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only) {
    struct notified_queue *own = own_queue(cq);
    if (!own->channel)
        return EINVAL;
    volatile uint64_t *doorbell = device_of(cq->context)->doorbell;
    uint32_t word = (own->queue.taken & INDEX) | (solicited_only ? VERBS_ARM_SOLICITED : 0) |
                    (own->sequence & 3) << VERBS_ARM_SEQUENCE_SHIFT;
    own->queue.record[1] = word;
    STORES_BEFORE_DEVICE();
    doorbell[(REGISTER_VERBS_ARM - REGISTER_VERBS_DOORBELL) / sizeof *doorbell] =
        (uint64_t)word << 32 | cq->handle;
    STORES_BEFORE_DEVICE();
    return 0;
}

struct ibv_cq *verbs_take_event(struct ibv_comp_channel *channel) {
    struct channel *own = own_channel(channel);
    for (;;) {
        struct event *event = &own->ring[own->taken & own->mask];
        bool is_second_lap = own->taken & (own->mask + 1);
        if (event->owner == is_second_lap)
            return NULL;
        COMPLETION_BEFORE_DATA();
        struct notified_queue *queue = find_queue(event->completion_queue);
        own->taken += 1;
        if (queue) {
            queue->sequence += 1;
            return &queue->queue.cq;
        }
    }
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context) {
    struct ibv_cq *found;
    while (!(found = verbs_take_event(channel)))
        sleep_until_interrupt(verbs_vector(channel), UINT64_MAX);
    own_queue(found)->told += 1;
    *cq = found;
    *cq_context = found->cq_context;
    return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents) {
    __atomic_fetch_add(&own_queue(cq)->acknowledged, nevents, __ATOMIC_RELEASE);
}
