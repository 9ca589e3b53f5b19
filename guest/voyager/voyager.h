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

/* Takes that back, before the first of its packets has been sent. */
int voyager_clear_channel(unsigned channel);

/* Begins a transfer, in one of the ways VOYAGER_DMA_...; once all of it has left, a message comes
 * to the process's own receive queue `number`, unless that is VOYAGER_NOBODY. Where hardware
 * receives, and the receiver has not registered all that it goes to, a second message comes once
 * the last packet has been there: its user's byte is VOYAGER_USER_REFUSED. */
#define VOYAGER_NOBODY (~0u)
int voyager_transfer(unsigned method, int rank, const void *from, const void *to, size_t bytes,
                     unsigned channel, unsigned number);

/* The local command queue of the process (Section 3: "The host processor sets up the Block Bus
 * Operations unit, the Block Transmit unit, and initializes the DMA Channel Counters with commands
 * issued to the Local Command queues"). The process stores commands to it itself, without a call of
 * the system. Registrations and channels are those of block transfers. */
struct voyager_commands {
    volatile uint64_t *window; /* VOYAGER_WINDOW_ISSUE, VOYAGER_WINDOW_FAULT */
    uint32_t room;             /* doublewords that the queue takes, at least */
    uint32_t staging;          /* where blocks pass, in the process's part of SRAM */
    uint32_t half;             /* of it that the next part passes, modulo 2 */
};

/* Takes 2 KiB of the process's SRAM for blocks; once in a process, by a call of the system. Returns
 * 0 or an errno: ENOENT where the machine has no such interface, ENOMEM where queues have the SRAM,
 * EBUSY the second time. */
int voyager_open_commands(struct voyager_commands *commands);

/* Sends `bytes` of the process's memory to the same address `to` of each of `count` ranks, each of
 * which may be this one: each part is read from memory once, and sent to one after the other. Waits
 * while the queue is full, not for the transfer: the memory stays as it is until then. Packets and
 * channels are those of voyager_transfer; the channel is that of each rank, VOYAGER_NOBODY for
 * none. Once all of it has left, a message with a VOYAGER_FAULT number, 0 for none, comes to
 * receive queue `number` of the process, unless that is VOYAGER_NOBODY; a rank that has not
 * registered what it goes to has a message sent with the user's byte VOYAGER_USER_REFUSED, once its
 * last packet has been there. Returns 0, or EINVAL for no ranks or bytes, and for a rank, an
 * address (48 bits), a channel or a queue that cannot be; memory that is not registered is a fault.
 */
int voyager_multicast(struct voyager_commands *commands, const int *ranks, size_t count,
                      const void *from, const void *to, size_t bytes, unsigned channel,
                      unsigned number);

/* As voyager_set_channel. Waits while the queue is full. Returns 0, or EINVAL for a channel or a
 * queue that the process has not. */
int voyager_command_channel(struct voyager_commands *commands, unsigned channel, uint32_t packets,
                            unsigned number, uint32_t value);

/* The VOYAGER_FAULT number of the last command that failed, 0 if none has. */
unsigned voyager_commands_fault(const struct voyager_commands *commands);

/* Messages that are a store (Section 4.1: the sP determines "the destination for bus writes"): a
 * store to the process's page of serviced space waits until firmware lets it go to a slot of the
 * transmit queue, and firmware sends it. The queue is opened by voyager_open_transmit as
 * VOYAGER_KIND_HYBRID | VOYAGER_KIND_STORES, and takes no other messages. */

/* Sends `value`, four bytes, to `destination`; waits while the queue is full, not for the message.
 * A wrong destination stops the queue (voyager_status), and nothing else. */
void voyager_store(struct voyager_queue *queue, unsigned destination, uint8_t user, uint32_t value);

#ifdef __cplusplus
}
#endif

#endif
