/* Basic messages of StarT-Voyager (Ang, Chiou, Rudolph and Arvind, Section 2): a program's own
 * transmit and receive queues.
 *
 *     slot (three lines of 32 bytes):  | header | payload, at most 88 bytes |
 *     header: destination or source 0-15 | bytes of payload 16-22 | the user's own 24-31
 *
 * A queue is a ring of slots and two pointers, which count slots and never wrap at the ring's end.
 * The owner writes or reads slots where they are, and stores its pointer; the network interface
 * moves the other one. Who does the interface's part, hardware or firmware, the owner does not see:
 *
 *     VOYAGER_KIND_RESIDENT    hardware; slots in the interface's memory, pointers in its units
 *     VOYAGER_KIND_NONRESIDENT firmware; slots in the program's memory
 *     VOYAGER_KIND_HYBRID      either, as the firmware decides at any time; slots as a resident
 * one's
 *
 * Slots in the interface's memory are cachable but not coherent: a line is flushed once it is
 * written, and dropped once it is read. Pointers are uncached.
 *
 * A process sends to the receive queue `number` of another one, which opens it by that number.
 *
 * The other way to move data is a block transfer (below). */
#ifndef NARTHEX_VOYAGER_VOYAGER_H
#define NARTHEX_VOYAGER_VOYAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/registers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One end of a queue: its owner's. */
struct voyager_queue {
    char *slots;
    volatile uint64_t *pointers; /* the queue's page (PRODUCER, CONSUMER, STATUS) */
    uint16_t own, other;         /* the owner's pointer; the other one when it was last read */
    uint16_t mask;               /* slots - 1 */
    bool flushes;
    bool is_receive;
    uint8_t number; /* of the process's queues of this direction */
};

/* What has arrived. */
struct voyager_message {
    int source; /* rank */
    uint8_t user;
    size_t bytes;
    const void *payload; /* in the slot, until voyager_free */
};

/* Opens the process's transmit or receive queue `number`, of one of the VOYAGER_KINDs, with this
 * many slots, a power of two. Returns 0, or the errno of the system or the kernel agent: ENOENT
 * where the machine has no such interface. */
int voyager_open_transmit(struct voyager_queue *queue, unsigned number, unsigned kind,
                          unsigned slots);
int voyager_open_receive(struct voyager_queue *queue, unsigned number, unsigned kind,
                         unsigned slots);

/* Closes a queue; what is in it is lost, and so is a message whose pointer's store is still on its
 * way: a request overtakes posted stores, and a load of the queue's status waits for them. Returns
 * 0 or an errno. */
int voyager_close(struct voyager_queue *queue);

/* The number under which messages go to receive queue `number` of process `rank`. */
unsigned voyager_destination(int rank, unsigned number);

/* Whether the queue takes one more message. */
bool voyager_has_room(struct voyager_queue *queue);

/* Sends a message; waits while the queue is full. A wrong destination or length stops the queue,
 * and nothing else (voyager_status). Copies no more than
 * VOYAGER_PAYLOAD_LIMIT bytes. */
void voyager_send(struct voyager_queue *queue, unsigned destination, uint8_t user,
                  const void *payload, size_t bytes);

/* Shows the oldest message; false if there is none. */
bool voyager_arrived(struct voyager_queue *queue, struct voyager_message *message);

/* Takes the oldest message out of the queue. */
void voyager_free(struct voyager_queue *queue);

/* One of the VOYAGER_STATUS numbers: what stopped the queue, if something has. */
unsigned voyager_status(const struct voyager_queue *queue);

/* Block transfers move memory of one process to another one's, by the addresses of both; each has
 * to register what is read or written. Their packets carry VOYAGER_BLOCK_PACKET_BYTES each, from
 * multiples of that on, and a channel of the receiver counts them: when as many have come as it was
 * set to, a message with the value comes to receive queue `number` of the process. All return 0 or
 * an errno; EAGAIN: too many are under way. */

int voyager_register(const void *memory, size_t bytes);
int voyager_deregister(const void *memory, size_t bytes);
int voyager_set_channel(unsigned channel, size_t packets, unsigned number, uint32_t value);

/* Begins a transfer, in one of the ways VOYAGER_DMA_...; once all of it has left, a message comes
 * to the process's own receive queue `number`, unless that is VOYAGER_NOBODY. Where hardware
 * receives, and the receiver has not registered all that it goes to, a second message comes once
 * the last packet has been there: its user's byte is VOYAGER_USER_REFUSED. */
#define VOYAGER_NOBODY (~0u)
int voyager_transfer(unsigned method, int rank, const void *from, const void *to, size_t bytes,
                     unsigned channel, unsigned number);

#ifdef __cplusplus
}
#endif

#endif
