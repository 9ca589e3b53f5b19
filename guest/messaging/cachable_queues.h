/* Cachable queues, as the drivers of CNI16Q, CNI512Q, CNI32Qm and their kind, and of CxlNic2 use
 * them (cni-isca96 Section 2.2).
 *
 * A cachable queue is ordinary memory: a circular array of fixed entries, one packet each, which
 * processor and interface keep coherent like two processors. Three ideas make it fast:
 *
 * Lazy pointers. The sender does not read the head, which the interface keeps moving, but a stale
 *   copy of it. The copy errs on the safe side; only when it says "full" is the head read again,
 *   a cache miss twice a pass if the queue is at most half full.
 * Message valid bits. The receiver does not read the tail: the first doubleword of an entry tells
 *   by its highest bit whether the entry holds a new packet. A poll that finds nothing hits in the
 *   cache.
 * Sense reverse. What the valid bit must be to mean "valid" changes with each pass over the queue:
 *   1 on odd passes, 0 on even ones. So the receiver never clears it, and never writes to the
 * queue.
 *
 * A pointer word in memory holds the index of an entry in bits 0-31 and the sense of the pass in
 * bit 32. The processor runs in order and its stores become visible in order, so no fence is
 * needed; a barrier to the compiler is.
 *
 * A driver that includes this file says how a packet is written and announced. */
#ifndef NARTHEX_MESSAGING_CACHABLE_QUEUES_H
#define NARTHEX_MESSAGING_CACHABLE_QUEUES_H

#include "messaging/driver.h"

#define SENSE_BIT (UINT64_C(1) << 32)
#define FIRST_ENTRY_FIRST_PASS SENSE_BIT

/* One end of a queue, as its processor knows it. */
struct end {
    char *entry;      /* the entry at `pointer` */
    uint64_t pointer; /* pointer word: index and sense */
    char *queue;
    uint64_t entries;
};

static struct end tail; /* of the send queue */
static struct end head; /* of the receive queue */
static uint64_t shadow_head;
static size_t entry_bytes;
static volatile uint64_t *send_head;    /* written by the interface */
static volatile uint64_t *receive_head; /* read by the interface, when it seems full */

static struct end first_entry(uint64_t queue, uint64_t entries) {
    char *start = (char *)(uintptr_t)queue;
    return (struct end){start, FIRST_ENTRY_FIRST_PASS, start, entries};
}

/* So that polls hit in the cache on the first pass as on all others. */
static void look_at_every_entry(void) {
    for (uint64_t index = 0; index < head.entries; index++)
        (void)*(const volatile uint64_t *)(head.queue + index * entry_bytes);
}

static void start_receiving(const struct narthex_information *machine) {
    head = first_entry(machine->receive_queue, machine->receive_entries);
    entry_bytes = machine->entry_bytes;
    receive_head = (volatile uint64_t *)(uintptr_t)machine->receive_head;
    look_at_every_entry();
}

static inline uint64_t sense(uint64_t pointer) {
    return pointer >> 32 & 1;
}

/* Figures 4 and 5: advance modulo the queue's size; on arriving at entry 0, reverse the sense. */
static inline void advance(struct end *end) {
    end->pointer += 1;
    end->entry += entry_bytes;
    if ((uint32_t)end->pointer == end->entries) {
        end->pointer = (end->pointer ^ SENSE_BIT) & SENSE_BIT;
        end->entry = end->queue;
    }
}

/* Figure 4: the queue is full if head and tail are equal and their senses differ. */
static inline bool is_full(void) {
    return (tail.pointer ^ shadow_head) == SENSE_BIT;
}

static bool has_room(void) {
    if (is_full())
        shadow_head = *send_head;
    return !is_full();
}

/* Figure 5: the queue is empty unless the entry's valid bit has the sense of this pass. */
static inline uint64_t arrived(size_t extra) {
    uint64_t header = *(volatile uint64_t *)head.entry;
    return header >> HEADER_SENSE_SHIFT == sense(head.pointer) ? header_in(header, extra) : 0;
}

/* Packets fill entries in order, so the one at the end of the half that begins at the head tells. A
 * look hits in the cache until the interface fills that entry. */
static bool is_half_full(void) {
    uint64_t index = (uint32_t)head.pointer + (head.entries + 1) / 2 - 1;
    bool wraps = index >= head.entries;
    const char *entry = head.queue + (wraps ? index - head.entries : index) * entry_bytes;
    uint64_t header = *(const volatile uint64_t *)entry;
    return header >> HEADER_SENSE_SHIFT == (sense(head.pointer) ^ wraps);
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    copy_in(payload, head.entry + sizeof(uint64_t), bytes, extra);
    advance(&head);
    COMPILER_BARRIER();
    *receive_head = head.pointer;
}

#endif
