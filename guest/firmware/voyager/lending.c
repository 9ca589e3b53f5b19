/* Switching queues between firmware and hardware. The map of the interface decides at one instant
 * who serves a queue; what was under way before goes first, on either side:
 *
 *     transmit in    messages that were fetched are sent, in the command queue in front of MAP_SET;
 *                    pointers captured before it are forwarded
 *     receive in     MAP_SET holds the queue's packets in the network; those in the miss queue are
 *                    brought; then the queue is enabled
 *     out            QUEUE_OUT stops the queue, and hands its pointers out with its last message
 *
 * A direction switches one queue at a time, so that the command queues have room for it. A queue
 * that cannot be drained (a program takes nothing out, somewhere) is taken back, and so is one
 * whose slots are full while there are more queues than places: hardware has no room to park a
 * message in, and would hold up those that firmware serves, for which its program may wait. Its
 * packets are diverted to the miss queue from that one on, and the firmware parks them. As long as
 * each queue has a place, a full one holds its packets in the network, as a resident one does. */
#include "firmware/voyager/lending.h"

#include "firmware/voyager/events.h"
#include "firmware/voyager/receive.h"
#include "firmware/voyager/transmit.h"

typedef struct place *policy(struct places *places);

static struct lending {
    struct places places;
    bool is_switching;
    struct place *place; /* the one that is switched */
    void *next;          /* the queue that is to have it; NULL if none is any more */
    uint32_t served;     /* messages of hybrid queues that firmware served */
    bool diverts;        /* a queue has found no free place (receiving) */
} sending, receiving;

static policy *choose;

/* While packets for `receiving.next` are held in the network. */
bool is_draining;
static uint16_t drained; /* once the miss queue is freed up to here */
static uintptr_t miss_producer;

static void list_places(struct lending *lending, uint64_t first, uint64_t number, uint64_t count) {
    lending->places.count = count;
    for (uint64_t each = 0; each < count; each++) {
        struct place *place = &lending->places.all[each];
        place->physical = number + each;
        place->state = VOYAGER_QUEUES + (first + number + each) * VOYAGER_QUEUE_STATE_BYTES;
    }
}

void lending_start(void) {
    uint64_t limits = nic_load(REGISTER_VOYAGER_LIMITS);
    uint64_t physical = limits >> 16 & 0xffff, lent = limits >> 32 & 0xffff;
    list_places(&sending, 0, physical - lent, lent);
    list_places(&receiving, physical, physical - lent, lent);
    choose = nic_load(REGISTER_VOYAGER_POLICY) ? next_by_clock : least_recently_used;
    miss_producer =
        VOYAGER_QUEUES + physical * VOYAGER_QUEUE_STATE_BYTES + REGISTER_VOYAGER_QUEUE_PRODUCER;
}

/* Both directions */

/* Whether a queue is in use often enough to be lent a place: one is free, or firmware has served it
 * twice within as many messages as there are places. A switch takes as long as a message or two: to
 * lend a place for a single message costs more than it gains. */
static bool merits_place(struct lending *lending, uint32_t *last_served) {
    uint32_t since = lending->served - *last_served;
    *last_served = lending->served++;
    if (since <= lending->places.count)
        return true;
    for (uint32_t each = 0; each < lending->places.count; each++)
        if (!lending->places.all[each].queue)
            return true;
    return false;
}

static struct place *next_place(struct places *places) {
    for (struct place *each = places->all; each < places->all + places->count; each++)
        if (!each->queue)
            return each;
    return choose(places);
}

static void issue_queue_out(enum command_queue queue, const struct place *place, enum phase then) {
    issue_long(queue, VOYAGER_QUEUE_OUT | AWAITED | queue << 24 | place->physical << 25);
    suspend(queue, (struct operation){then, 0, (void *)(uintptr_t)place});
}

static void issue_map_set(enum command_queue queue, const struct place *place, uint64_t logical,
                          uint64_t options) {
    issue_long(queue,
               VOYAGER_MAP_SET | options | queue << 24 | place->physical << 25 | logical << 32);
}

/* Sets a place's state up for a queue; it is not enabled. Returns CONTROL. */
static uint64_t set_up(const struct place *place, uint64_t base, uint64_t slots, uint64_t producer,
                       uint64_t consumer, uint64_t logical, uint64_t process) {
    uint64_t control = logical << 8 | process << 16;
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_CONTROL, control);
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_BASE, base);
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_SLOTS, slots);
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_CONSUMER, consumer);
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_PRODUCER, producer);
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_ERROR, VOYAGER_STATUS_OPEN);
    return control;
}

