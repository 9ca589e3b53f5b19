/* Driver for descriptor rings (Ring), as a polling user of the network interfaces of today's hosts
 * writes it; interfaces/src/models/ring.rs says what the interface does.
 *
 *   send_queue     [ descriptors, 16 bytes each ][ a buffer of a packet for each ]
 *   receive_queue  [ descriptors, 16 bytes each ][ a buffer of a packet for each ]
 *
 * To send, a packet is copied to the next buffer of the ring and described. Then the tail register
 * is stored, the doorbell: once for all packets of a message that are described meanwhile,
 * at most a burst. Every so many descriptors one asks for a report. The driver
 * reads no head: when it runs out of free descriptors it looks in memory whether the oldest report
 * has come, and has all of its descriptors back at once.
 *
 * To receive, the driver polls the next descriptor, which is in its cache until the interface
 * writes it back, and copies the packet out of its buffer. When so many
 * buffers are empty that it is worth a doorbell, they are handed over together. As many descriptors
 * are never handed over: they tell the end of the ring from its beginning.
 *
 * Control words, buffers and the tail are stored in the order in which they stand here, because the
 * processor's stores become visible in order (see driver_cachable_queue.c).
 *
 * This driver is in programs that are linked for this interface, or for most of them as by `narthex
 * cc`, beside the drivers that all programs have (FURTHER_DRIVER): its halves go with others. In
 * all other programs it would move code and data, and so the results of the papers' interfaces. */
#include "messaging/driver.h"

struct descriptor {
    uint64_t address, control;
};

_Static_assert(sizeof(struct descriptor) == DESCRIPTOR_BYTES, "as the interface has them");

struct ring {
    struct descriptor *descriptors;
    char *buffers;
    uint64_t mask;
    uint64_t next; /* number of the next descriptor to be described, or polled */
    volatile uint64_t *tail;
};

static size_t buffer_bytes;

static struct ring start_ring(const struct narthex_information *machine, uint64_t place,
                              uint64_t entries, uintptr_t first_register) {
    volatile uint64_t *registers =
        (volatile uint64_t *)(uintptr_t)(machine->register_page + first_register);
    char *memory = (char *)(uintptr_t)place;
    buffer_bytes = machine->packet_bytes;
    registers[0] = place;
    registers[1] = entries;
    return (struct ring){.descriptors = (struct descriptor *)(void *)memory,
                         .buffers = memory + entries * DESCRIPTOR_BYTES,
                         .mask = entries - 1,
                         .tail = registers + 3};
}

_Static_assert(REGISTER_SEND_RING_SIZE == REGISTER_SEND_RING + 8 &&
                   REGISTER_SEND_RING_TAIL == REGISTER_SEND_RING + 24 &&
                   REGISTER_SEND_RING_THRESHOLDS == REGISTER_SEND_RING + 32 &&
                   REGISTER_RECEIVE_RING_SIZE == REGISTER_RECEIVE_RING + 8 &&
                   REGISTER_RECEIVE_RING_TAIL == REGISTER_RECEIVE_RING + 24 &&
                   REGISTER_RECEIVE_RING_THRESHOLDS == REGISTER_RECEIVE_RING + 32,
               "start_ring counts on it");

static uint64_t thresholds_of(const struct ring *ring) {
    return ring->tail[1];
}

static inline char *buffer_of(const struct ring *ring, uint64_t number) {
    return ring->buffers + (number & ring->mask) * buffer_bytes;
}

static inline void describe(const struct ring *ring, uint64_t number, uint64_t control) {
    volatile struct descriptor *descriptor = &ring->descriptors[number & ring->mask];
    descriptor->address = (uintptr_t)buffer_of(ring, number);
    descriptor->control = control;
}

static inline uint64_t control_of(const struct ring *ring, uint64_t number) {
    return *(const volatile uint64_t *)&ring->descriptors[number & ring->mask].control;
}

