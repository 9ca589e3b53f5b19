/* Sending (Section 4.3) has two phases, since a message says where it goes only once it has been
 * fetched:
 *
 *     producer pointer ──► marshal ──► BUS_READ of the slot into staging room
 *     its completion ────► translate and launch ──► TRANSMIT from there
 *
 * Queues that have messages take turns, a message each. A place of staging room is free again as
 * soon as its TRANSMIT was issued, since the next BUS_READ into it waits for that. So a place
 * stands for room of four commands in that queue as well, and one allocation serves both. */
#include "firmware/voyager/transmit.h"

#include "firmware/voyager/cachable_queues.h"
#include "firmware/voyager/lending.h"
#include "firmware/voyager/shared_memory.h"

struct transmit_queue transmit_queues[QUEUES];

enum { COMMANDS_OF_A_PLACE = VOYAGER_SLOT_BYTES / LINE_BYTES + 1 };

static struct {
    uint64_t address; /* of the first place in SRAM */
    uint32_t places;
    uint32_t taken, freed; /* they wrap together */
} staging;

static uint32_t destinations;      /* that a process has */
static uint32_t queues_of_process; /* a virtual destination is a rank times this, and a queue */

/* The queues that wait for their turn. */
static struct {
    uint32_t first, next; /* they wrap together */
    struct transmit_queue *queues[QUEUES];
} turns;

void transmit_start(void) {
    uint64_t room = command_room(FOR_TRANSMIT);
    staging.address = staging_room();
    destinations = nic_load(REGISTER_VOYAGER_TRANSLATION) >> 32;
    queues_of_process = nic_load(REGISTER_VOYAGER_LIMITS) >> 48;
    staging.places = STAGING_PLACES;
    while (staging.places * COMMANDS_OF_A_PLACE > room / 2 - shared_memory_sends(room))
        staging.places /= 2;
}

static inline uint64_t place_address(uint32_t place) {
    return staging.address + (place & (staging.places - 1)) * VOYAGER_SLOT_BYTES;
}

/* Phase 1 */

static inline void take_turn(struct transmit_queue *queue) {
    queue->waits = true;
    turns.queues[turns.next++ % QUEUES] = queue;
}

/* Has the next message of a queue fetched. */
static inline void marshal(struct transmit_queue *queue) {
    uint32_t place = staging.taken++;
    uint64_t slot = slot_address(queue->base, queue->fetched++, queue->slots);
    if (queue->keeping >= HYBRID)
        issue_copy(FOR_TRANSMIT, slot, place_address(place), VOYAGER_SLOT_BYTES / LINE_BYTES);
    else
        issue_bus_reads(slot, place_address(place), VOYAGER_SLOT_BYTES / LINE_BYTES);
    uint32_t phase = queue->keeping == CACHABLE ? LAUNCH_ENTRY : TRANSLATE_AND_LAUNCH;
    suspend(FOR_TRANSMIT, (struct operation){phase, place, queue});
}

/* Has messages fetched, as long as there is room for them. */
static void marshal_waiting(void) {
    while (turns.first != turns.next && staging.taken - staging.freed < staging.places) {
        struct transmit_queue *queue = turns.queues[turns.first++ % QUEUES];
        queue->waits = false;
        if (queue->fetched == queue->producer || queue->residency != NOT_RESIDENT)
            continue; /* it was stopped, or the hardware sends the rest */
        marshal(queue);
        if (queue->fetched != queue->producer)
            take_turn(queue);
    }
}

void stop_sending(struct transmit_queue *queue, uint64_t status) {
    queue->state = status == VOYAGER_STATUS_CLOSED ? CLOSED : STOPPED;
    queue->producer = queue->fetched;
    show(queue->shadow, VOYAGER_POINTER_STATUS, status);
}

