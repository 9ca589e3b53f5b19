/* Hybrid queues (Section 6: "message queue caching"): few physical queues are lent to those of many
 * logical ones that have messages. Their programs do not see it. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_LENDING_H
#define NARTHEX_FIRMWARE_VOYAGER_LENDING_H

#include "firmware/voyager/places.h"
#include "firmware/voyager/queues.h"
#include "firmware/voyager/suspended.h"

void lending_start(void);

/* The firmware has served a message of a hybrid queue: it may be lent a physical one. */
void consider_transmit(struct transmit_queue *queue);
void consider_receive(struct receive_queue *queue);

/* A packet of a resident queue was diverted, since the queue is full: it is served by firmware
 * until all that is parked for it is in it. */
void take_over(struct receive_queue *queue);

/* Whether packets are held in the network until older ones are at their place; the miss queue was
 * freed up to this pointer. */
extern bool is_draining;
void arrivals_are_freed(uint16_t freed);

/* A packet of the miss queue has to wait for its queue: no other one may wait for it. */
void give_up_draining(void);

/* Completions. */
void transmit_has_entered(void);
void transmit_has_left(const struct operation *operation);
void receive_is_mapped(const struct operation *operation);
void receive_has_left(const struct operation *operation);

/* A pointer that a program stored before its queue was mapped. */
void forward_pointer(const struct place *place, uint32_t pointer);

/* Takes the physical queue back, if there is one, and finishes all operations. */
void take_back_transmit(struct transmit_queue *queue);
void take_back_receive(struct receive_queue *queue);

#endif
