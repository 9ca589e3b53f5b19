/* Sending messages from queues that firmware serves. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_TRANSMIT_H
#define NARTHEX_FIRMWARE_VOYAGER_TRANSMIT_H

#include "firmware/voyager/queues.h"
#include "firmware/voyager/suspended.h"

void transmit_start(void);

/* A program has stored to a word of its pointer window: to the producer, unless it errs. */
void send_up_to(struct transmit_queue *queue, uint64_t word, uint32_t producer);

/* Phase 2: a message has been fetched. */
void translate_and_launch(const struct operation *operation);

/* The same of a cachable queue. */
void launch_entry(const struct operation *operation);

/* Sends nothing more of a queue, which shows this status. */
void stop_sending(struct transmit_queue *queue, uint64_t status);

#endif
