/* Cachable queues (CNI) over the snooped space: the firmware is the coherent interface that the
 * paper says it can be (Section 4.1). */
#ifndef NARTHEX_FIRMWARE_VOYAGER_CACHABLE_QUEUES_H
#define NARTHEX_FIRMWARE_VOYAGER_CACHABLE_QUEUES_H

#include "firmware/voyager/queues.h"
#include "firmware/voyager/suspended.h"

void cachable_start(void);

/* A process's queue is cachable; its part of the snooped space begins here. */
void open_cachable_send(struct transmit_queue *queue, uint64_t snooped);
void open_cachable_receive(struct receive_queue *queue, uint64_t snooped);

/* All that is known of the tail of a process's send queue, or of the head of its receive queue, is
 * used up: the firmware wants to know of more. */
void look_at_pointer(uint64_t process, bool is_receive);

/* A program wants to write a line of the snooped space and may not. */
void pointer_captured(uint64_t line);

/* A pointer was read. */
void pointer_is_read(const struct operation *operation);

/* Entries of a send queue are free. */
void show_send_head(const struct transmit_queue *queue);

/* Whether the slot at `pointer` is in a pass in which entries are valid by a 1. */
static inline uint64_t sense(uint16_t pointer, uint16_t slots) {
    return !(pointer & slots);
}

#endif