/* The switch under way has come to its end, or leads nowhere. */
static void end_switch(struct lending *lending) {
    lending->next = NULL;
    lending->is_switching = false;
}

void forward_pointer(const struct place *place, uint32_t pointer) {
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_ADVANCE, pointer);
}

/* Transmit queues */

static void leave_transmit(struct place *place) {
    struct transmit_queue *queue = place->queue;
    queue->residency = LEAVING;
    issue_queue_out(FOR_TRANSMIT, place, TRANSMIT_HAS_LEFT);
}

/* Gives the next queue its place, once that is free and nothing of the queue is under way. */
static void enter_transmit(void) {
    struct transmit_queue *queue = sending.next;
    struct place *place = sending.place;
    if (queue->state != OPEN) {
        queue->residency = NOT_RESIDENT;
        return end_switch(&sending);
    }
    if (place->queue || queue->fetched != queue->consumer)
        return;
    uint64_t logical = (uint64_t)(queue - transmit_queues);
    uint64_t control = set_up(place, queue->base, queue->slots, queue->producer, queue->consumer,
                              logical, queue->process);
    issue_map_set(FOR_TRANSMIT, place, logical, VOYAGER_COMMAND_ORDERED);
    issue_long(FOR_TRANSMIT, VOYAGER_QUEUE_SET | AWAITED | place->physical << 25 |
                                 (uint64_t)REGISTER_VOYAGER_QUEUE_CONTROL << 32);
    issue_long(FOR_TRANSMIT, control | VOYAGER_CONTROL_ENABLED);
    suspend(FOR_TRANSMIT, (struct operation){TRANSMIT_HAS_ENTERED, 0, queue});
    place->queue = queue;
    place->producer = queue->consumer;
    queue->place = place;
    queue->residency = RESIDENT;
}

void consider_transmit(struct transmit_queue *queue) {
    if (sending.next == queue)
        return enter_transmit();
    bool has_merit = merits_place(&sending, &queue->last_served);
    if (!has_merit || sending.is_switching || queue->residency != NOT_RESIDENT ||
        queue->state != OPEN)
        return;
    sending.is_switching = true;
    sending.next = queue;
    sending.place = next_place(&sending.places);
    queue->residency = ENTERING;
    if (sending.place->queue)
        leave_transmit(sending.place);
    else
        enter_transmit();
}

void transmit_has_entered(void) {
    take_captures(); /* none from before may be left when the queue leaves */
    end_switch(&sending);
}

void transmit_has_left(const struct operation *operation) {
    struct place *place = operation->queue;
    struct transmit_queue *queue = place->queue;
    place->queue = NULL;
    queue->residency = NOT_RESIDENT;
    queue->producer = (uint16_t)shown(queue->shadow, VOYAGER_POINTER_PRODUCER);
    queue->consumer = queue->fetched = (uint16_t)shown(queue->shadow, VOYAGER_POINTER_CONSUMER);
    if (shown(queue->shadow, VOYAGER_POINTER_STATUS) != VOYAGER_STATUS_OPEN)
        queue->state = STOPPED;
    send_up_to(queue, VOYAGER_POINTER_PRODUCER, queue->has_late ? queue->late : queue->producer);
    queue->has_late = false;
    if (place != sending.place)
        return;
    if (sending.next)
        enter_transmit();
    else
        end_switch(&sending);
}

void take_back_transmit(struct transmit_queue *queue) {
    if (queue->residency == RESIDENT)
        leave_transmit(queue->place);
    else if (sending.next == queue && !sending.place->queue)
        end_switch(&sending);
    else if (sending.next == queue)
        sending.next = NULL; /* the switch ends when the other queue has left */
    finish_operations();
    queue->residency = NOT_RESIDENT;
}

/* Receive queues */

static void enable_receive(const struct place *place) {
    const struct receive_queue *queue = place->queue;
    uint64_t logical = (uint64_t)(queue - receive_queues);
    set_physical_word(place, REGISTER_VOYAGER_QUEUE_CONTROL,
                      logical << 8 | queue->process << 16 | VOYAGER_CONTROL_ENABLED |
                          (receiving.diverts ? VOYAGER_CONTROL_DIVERTS : 0));
}