/* A pointer of a queue that is resident, or soon no more, as its program stored it before. */
static void forward(struct transmit_queue *queue, uint64_t word, uint32_t producer) {
    uint32_t value = word == VOYAGER_POINTER_PRODUCER ? producer : UINT32_MAX;
    if (queue->residency == RESIDENT) {
        forward_pointer(queue->place, value);
    } else {
        queue->late = value;
        queue->has_late = true;
    }
}

void send_up_to(struct transmit_queue *queue, uint64_t word, uint32_t producer) {
    ENTER(ACTIVITY_MARSHAL);
    if (queue->residency >= RESIDENT) {
        forward(queue, word, producer);
        LEAVE();
        return;
    }
    uint16_t unsent = (uint16_t)producer - queue->consumer,
             known = queue->producer - queue->consumer;
    bool can_be = word == VOYAGER_POINTER_PRODUCER && producer <= UINT16_MAX && known <= unsent &&
                  unsent <= queue->slots;
    if (queue->state == OPEN && can_be) {
        queue->producer = (uint16_t)producer;
        if (!queue->waits && queue->fetched != queue->producer)
            take_turn(queue);
        marshal_waiting();
    } else if (queue->state == OPEN) {
        stop_sending(queue, VOYAGER_STATUS_BAD_POINTER);
    }
    LEAVE();
}

/* Phase 2 */

/* Where a message with this header goes, or nothing that is valid. */
static inline uint64_t translate(const struct transmit_queue *queue, uint32_t destination) {
    return destination < destinations ? queue->translations[destination] : 0;
}

static inline uint32_t payload_bytes(uint32_t header) {
    return header >> 16 & 0x7f;
}

/* Whether a message may be sent; its queue is stopped if it errs. */
static inline bool may_launch(struct transmit_queue *queue, uint64_t translation, size_t bytes) {
    if (queue->state != OPEN)
        return false; /* it was stopped meanwhile */
    if (!(translation & VOYAGER_TRANSLATION_VALID))
        stop_sending(queue, VOYAGER_STATUS_BAD_DESTINATION);
    else if (bytes > VOYAGER_PAYLOAD_LIMIT)
        stop_sending(queue, VOYAGER_STATUS_BAD_LENGTH);
    return queue->state == OPEN;
}

void translate_and_launch(const struct operation *operation) {
    ENTER(ACTIVITY_LAUNCH);
    struct transmit_queue *queue = operation->queue;
    uint64_t place = place_address(operation->place);
    uint32_t header = (uint32_t)sram_load(place);
    uint64_t translation = translate(queue, header & 0xffff);
    if (may_launch(queue, translation, payload_bytes(header))) {
        issue_transmit(place, translation, queue->process);
        queue->consumer += 1;
        show(queue->shadow, VOYAGER_POINTER_CONSUMER, queue->consumer);
    }
    staging.freed += 1;
    if (queue->keeping == HYBRID)
        consider_transmit(queue);
    marshal_waiting();
    LEAVE();
}

/* An entry's first doubleword is the messaging library's header (messaging/packet.h): it names a
 * rank, and counts the payload behind it. The upper half of it is payload to a slot. The program
 * reads its queue's head only when the queue seems full, so a quarter of it is freed at a time. */
void launch_entry(const struct operation *operation) {
    ENTER(ACTIVITY_LAUNCH);
    struct transmit_queue *queue = operation->queue;
    uint64_t place = place_address(operation->place);
    uint64_t header = sram_load(place) + ((DOUBLEWORD - sizeof(uint32_t)) << HEADER_BYTES_SHIFT);
    uint64_t translation = translate(queue, (header & 0xffff) * queues_of_process);
    if (may_launch(queue, translation, header >> HEADER_BYTES_SHIFT & 0xff)) {
        sram_store(place, header);
        issue_transmit(place, translation, queue->process);
        queue->consumer += 1;
        if (queue->consumer % (queue->slots / 4) == 0)
            show_send_head(queue);
    }
    staging.freed += 1;
    if (queue->fetched == queue->producer && queue->state == OPEN)
        look_at_pointer(queue->process, false);
    marshal_waiting();
    LEAVE();
}
