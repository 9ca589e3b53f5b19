/* Driver for rings of buffers in coherent memory (CoherentRing);
 * interfaces/src/models/coherent_ring.rs says what the interface does.
 *
 *   send_queue     [ packets ][ buffers of a packet ][ sent buffers  ]
 *   receive_queue  [ empty buffers ][ buffers       ][ packets       ]
 *                    written here                      written by the interface
 *
 * A ring is an array of descriptors: the address of a buffer, and the length of what it holds with
 * a flag. A descriptor is new if its flag is 1 in the first lap over the ring, 0 in the second, and
 * so on. So nothing is ever cleared, and each ring is written on one side only. There are as many
 * buffers as descriptors in a ring, so no ring overflows, and neither side has to know how far the
 * other one is.
 *
 * At the beginning this driver has the buffers for sending, and the interface those for receiving.
 * A buffer that came back last is used first: it is in the caches.
 *
 * Buffer and descriptor are stored in the order of the program, and the processor's stores become
 * visible in order (see driver_cachable_queue.c). */
#include "messaging/driver.h"

struct descriptor {
    uint64_t address, control;
};

_Static_assert(sizeof(struct descriptor) == BUFFER_DESCRIPTOR_BYTES, "the interface's descriptors");

/* A ring, and the number of the next descriptor that is written or looked at. */
struct ring {
    struct descriptor *descriptors;
    uint64_t entries;
    uint64_t next;
};

static struct ring ring_at(uintptr_t place, uint64_t entries) {
    return (struct ring){(struct descriptor *)place, entries, 0};
}

static uintptr_t buffers_of(uint64_t place, uint64_t entries) {
    return place + entries * BUFFER_DESCRIPTOR_BYTES;
}

static struct ring returned_ring(const struct narthex_information *machine, uint64_t place,
                                 uint64_t entries) {
    return ring_at(buffers_of(place, entries) + entries * machine->packet_bytes, entries);
}

static inline uint64_t ready_flag(const struct ring *ring) {
    return ring->next & ring->entries ? 0 : BUFFER_DESCRIPTOR_READY;
}

static inline volatile struct descriptor *next_of(const struct ring *ring) {
    return &ring->descriptors[ring->next & (ring->entries - 1)];
}

static inline void put(struct ring *ring, char *buffer, uint64_t length) {
    volatile struct descriptor *descriptor = next_of(ring);
    COMPILER_BARRIER();
    descriptor->address = (uintptr_t)buffer;
    descriptor->control = length | ready_flag(ring);
    ring->next += 1;
}

/* The buffer of the next descriptor if that is new, or else NULL. */
static inline char *look(const struct ring *ring) {
    const volatile struct descriptor *descriptor = next_of(ring);
    if ((descriptor->control & BUFFER_DESCRIPTOR_READY) != ready_flag(ring))
        return NULL;
    COMPILER_BARRIER();
    return (char *)(uintptr_t)descriptor->address;
}

/* Sending */

static struct ring packets_out, sent;
static char *free_buffers[MOST_RING_BUFFERS];
static uint64_t free_count;

static void start_sending(const struct narthex_information *machine) {
    uint64_t place = machine->send_queue, entries = machine->send_entries;
    packets_out = ring_at(place, entries);
    sent = returned_ring(machine, place, entries);
    for (free_count = 0; free_count < entries; free_count++)
        free_buffers[free_count] = (char *)(buffers_of(place, entries) +
                                            (entries - 1 - free_count) * machine->packet_bytes);
}

static bool has_room(void) {
    for (char *buffer; (buffer = look(&sent)); sent.next++)
        free_buffers[free_count++] = buffer;
    return free_count > 0;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    char *buffer = free_buffers[--free_count];
    *(volatile uint64_t *)buffer = header_out(header, extra);
    copy_out(buffer + sizeof header, payload, bytes, extra);
    put(&packets_out, buffer, sizeof header + extra + bytes);
}

/* Receiving */

static struct ring packets_in, empty;

static void start_receiving(const struct narthex_information *machine) {
    uint64_t place = machine->receive_queue, entries = machine->receive_entries;
    empty = ring_at(place, entries);
    packets_in = returned_ring(machine, place, entries);
}

static inline uint64_t arrived(size_t extra) {
    const char *buffer = look(&packets_in);
    return buffer == NULL ? 0 : header_in(*(const volatile uint64_t *)buffer, extra);
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    char *buffer = (char *)(uintptr_t)next_of(&packets_in)->address;
    copy_in(payload, buffer + sizeof(uint64_t), bytes, extra);
    packets_in.next += 1;
    put(&empty, buffer, 0);
}

SEND_DRIVER(send_coherent_ring, start_sending, has_room, send);
RECEIVE_DRIVER(receive_coherent_ring, start_receiving, arrived, receive, NULL);
