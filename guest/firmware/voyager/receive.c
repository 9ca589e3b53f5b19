/* Receiving (Section 4.3). Packets for queues that are not resident come to the miss queue. Their
 * headers are in one SRAM bank and their slots in the other, so that the firmware looks at nothing
 * but the header, which the poll shows:
 *
 *     packet ─────────► demultiplex ──► BUS_WRITE of its slot into its queue
 *     its completion ─► free buffer: of the miss queue; the queue's producer is shown
 *     consumer pointer ─► release
 *
 * A packet whose queue is full, or not open yet, is parked (parking.h), and one that cannot be
 * holds up those behind it: the network delivers everything. A program must not stop others for
 * ever, though, where several jobs share the machine: a queue of which nothing was taken for the
 * time that DRAIN_LIMIT says while its packet holds up others is stopped, and what comes for it is
 * lost. The interface does the same with those that it serves. */
#include "firmware/voyager/receive.h"

#include "firmware/voyager/block.h"
#include "firmware/voyager/cachable_queues.h"
#include "firmware/voyager/lending.h"
#include "firmware/voyager/parking.h"
#include "firmware/voyager/serviced.h"
#include "firmware/voyager/shared_memory.h"

struct receive_queue receive_queues[QUEUES];

static const uint64_t SOURCES = 1ul << VOYAGER_SOURCE_COMPLETION |
                                1ul << VOYAGER_SOURCE_ACKNOWLEDGE | 1ul << VOYAGER_SOURCE_CAPTURE |
                                1ul << VOYAGER_SOURCE_AGENT | 1ul << VOYAGER_SOURCE_RECEIVE;

/* To bring one packet takes so many commands at most; of the room there is for so many packets, one
 * is kept for a parked one. */
enum { BRINGING_COMMANDS = VOYAGER_SLOT_BYTES / LINE_BYTES + 1 };

/* Buffers of block transfers' packets are freed two at a time (Section 5.3.2). */
enum { AGGREGATED_FREES = 2 };

static struct {
    uint64_t slots; /* of the miss queue, in SRAM */
    uint32_t mask;
    uintptr_t consumer; /* its register */
    uint16_t seen, freed;
    uint64_t held;                /* of the packet that waits */
    uint64_t held_since;          /* in ns */
    uint64_t drain_limit;         /* in ns */
    struct receive_queue *holder; /* its queue; NULL if none waits */
    uint16_t limit;               /* of packets that are brought at a time */
    uint32_t room;                /* doublewords of the command queue for that */
} arrivals;

bool packet_is_held;

/* The holder of a packet that waits for room in the command queue. */
static struct receive_queue crowd;

/* The queues that may be given parked messages, in turn. */
static struct {
    uint64_t staging;
    bool is_under_way;
    uint32_t first, next; /* they wrap together */
    struct receive_queue *queues[QUEUES];
} parked;

void receive_start(void) {
    uint64_t physical = nic_load(REGISTER_VOYAGER_LIMITS) >> 16 & 0xffff;
    arrivals.slots = nic_load(REGISTER_VOYAGER_MISS) & UINT32_MAX;
    arrivals.mask = (uint32_t)nic_load(REGISTER_VOYAGER_MISS_SLOTS) - 1;
    arrivals.room = (uint32_t)command_room(FOR_RECEIVE);
    arrivals.drain_limit = nic_load(REGISTER_VOYAGER_DRAIN_LIMIT);
    keep_commands(LENDING_COMMANDS);
    parked.staging = staging_room() + STAGING_FOR_PARKED * VOYAGER_SLOT_BYTES;
    parking_start();
    nic_store(REGISTER_VOYAGER_POLL_MASK, SOURCES);
    arrivals.consumer =
        VOYAGER_QUEUES + physical * VOYAGER_QUEUE_STATE_BYTES + REGISTER_VOYAGER_QUEUE_CONSUMER;
}

void keep_commands(uint32_t doublewords) {
    arrivals.room -= doublewords;
    arrivals.limit = (uint16_t)(arrivals.room / BRINGING_COMMANDS - 1);
}

/* Phase 1 */

/* Whether the firmware brings a queue's messages: it does not know the pointers of one that
 * hardware serves, or of which hardware has yet to hand them out. */
static inline bool is_ours(const struct receive_queue *queue) {
    return queue->residency <= ENTERING;
}

static inline uint64_t lines_of(uint64_t header) {
    return ((header >> 16 & 0x7f) + sizeof(uint32_t) + LINE_BYTES - 1) / LINE_BYTES;
}

/* The consumer of a queue that is about to be resident may be with the hardware. That of a cachable
 * one is known only as it was when the queue seemed full. */
