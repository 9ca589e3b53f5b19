/* Block transfers by firmware (Section 5.3.2). */
#ifndef NARTHEX_FIRMWARE_VOYAGER_BLOCK_H
#define NARTHEX_FIRMWARE_VOYAGER_BLOCK_H

#include "firmware/voyager/nic.h"
#include "firmware/voyager/suspended.h"

/* A part of a process's memory that is to be sent. */
struct transfer {
    bool to_firmware; /* else hardware receives */
    uint16_t node;
    uint8_t process;        /* at that node */
    uint8_t sender;         /* process of this node */
    uint64_t local, remote; /* addresses: of this node's memory, and a packet's place there */
    uint64_t bytes;
    uint64_t channel; /* that counts there; NO_CHANNEL for none */
    uint64_t told;    /* a logical receive queue of this node; VOYAGER_NOTHING for none */
};

enum { NO_CHANNEL = 255 };

void block_start(void);

/* Puts a transfer behind the others; false if there are too many. */
bool enqueue_transfer(const struct transfer *transfer);

/* Sends the next packet, if there is one and room for it. */
void send_block_packet(void);

/* Packets up to this one have left. */
void free_block_places(const struct operation *operation);

/* A packet for firmware has come to the miss queue; `header` is its doubleword there. Returns what
 * says where it goes (VOYAGER_PLACE). The next command of that queue with a completion must not be
 * of another transfer's packets as well (is_of_another_transfer). */
uint64_t receive_block_packet(uint64_t header, uint64_t slot);

/* Whether packets of another transfer wait for the next completion. */
bool is_of_another_transfer(uint64_t header);

/* What end_block has to know of a transfer whose last packet this is. */
void *block_end(uint64_t header, uint64_t place);

/* The last packet of a transfer has been written, or refused. */
void end_block(const struct operation *operation);

/* A command before the next completion of the queue has failed: that of a block's packet. */
void note_fault(enum command_queue queue);

#endif
