/* Operations that wait for a command of theirs. A queue carries its commands out in order, so that
 * a completion always belongs to the oldest operation which waits for that queue. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SUSPENDED_H
#define NARTHEX_FIRMWARE_VOYAGER_SUSPENDED_H

#include "firmware/voyager/nic.h"

/* What is to be done next. */
enum phase {
    TRANSLATE_AND_LAUNCH,
    LAUNCH_ENTRY,
    FREE_BUFFER,
    FREE_ENTRY,
    POINTER_IS_READ,
    FREE_OTHER,
    END_BLOCK,
    SHOW_PARKED,
    FREE_PLACES,
    TRANSMIT_HAS_ENTERED,
    TRANSMIT_HAS_LEFT,
    RECEIVE_IS_MAPPED,
    RECEIVE_HAS_LEFT,
    SHARED_MESSAGE_IS_SENT,
    SHARED_LINE_IS_READY,
    SHARED_LINE_HAS_COME,
};

struct operation {
    uint32_t phase; /* enum phase */
    uint32_t place; /* of staging room, or up to which packet the miss queue is free then */
    void *queue;
};

enum { OPERATIONS = 64 }; /* no fewer than slots of the miss queue, and places of staging room */

/* The counts wrap together. */
struct suspended {
    uint32_t resumed, suspended;
    struct operation operations[OPERATIONS];
};

extern struct suspended suspended[COMMAND_QUEUES];

static inline void suspend(enum command_queue queue, struct operation operation) {
    struct suspended *all = &suspended[queue];
    all->operations[all->suspended++ % OPERATIONS] = operation;
}

/* The operation stays as it is until as many others were suspended as there are places. */
static inline const struct operation *resume(enum command_queue queue) {
    struct suspended *all = &suspended[queue];
    return &all->operations[all->resumed++ % OPERATIONS];
}

#endif
