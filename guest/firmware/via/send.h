/* The sending side: packets, and messages that are cut into them. */
#ifndef NARTHEX_FIRMWARE_VIA_SEND_H
#define NARTHEX_FIRMWARE_VIA_SEND_H

#include "firmware/via/packet.h"
#include "firmware/via/state.h"

/* Sends what the descriptor behind a doorbell's value asks for. */
void send_descriptor(struct vi *vi, uint64_t token);

/* Goes on with doorbells that waited for the end of an RDMA read. */
void send_held(struct vi *vi);

/* A message to the remote VI: the first doubleword of its headers, the third one, and where an RDMA
 * begins. */
struct message {
    uint64_t word0, word2, remote;
};

/* Sends a work's bytes in packets, and waits until the network has them. */
void send_message(struct vi *vi, const struct message *message, const struct work *work);

/* Sends a packet without payload; not while another is being made. */
void send_words(uint64_t node, uint64_t word0, uint64_t word1, uint64_t word2, uint64_t word3);

void send_start(void);

#endif