/* There are more queues than places. */
static void begin_to_divert(void) {
    receiving.diverts = true;
    for (uint32_t each = 0; each < receiving.places.count; each++) {
        const struct place *place = &receiving.places.all[each];
        const struct receive_queue *queue = place->queue;
        if (queue && queue->residency == RESIDENT)
            enable_receive(place);
    }
}

static void leave_receive(struct place *place) {
    struct receive_queue *queue = place->queue;
    queue->residency = LEAVING;
    issue_queue_out(FOR_RECEIVE, place, RECEIVE_HAS_LEFT);
}

/* The next queue does not get its place, as it cannot be drained. */
void give_up_draining(void) {
    if (!is_draining)
        return;
    is_draining = false;
    receiving.next = NULL;
    leave_receive(receiving.place);
}

/* Lets the next queue have its place, once that is free: its packets wait in the network until
 * those that have come before are in it. */
static void enter_receive(void) {
    struct receive_queue *queue = receiving.next;
    struct place *place = receiving.place;
    if (queue->state != OPEN || queue->parked > 0)
        return end_switch(&receiving);
    uint64_t logical = (uint64_t)(queue - receive_queues);
    set_up(place, queue->base, queue->slots, queue->shown, queue->consumer, logical,
           queue->process);
    issue_map_set(FOR_RECEIVE, place, logical, AWAITED);
    suspend(FOR_RECEIVE, (struct operation){RECEIVE_IS_MAPPED, 0, queue});
    place->queue = queue;
    place->producer = queue->shown;
    queue->place = place;
    queue->residency = ENTERING;
}

void consider_receive(struct receive_queue *queue) {
    bool has_merit = merits_place(&receiving, &queue->last_served);
    if (!has_merit || receiving.is_switching || queue->residency != NOT_RESIDENT ||
        queue->state != OPEN || queue->parked > 0)
        return;
    receiving.is_switching = true;
    receiving.next = queue;
    receiving.place = next_place(&receiving.places);
    struct receive_queue *other = receiving.place->queue;
    if (other && !receiving.diverts)
        begin_to_divert();
    if (!other)
        enter_receive();
    else if (other->residency == RESIDENT)
        leave_receive(receiving.place);
}

void take_over(struct receive_queue *queue) {
    if (queue->residency == RESIDENT)
        leave_receive(queue->place);
}

void receive_is_mapped(const struct operation *operation) {
    if (receiving.next != operation->queue)
        return;      /* it was closed */
    take_captures(); /* as above */
    is_draining = true;
    drained = (uint16_t)load_register(miss_producer);
    free_seen();
}

void arrivals_are_freed(uint16_t freed) {
    if ((int16_t)(freed - drained) < 0)
        return;
    struct receive_queue *queue = receiving.next;
    if (queue->parked > 0 || queue->state != OPEN)
        return give_up_draining();
    enable_receive(queue->place);
    queue->residency = RESIDENT;
    is_draining = false;
    end_switch(&receiving);
}

void receive_has_left(const struct operation *operation) {
    struct place *place = operation->queue;
    struct receive_queue *queue = place->queue;
    place->queue = NULL;
    queue->residency = NOT_RESIDENT;
    if (queue->shown == queue->producer) /* the hardware has filled it */
        queue->shown = queue->producer = (uint16_t)shown(queue->shadow, VOYAGER_POINTER_PRODUCER);
    queue->consumer = (uint16_t)shown(queue->shadow, VOYAGER_POINTER_CONSUMER);
    if (shown(queue->shadow, VOYAGER_POINTER_STATUS) != VOYAGER_STATUS_OPEN)
        queue->state = STOPPED;
    release_up_to(queue, VOYAGER_POINTER_CONSUMER, queue->has_late ? queue->late : queue->consumer);
    queue->has_late = false;
    if (place != receiving.place)
        return;
    if (receiving.next)
        enter_receive();
    else
        end_switch(&receiving);
}

void take_back_receive(struct receive_queue *queue) {
    if (queue->residency == ENTERING || queue->residency == RESIDENT)
        leave_receive(queue->place);
    if (receiving.next == queue) {
        receiving.next = NULL;
        is_draining = false;
    }
    finish_operations();
}
