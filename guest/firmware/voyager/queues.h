/* What the firmware keeps of programs' queues. A queue's slots and pointers are described in
 * guest/voyager/voyager.h. Tables have entries whose size is a power of two. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_QUEUES_H
#define NARTHEX_FIRMWARE_VOYAGER_QUEUES_H

#include "firmware/voyager/nic.h"

enum { QUEUES = 256 };

struct place;

/* Where a queue's slots are, and how its pointers come to the firmware: a queue of the node's
 * memory by its pointer window; a cachable one of the node's memory by cachable_queues.h; a hybrid
 * one of SRAM by its pointer window; the firmware's own in SRAM by refusals.c. */
enum keeping { IN_MEMORY, CACHABLE, HYBRID, FIRMWARES };

/* A queue that its program has misused is stopped until it is closed. */
enum state { CLOSED, OPEN, STOPPED };

/* Who serves a queue: firmware, hardware, or firmware that is about to hand it over (switch.h). */
enum residency { NOT_RESIDENT, ENTERING, RESIDENT, LEAVING };

/* Messages up to `fetched` have been looked at, those up to `producer` are to be sent. */
struct transmit_queue {
    uint64_t base;   /* of its slots */
    uint64_t shadow; /* where its pointers are in SRAM, for its program to see */
    uint16_t producer, fetched, consumer;
    uint16_t slots;
    uint8_t state;     /* enum state */
    bool waits;        /* for its turn */
    uint8_t keeping;   /* enum keeping */
    uint8_t residency; /* enum residency */
    bool has_late;
    uint32_t late;        /* a pointer that was captured while the queue was leaving */
    struct place *place;  /* while it is resident */
    uint32_t last_served; /* by firmware, for lending.c */
    uint64_t process;
    const uint64_t *translations; /* of its process, by destination */
};

/* Messages up to `producer` are on their way, those up to `shown` are in it. */
struct receive_queue {
    uint64_t base, shadow;
    uint16_t producer, shown, consumer;
    uint16_t slots;
    uint8_t state;
    bool waits; /* for its turn to be given a parked message */
    uint8_t keeping;
    uint8_t residency;
    bool has_late;
    bool is_awaited; /* by a load of serviced space */
    uint32_t late;
    struct place *place;
    uint32_t last_served;
    uint64_t process;
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

/* What the program sees there. */
static inline uint64_t shown(uint64_t shadow, uint64_t word) {
    return sram_load(shadow + word);
}

#endif
