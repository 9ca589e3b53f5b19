/* Messages that wait in the firmware's own memory until their queue has room, or is opened: a
 * program that takes nothing out of its queue holds up no other one, and what comes before a queue
 * was opened is not lost. Each queue may have so many, and each process its share; beyond that its
 * messages wait in the miss queue, or are lost if it is not open. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_PARKING_H
#define NARTHEX_FIRMWARE_VOYAGER_PARKING_H

#include "firmware/voyager/queues.h"

void parking_start(void);

/* Copies the message in a slot of SRAM; false if the queue may not have one more. */
bool park(struct receive_queue *queue, uint64_t slot, uint64_t header);

/* Copies the oldest one to a slot of SRAM, and returns its header; only if there is one. */
uint64_t unpark(struct receive_queue *queue, uint64_t slot);

/* Forgets all that a queue has. */
void empty(struct receive_queue *queue);

#endif
