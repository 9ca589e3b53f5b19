/* Shared memory over the snooped space: what firmware/voyager-shared has beside firmware/voyager,
 * which has nothing of it (SHARED_MEMORY is not defined there). */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SHARED_MEMORY_H
#define NARTHEX_FIRMWARE_VOYAGER_SHARED_MEMORY_H

#include "firmware/voyager/suspended.h"

struct task;

/* The room of a command queue that shared memory needs, and the doublewords of that for sending
 * which its messages have. */
enum { SHARED_MEMORY_ROOM = 32, SHARED_MEMORY_SENDS = 8 };

#ifdef SHARED_MEMORY

static inline uint64_t shared_memory_sends(uint64_t room) {
    return room < SHARED_MEMORY_ROOM ? 0 : SHARED_MEMORY_SENDS;
}

void shared_memory_start(void);

/* Whether a captured access is to shared memory, which takes it then. */
bool shared_memory_takes(uint64_t kind, uint64_t offset);

/* Whether an operation is shared memory's, which goes on with it then. */
bool shared_memory_resumes(const struct operation *operation);

/* The message of shared memory in a packet of the miss queue; 0 if the packet is another one. */
uint64_t shared_memory_message(uint64_t packet);

/* Takes it. Whether the packet has to stay until the commands that were issued are complete; then
 * `task` goes on, if there is one (SHARED_LINE_HAS_COME). */
bool shared_memory_receives(uint64_t header, uint64_t message, uint64_t packet, struct task **task);

#else

static inline uint64_t shared_memory_sends(uint64_t room) {
    (void)room;
    return 0;
}

static inline void shared_memory_start(void) {}

static inline bool shared_memory_takes(uint64_t kind, uint64_t offset) {
    (void)kind, (void)offset;
    return false;
}

static inline bool shared_memory_resumes(const struct operation *operation) {
    (void)operation;
    return false;
}

static inline uint64_t shared_memory_message(uint64_t packet) {
    (void)packet;
    return 0;
}

static inline bool shared_memory_receives(uint64_t header, uint64_t message, uint64_t packet,
                                          struct task **task) {
    (void)header, (void)message, (void)packet, (void)task;
    return false;
}

#endif

#endif