static inline bool is_full(struct receive_queue *queue) {
    if ((uint16_t)(queue->producer - queue->consumer) < queue->slots)
        return false;
    if (queue->keeping == CACHABLE)
        look_at_pointer(queue->process, true);
    if (queue->residency != ENTERING)
        return true;
    queue->consumer = (uint16_t)physical_word(queue->place, REGISTER_VOYAGER_QUEUE_CONSUMER);
    return (uint16_t)(queue->producer - queue->consumer) == queue->slots;
}

/* Has a packet written to an entry of a cachable queue, its first line last: that one tells the
 * program that the entry is valid. */
static void issue_entry_writes(const struct receive_queue *queue, uint64_t packet, uint64_t entry,
                               uint64_t lines) {
    uint64_t header = sram_load(packet) - ((DOUBLEWORD - sizeof(uint32_t)) << HEADER_BYTES_SHIFT);
    header = header << 1 >> 1 | sense(queue->producer, queue->slots) << 63;
    sram_store(packet, header);
    while (--lines > 0)
        issue(FOR_RECEIVE, VOYAGER_BUS_WRITE, 1, packet + lines * LINE_BYTES,
              entry / LINE_BYTES + lines);
    issue(FOR_RECEIVE, VOYAGER_BUS_WRITE | AWAITED, 1, packet, entry / LINE_BYTES);
}

/* Has a packet brought to its queue, which has room. */
static inline void bring(struct receive_queue *queue, uint64_t packet, uint64_t header) {
    uint64_t slot = slot_address(queue->base, queue->producer, queue->slots);
    if (queue->keeping == IN_MEMORY)
        issue_bus_writes(packet, slot, lines_of(header));
    else if (queue->keeping == HYBRID)
        issue_copy(FOR_RECEIVE, packet, slot, lines_of(header));
    else
        issue_entry_writes(queue, packet, slot, lines_of(header));
    queue->producer += 1;
}

/* Leaves a packet where it is, and those behind it, until something changes in its queue. */
static void hold(struct receive_queue *queue, uint64_t header) {
    arrivals.holder = queue;
    packet_is_held = true;
    arrivals.held = header;
    arrivals.held_since = time_ns();
    nic_store(REGISTER_VOYAGER_POLL_MASK, SOURCES & ~(1ul << VOYAGER_SOURCE_RECEIVE));
}

/* A packet that cannot go to its queue now. */
static void put_aside(struct receive_queue *queue, uint64_t packet, uint64_t header) {
    take_over(queue);
    if (queue->state != STOPPED && !park(queue, packet, header) && queue->state == OPEN) {
        hold(queue, header);
        give_up_draining();
        return;
    }
    arrivals.seen += 1;
    free_seen();
}

/* Has all packets that were looked at freed in their turn, and then something else done. */
static void free_seen_and(enum phase phase, void *what) {
    issue_nothing(FOR_RECEIVE);
    suspend(FOR_RECEIVE, (struct operation){phase, arrivals.seen, what});
}

static void take_block_packet(uint64_t header, uint64_t packet) {
    if (is_of_another_transfer(header))
        free_seen();
    uint64_t place = receive_block_packet(header, packet);
    arrivals.seen += 1;
    if (place & VOYAGER_PLACE_LAST)
        free_seen_and(END_BLOCK, block_end(header, place));
    else if (arrivals.seen % AGGREGATED_FREES == 0)
        free_seen();
}

/* Packets without a line need no commands: their buffers are freed two at a time, as those of block
 * transfers. */
static void take_shared_packet(uint64_t header, uint64_t message, uint64_t packet) {
    struct task *task = NULL;
    bool stays = shared_memory_receives(header, message, packet, &task);
    arrivals.seen += 1;
    if (stays)
        free_seen_and(task ? SHARED_LINE_HAS_COME : FREE_OTHER, task);
    else if (arrivals.seen % AGGREGATED_FREES == 0)
        free_seen();
}

static void take_packet_of_firmware(uint64_t header, uint64_t packet) {
    uint64_t message = shared_memory_message(packet);
    if (message)
        take_shared_packet(header, message, packet);
    else
        take_block_packet(header, packet);
}

void demultiplex(uint64_t header) {
    ENTER(ACTIVITY_DEMULTIPLEX);
    struct receive_queue *queue = &receive_queues[header >> 32 & 0xff];
    uint64_t packet = arrivals.slots + (arrivals.seen & arrivals.mask) * VOYAGER_SLOT_BYTES;
    if ((uint16_t)(arrivals.seen - arrivals.freed) == arrivals.limit) {
        hold(&crowd, header);
    } else if (header & HEADER_OF_FIRMWARE) {
        take_packet_of_firmware(header, packet);
    } else if (queue->state == OPEN && queue->parked == 0 && is_ours(queue) && !is_full(queue)) {
        bring(queue, packet, header);
        arrivals.seen += 1;
        uint32_t phase = queue->keeping == CACHABLE ? FREE_ENTRY : FREE_BUFFER;
        suspend(FOR_RECEIVE, (struct operation){phase, arrivals.seen, queue});
    } else {
        put_aside(queue, packet, header);
    }
    LEAVE();
}

