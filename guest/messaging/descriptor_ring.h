/* One descriptor ring, of either direction; messaging/descriptor_rings.h says how drivers use them.
 * A file that includes this one has defined where a ring's tail is (`tail_of`). */
#ifndef NARTHEX_MESSAGING_DESCRIPTOR_RING_H
#define NARTHEX_MESSAGING_DESCRIPTOR_RING_H

#include "messaging/driver.h"

struct descriptor {
    uint64_t address, control;
};

_Static_assert(sizeof(struct descriptor) == DESCRIPTOR_BYTES, "the interface's descriptors");

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
    return (struct ring){
        .descriptors = (struct descriptor *)(void *)memory,
        .buffers = memory + entries * DESCRIPTOR_BYTES,
        .mask = entries - 1,
        .tail = tail_of(registers, memory, entries * (DESCRIPTOR_BYTES + buffer_bytes))};
}

_Static_assert(REGISTER_SEND_RING_SIZE == REGISTER_SEND_RING + 8 &&
                   REGISTER_RECEIVE_RING_SIZE == REGISTER_RECEIVE_RING + 8,
               "start_ring counts on it");

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

#endif
