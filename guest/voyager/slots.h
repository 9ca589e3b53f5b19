/* The common way of a message through a queue, for the library and the driver of messages. */
#ifndef NARTHEX_VOYAGER_SLOTS_H
#define NARTHEX_VOYAGER_SLOTS_H

#include "messaging/copy.h"
#include "runtime/cache_blocks.h"
#include "runtime/registers.h"
#include "voyager/voyager.h"

enum { VOYAGER_BYTES_SHIFT = 16, VOYAGER_BYTES_MASK = 0x7f, VOYAGER_USER_SHIFT = 24 };
enum { VOYAGER_HEADER_BYTES = sizeof(word), VOYAGER_LINE_BYTES = 32 };

/* Makes a request of the kernel agent, of VOYAGER_REQUEST_WORDS doublewords: first what it takes,
 * then what it gives. Returns 0 or an errno. */
enum { VOYAGER_REQUEST_WORDS = 8 };
int voyager_request(unsigned long number, uint64_t *words);

static inline word voyager_header(unsigned destination, size_t bytes, uint8_t user) {
    return (word)destination | (word)bytes << VOYAGER_BYTES_SHIFT |
           (word)user << VOYAGER_USER_SHIFT;
}

static inline size_t voyager_bytes(word header) {
    return header >> VOYAGER_BYTES_SHIFT & VOYAGER_BYTES_MASK;
}

static inline uint64_t voyager_pointer(const struct voyager_queue *queue, uintptr_t offset) {
    return queue->pointers[offset / sizeof(uint64_t)];
}

static inline void voyager_move(struct voyager_queue *queue, uintptr_t offset) {
    queue->own += 1;
    COMPILER_BARRIER();
    queue->pointers[offset / sizeof(uint64_t)] = queue->own;
}

/* The slot at the owner's pointer. */
static inline char *voyager_slot(const struct voyager_queue *queue) {
    return queue->slots + (size_t)(queue->own & queue->mask) * VOYAGER_SLOT_BYTES;
}

static inline bool voyager_is_full(const struct voyager_queue *queue) {
    return (uint16_t)(queue->own - queue->other) > queue->mask;
}

/* The consumer is read only when the queue seems full. */
static inline bool voyager_finds_room(struct voyager_queue *queue) {
    if (voyager_is_full(queue))
        queue->other = (uint16_t)voyager_pointer(queue, VOYAGER_POINTER_CONSUMER);
    return !voyager_is_full(queue);
}

/* The producer is read only when the queue seems empty. */
static inline bool voyager_finds_message(struct voyager_queue *queue) {
    if (queue->other == queue->own)
        queue->other = (uint16_t)voyager_pointer(queue, VOYAGER_POINTER_PRODUCER);
    return queue->other != queue->own;
}

/* Writes what a slot holds of this many bytes to its home, and drops it from the cache. A program
 * that has only read them has nothing to write. */
static inline void voyager_flush(const struct voyager_queue *queue, const char *slot,
                                 size_t bytes) {
    if (queue->flushes)
        for (size_t line = 0; line < bytes; line += VOYAGER_LINE_BYTES)
            flush_block(slot + line);
}

/* Sends the slot, of which this many bytes are written. */
static inline void voyager_launch(struct voyager_queue *queue, const char *slot, size_t bytes) {
    voyager_flush(queue, slot, bytes);
    voyager_move(queue, VOYAGER_POINTER_PRODUCER);
}

/* Frees the slot, of which this many bytes were read. */
static inline void voyager_release(struct voyager_queue *queue, const char *slot, size_t bytes) {
    voyager_flush(queue, slot, bytes);
    voyager_move(queue, VOYAGER_POINTER_CONSUMER);
}

#endif