/* Phase 2 */

/* Looks again at the packet that waits for something to change in a queue. */
static void look_again(const struct receive_queue *queue) {
    if (arrivals.holder != queue)
        return;
    arrivals.holder = NULL;
    packet_is_held = false;
    nic_store(REGISTER_VOYAGER_POLL_MASK, SOURCES);
    demultiplex(arrivals.held);
}

/* A queue that is about to be resident may show the one word or the other. */
static inline void show_next(struct receive_queue *queue) {
    queue->shown += 1;
    show(queue->shadow, VOYAGER_POINTER_PRODUCER, queue->shown);
    if (queue->residency == ENTERING)
        set_physical_word(queue->place, REGISTER_VOYAGER_QUEUE_PRODUCER, queue->shown);
    if (queue->is_awaited)
        answer_load(queue);
}

static inline void free_up_to(uint32_t seen) {
    arrivals.freed = (uint16_t)seen;
    store_register(arrivals.consumer, arrivals.freed);
    if (is_draining)
        arrivals_are_freed(arrivals.freed);
    if (arrivals.holder == &crowd)
        look_again(&crowd);
}

void free_seen(void) {
    free_seen_and(FREE_OTHER, NULL);
}

void free_buffer(const struct operation *operation) {
    ENTER(ACTIVITY_FREE_BUFFER);
    struct receive_queue *queue = operation->queue;
    show_next(queue);
    free_up_to(operation->place);
    if (queue->keeping == HYBRID)
        consider_receive(queue);
    LEAVE();
}

/* The program of a cachable queue sees by the entry itself that it is there. */
void free_entry(const struct operation *operation) {
    ENTER(ACTIVITY_FREE_BUFFER);
    struct receive_queue *queue = operation->queue;
    queue->shown += 1;
    free_up_to(operation->place);
    LEAVE();
}

void free_other(const struct operation *operation) {
    free_up_to(operation->place);
}

/* Parked messages */

static inline bool can_get_parked(struct receive_queue *queue) {
    return queue->state == OPEN && queue->parked > 0 && is_ours(queue) && !is_full(queue);
}

/* Brings the next parked message to its queue. There is a place of staging room for one. */
static void bring_parked(void) {
    while (!parked.is_under_way && parked.first != parked.next) {
        struct receive_queue *queue = parked.queues[parked.first++ % QUEUES];
        queue->waits = false;
        if (!can_get_parked(queue))
            continue;
        parked.is_under_way = true;
        bring(queue, parked.staging, unpark(queue, parked.staging));
        suspend(FOR_RECEIVE, (struct operation){SHOW_PARKED, 0, queue});
    }
}

void receive_parked(struct receive_queue *queue) {
    if (can_get_parked(queue) && !queue->waits) {
        queue->waits = true;
        parked.queues[parked.next++ % QUEUES] = queue;
    }
    bring_parked();
}

void show_parked(const struct operation *operation) {
    parked.is_under_way = false;
    show_next(operation->queue);
    receive_parked(operation->queue);
    look_again(operation->queue);
}

/* What programs do */

/* A pointer of a queue that is mapped, or soon no more, as its program stored it before. */
static void forward(struct receive_queue *queue, uint64_t word, uint32_t consumer) {
    uint32_t value = word == VOYAGER_POINTER_CONSUMER ? consumer : UINT32_MAX;
    if (queue->residency != LEAVING) {
        forward_pointer(queue->place, value);
    } else {
        queue->late = value;
        queue->has_late = true;
    }
}

void release_up_to(struct receive_queue *queue, uint64_t word, uint32_t consumer) {
    ENTER(ACTIVITY_RELEASE);
    if (queue->residency != NOT_RESIDENT) {
        forward(queue, word, consumer);
        LEAVE();
        return;
    }
    uint16_t taken = consumer - queue->consumer, there = queue->shown - queue->consumer;
    if (word == VOYAGER_POINTER_CONSUMER && consumer <= UINT16_MAX && taken <= there)
        queue->consumer = consumer;
    else if (queue->state == OPEN)
        stop_receiving(queue, VOYAGER_STATUS_BAD_POINTER);
    if (queue->parked > 0)
        receive_parked(queue);
    look_again(queue);
    LEAVE();
}

void stop_idle_holder(void) {
    struct receive_queue *queue = arrivals.holder; /* there is one */
    if (queue != &crowd && time_ns() - arrivals.held_since > arrivals.drain_limit)
        stop_receiving(queue, VOYAGER_STATUS_NOT_DRAINED);
}

void stop_receiving(struct receive_queue *queue, uint64_t status) {
    queue->state = status == VOYAGER_STATUS_CLOSED ? CLOSED : STOPPED;
    show(queue->shadow, VOYAGER_POINTER_STATUS, status);
    empty(queue);
    look_again(queue);
    answer_load(queue);
}
