/* Bringing arrived messages to queues that firmware serves. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_RECEIVE_H
#define NARTHEX_FIRMWARE_VOYAGER_RECEIVE_H

#include "firmware/voyager/queues.h"
#include "firmware/voyager/suspended.h"

void receive_start(void);

/* Phase 1: a packet has come to the miss queue; `header` is its doubleword there. */
void demultiplex(uint64_t header);

/* Phase 2: it is in its queue. */
void free_buffer(const struct operation *operation);

/* The same of a cachable queue. */
void free_entry(const struct operation *operation);

/* Keeps doublewords of the command queue for other commands than those that bring packets. */
void keep_commands(uint32_t doublewords);

/* Buffers of packets that are in no queue are free in their turn. */
void free_other(const struct operation *operation);

/* Has all packets that were looked at freed in their turn. */
void free_seen(void);

/* Phase 2 of a message that was parked. */
void show_parked(const struct operation *operation);

/* Brings what is parked for a queue to it, as it has room. */
void receive_parked(struct receive_queue *queue);

/* A program has stored to a word of its pointer window: to the consumer, unless it errs. */
void release_up_to(struct receive_queue *queue, uint64_t word, uint32_t consumer);

/* Whether a packet waits in the miss queue, and holds up others. */
extern bool packet_is_held;

/* Stops the queue whose packet is held, if it has held up all others for long. */
void stop_idle_holder(void);

/* Takes nothing more in for a queue, which shows this status. */
void stop_receiving(struct receive_queue *queue, uint64_t status);

#endif
