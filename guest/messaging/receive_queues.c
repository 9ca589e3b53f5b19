/* Receiving from several queues (Ring with receive_steering = "rss"):
 * interfaces/src/ring/steering.rs says how packets find them.
 *
 *   receive_queue  [ ring 0, buffers ][ ring 1, buffers ] ...
 *                    started by the driver   started here
 *
 * Each queue is polled until it is empty, then the next one. Packets of one source are in one
 * queue, so they stay in their order.
 *
 * It is a file of its own, which only programs link that ask for it: in others it would move code
 * and data, and so their results. */
#include "messaging/narthex.h"
#include "messaging/packets.h"

static inline volatile uint64_t *tail_of(volatile uint64_t *registers, char *memory,
                                         uint64_t bytes) {
    (void)memory, (void)bytes;
    return registers + 3;
}

#include "messaging/descriptor_ring.h"

enum { MOST_QUEUES = 16 };

struct queue {
    struct ring ring;
    uint64_t given; /* number of the next descriptor to be handed over */
    uint64_t empty; /* buffers that are to be handed over again */
};

static struct queue queues[MOST_QUEUES];
static uint64_t count, current;
static uint64_t refill_threshold;

static void hand_over_buffers(struct queue *queue, uint64_t buffers) {
    for (uint64_t end = queue->given + buffers; queue->given != end; queue->given++)
        describe(&queue->ring, queue->given, 0);
    hand_over(&queue->ring, queue->given);
}

static uint64_t arrived(size_t extra) {
    for (uint64_t each = 0; each < count; each++) {
        const struct ring *ring = &queues[current].ring;
        if (control_of(ring, ring->next) & DESCRIPTOR_DONE)
            return header_in(*(const volatile uint64_t *)buffer_of(ring, ring->next), extra);
        current = current + 1 < count ? current + 1 : 0;
    }
    return 0;
}

static void receive(void *payload, size_t bytes, size_t extra) {
    struct queue *queue = &queues[current];
    copy_in(payload, buffer_of(&queue->ring, queue->ring.next) + sizeof(uint64_t), bytes, extra);
    queue->ring.next += 1;
    if (++queue->empty == refill_threshold) {
        queue->empty = 0;
        hand_over_buffers(queue, refill_threshold);
    }
}

RECEIVE_DRIVER(receive_queues_of, NULL, arrived, receive, NULL);

/* Queue 0 as its driver has started it, before anything was received. */
static struct queue first_queue(const struct narthex_information *machine) {
    char *memory = (char *)(uintptr_t)machine->receive_queue;
    uint64_t entries = machine->receive_entries;
    volatile uint64_t *registers =
        (volatile uint64_t *)(uintptr_t)(machine->register_page + REGISTER_RECEIVE_RING);
    struct ring ring = {.descriptors = (struct descriptor *)(void *)memory,
                        .buffers = memory + entries * DESCRIPTOR_BYTES,
                        .mask = entries - 1,
                        .tail = registers + 3};
    return (struct queue){.ring = ring, .given = entries - refill_threshold};
}

static void start_further(const struct narthex_information *machine) {
    uint64_t entries = machine->receive_entries;
    uint64_t place = machine->receive_queue;
    for (uint64_t each = 1; each < count; each++) {
        place += entries * (DESCRIPTOR_BYTES + machine->packet_bytes);
        uintptr_t registers = REGISTER_FURTHER_RECEIVE_QUEUE + (each - 1) * RECEIVE_QUEUE_STRIDE;
        queues[each] = (struct queue){.ring = start_ring(machine, place, entries, registers)};
        hand_over_buffers(&queues[each], entries - refill_threshold);
    }
}

/* Queue after queue, over the whole table. */
static void write_table(volatile uint64_t *table) {
    uint64_t queue = 0;
    for (unsigned word = 0; word < RECEIVE_TABLE_ENTRIES / sizeof *table; word++) {
        uint64_t entries = 0;
        for (unsigned place = 0; place < sizeof entries; place++) {
            entries |= queue << 8 * place;
            queue = queue + 1 < count ? queue + 1 : 0;
        }
        table[word] = entries;
    }
}

int narthex_use_receive_queues(void) {
    const struct narthex_information *machine = narthex_information();
    if (machine->receive_driver != DRIVER_RING)
        return 1;
    uintptr_t page = machine->register_page;
    count = *(volatile uint64_t *)(page + REGISTER_RECEIVE_QUEUES);
    if (count == 1)
        return 1;
    buffer_bytes = machine->packet_bytes;
    refill_threshold = *(volatile uint64_t *)(page + REGISTER_RECEIVE_RING_THRESHOLDS);
    queues[0] = first_queue(machine);
    start_further(machine);
    write_table((volatile uint64_t *)(page + REGISTER_RECEIVE_TABLE));
    int variant = machine->header_bytes > sizeof(uint64_t) ? LARGE_HEADER : SMALL_HEADER;
    packets_receiver.arrived = receive_queues_of[variant].arrived;
    packets_receiver.receive = receive_queues_of[variant].receive;
    return (int)count;
}
