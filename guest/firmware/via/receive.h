/* The receiving side: descriptors that are posted, and packets that arrive. */
#ifndef NARTHEX_FIRMWARE_VIA_RECEIVE_H
#define NARTHEX_FIRMWARE_VIA_RECEIVE_H

#include "firmware/via/packet.h"
#include "firmware/via/state.h"

/* Posts the descriptor behind a doorbell's value. */
void post_receive(struct vi *vi, uint64_t token);

/* Gives the receives that were posted before the connection their places. */
void arm_receives(struct vi *vi);

/* Takes in the oldest packet that was received. */
void receive_packet(void);

/* Copies bytes to their place among a work's pieces; VIP_STATUS_... errors. */
uint64_t scatter(const struct work *work, uint64_t offset, const char *from, uint64_t bytes);

/* Completes the oldest receive descriptor. */
void complete_receive(struct vi *vi, uint64_t bytes, uint64_t status, uint64_t immediate);

/* Completes all receive descriptors as flushed. */
void flush_receives(struct vi *vi);

void receive_start(void);

#endif