/* Tells the interface of all descriptors before this one. */
static inline void hand_over(const struct ring *ring, uint64_t number) {
    COMPILER_BARRIER();
    *ring->tail = number & ring->mask;
}

/* Sending */

static struct ring out;
static uint64_t burst, report_threshold, free_threshold;
static uint64_t available;  /* descriptors */
static uint64_t untold;     /* descriptors that the interface has not been told of */
static uint64_t unreported; /* descriptors behind the last one that asks for a report */
static uint64_t reported;   /* number of the next descriptor whose report is awaited */

/* So that packets hit in the cache on the first pass as on all others, whose buffers the interface
 * reads without taking them away. */
static void write_every_buffer(const struct narthex_information *machine) {
    char *end = out.buffers + machine->send_entries * buffer_bytes;
    for (char *block = out.buffers; block != end; block += machine->block_bytes)
        *(volatile uint64_t *)block = 0;
}

static void start_sending(const struct narthex_information *machine) {
    out = start_ring(machine, machine->send_queue, machine->send_entries, REGISTER_SEND_RING);
    uint64_t thresholds = thresholds_of(&out);
    burst = thresholds & 0xffff;
    report_threshold = thresholds >> 16 & 0xffff;
    free_threshold = thresholds >> 32;
    available = out.mask;
    untold = 0;
    unreported = 0;
    reported = report_threshold - 1;
    write_every_buffer(machine);
}

/* So few are free that the descriptors up to the awaited report have all been written. */
static inline void look_for_report(void) {
    if (control_of(&out, reported) & DESCRIPTOR_DONE) {
        available += report_threshold;
        reported += report_threshold;
    }
}

static inline void tell(void) {
    untold = 0;
    hand_over(&out, out.next);
}

static bool has_room(void) {
    if (available < free_threshold || available == 0)
        look_for_report();
    if (available == 0 && untold > 0)
        tell();
    return available > 0;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    char *buffer = buffer_of(&out, out.next);
    uint64_t control = sizeof header + extra + bytes;
    *(volatile uint64_t *)buffer = header_out(header, extra);
    copy_out(buffer + sizeof header, payload, bytes, extra);
    if (++unreported == report_threshold) {
        control |= DESCRIPTOR_REPORT;
        unreported = 0;
    }
    describe(&out, out.next, control);
    out.next += 1;
    available -= 1;
    /* Behind a packet that is not the last of its message another one comes at once. */
    if (++untold == burst || header & HEADER_LAST)
        tell();
}

/* Receiving */

static struct ring in;
static uint64_t refill_threshold;
static uint64_t given; /* number of the next descriptor to be handed over */
static uint64_t empty; /* buffers that are to be handed over again */

static void hand_over_buffers(uint64_t buffers) {
    for (uint64_t end = given + buffers; given != end; given++)
        describe(&in, given, 0);
    hand_over(&in, given);
}

static void start_receiving(const struct narthex_information *machine) {
    in = start_ring(machine, machine->receive_queue, machine->receive_entries,
                    REGISTER_RECEIVE_RING);
    refill_threshold = thresholds_of(&in);
    given = 0;
    empty = 0;
    hand_over_buffers(machine->receive_entries - refill_threshold);
}

static inline uint64_t arrived(size_t extra) {
    if (!(control_of(&in, in.next) & DESCRIPTOR_DONE))
        return 0;
    return header_in(*(const volatile uint64_t *)buffer_of(&in, in.next), extra);
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    copy_in(payload, buffer_of(&in, in.next) + sizeof(uint64_t), bytes, extra);
    in.next += 1;
    if (++empty == refill_threshold) {
        empty = 0;
        hand_over_buffers(refill_threshold);
    }
}

SEND_DRIVER(send_ring, start_sending, has_room, send);
RECEIVE_DRIVER(receive_ring, start_receiving, arrived, receive, NULL);
