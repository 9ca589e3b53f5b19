/* Descriptor rings, as the drivers of Ring and CxlNic use them, in the style of polling drivers of
 * today's network interfaces; interfaces/src/models/ring.rs says what the interface does.
 *
 *   send_queue     [ descriptors, 16 bytes each ][ a buffer of a packet for each ][ tail: CxlNic ]
 *   receive_queue  [ descriptors, 16 bytes each ][ a buffer of a packet for each ][ tail: CxlNic ]
 *
 * To send, the driver copies a packet to the next buffer of the ring and writes its descriptor.
 * Then it stores the tail: once for the packets of a message, or for a burst of them. One
 * descriptor in `report_threshold` asks for a report. The driver reads no head: when free
 * descriptors run out, it looks in memory whether the oldest report has come, which frees
 * `report_threshold` descriptors at once.
 *
 * To receive, the driver polls the next descriptor, which stays in the processor's cache until the
 * interface writes it back, and copies the packet out of its buffer. It hands empty buffers over
 * when there are `refill_threshold` of them. It keeps that many descriptors back at all times: if
 * all were handed over, the tail would be equal to the head, as in an empty ring.
 *
 * Buffers, descriptors and the tail are stored in the order of the program, and the processor's
 * stores become visible in order (see driver_cachable_queue.c).
 *
 * A driver that includes this file has defined where a ring's tail is (`tail_of`), and how the
 * machine's thresholds are read (`thresholds_of`). */
#ifndef NARTHEX_MESSAGING_DESCRIPTOR_RINGS_H
#define NARTHEX_MESSAGING_DESCRIPTOR_RINGS_H

#include "messaging/descriptor_ring.h"

/* Sending */

static struct ring out;
static uint64_t burst, report_threshold, free_threshold;
static uint64_t available;  /* descriptors */
static uint64_t untold;     /* descriptors that the interface has not been told of */
static uint64_t unreported; /* descriptors behind the last one that asks for a report */
static uint64_t reported;   /* number of the next descriptor whose report is awaited */

/* Brings the buffers into the cache, so that the first pass over the ring hits like later ones: the
 * interface reads buffers without taking them away. */
static void write_every_buffer(const struct narthex_information *machine) {
    char *end = out.buffers + machine->send_entries * buffer_bytes;
    for (char *block = out.buffers; block != end; block += machine->block_bytes)
        *(volatile uint64_t *)block = 0;
}

static void start_sending(const struct narthex_information *machine) {
    out = start_ring(machine, machine->send_queue, machine->send_entries, REGISTER_SEND_RING);
    uint64_t thresholds = thresholds_of(machine, out.tail, REGISTER_SEND_RING_THRESHOLDS);
    burst = thresholds & 0xffff;
    report_threshold = thresholds >> 16 & 0xffff;
    free_threshold = thresholds >> 32;
    available = out.mask;
    untold = 0;
    unreported = 0;
    reported = report_threshold - 1;
    write_every_buffer(machine);
}

/* Called when so few descriptors are free that the one with the awaited report has been written. */
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
    /* The next packet of a message follows at once, so the last one rings for all. */
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
    refill_threshold = thresholds_of(machine, in.tail, REGISTER_RECEIVE_RING_THRESHOLDS);
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

#endif
