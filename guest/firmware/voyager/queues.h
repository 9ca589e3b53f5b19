/* What the firmware keeps of programs' queues. A queue's slots and pointers are described in
 * guest/voyager/voyager.h. Tables have entries whose size is a power of two. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_QUEUES_H
#define NARTHEX_FIRMWARE_VOYAGER_QUEUES_H

#include "firmware/voyager/nic.h"

enum { QUEUES = 256 };

/* A queue that its program has misused is stopped until it is closed. */
enum state { CLOSED, OPEN, STOPPED };

/* Messages up to `fetched` have been looked at, those up to `producer` are to be sent. */
struct transmit_queue {
    uint64_t base;   /* of its slots in the node's memory */
    uint64_t shadow; /* where its pointers are in SRAM, for its program to see */
    uint16_t producer, fetched, consumer;
    uint16_t slots;
    uint8_t state; /* enum state */
    bool waits;    /* for its turn */
    uint64_t process;
    const uint64_t *translations; /* of its process, by destination */
};

/* Messages up to `producer` are on their way, those up to `shown` are in it. */
struct receive_queue {
    uint64_t base, shadow;
    uint16_t producer, shown, consumer;
    uint16_t slots;
    uint8_t state;
    bool waits;      /* for its turn to be given a parked message */
    uint32_t parked; /* messages that wait in the firmware's memory, oldest first */
    struct parked *first, *last;
};

extern struct transmit_queue transmit_queues[QUEUES];
extern struct receive_queue receive_queues[QUEUES];

/* The place of slot `pointer` in the node's memory. */
static inline uint64_t slot_address(uint64_t base, uint16_t pointer, uint16_t slots) {
    return base + (uint64_t)(pointer & (slots - 1)) * VOYAGER_SLOT_BYTES;
}

/* Shows a pointer or status to the queue's program. */
static inline void show(uint64_t shadow, uint64_t word, uint64_t value) {
    sram_store(shadow + word, value);
}

#endif
