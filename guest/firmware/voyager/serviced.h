/* A process's page of serviced space: a load of doubleword k waits until the process's receive
 * queue k has a message, and gets the queue's producer; all ones where the firmware does not serve
 * that queue, or stops to. So a program waits for a message without a poll. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SERVICED_H
#define NARTHEX_FIRMWARE_VOYAGER_SERVICED_H

#include "firmware/voyager/queues.h"

void serviced_start(void);

/* Lets an access that was captured at this offset be over; a load gets the value. */
void approve(uint64_t offset, uint64_t value);

/* A load has been captured, whose transaction is tried again until it is answered. */
void take_serviced_load(uint64_t offset);

/* Answers the load that waits for a queue, if there is one and the queue has what it waits for. */
void answer_load(struct receive_queue *queue);

#endif
