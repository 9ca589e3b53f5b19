/* What the library's own parts use beyond the public calls: messages to handler numbers that
 * applications cannot take, NARTHEX_HANDLERS .. 255. */
#ifndef NARTHEX_MESSAGING_MESSAGES_H
#define NARTHEX_MESSAGING_MESSAGES_H

#include <stdbool.h>

#include "messaging/narthex.h"

/* For what the common way does not need: inlined, it would make every call save the registers that
 * only it uses. */
#ifdef __GNUC__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE
#endif

/* The handler numbers of MPI, of shared memory, and of the library itself. Of those between,
 * shmem/protocol.h and long_messages.h have some. */
enum {
    HANDLER_MPI_PUT = 233,
    HANDLER_MPI_WINDOW,
    HANDLER_MPI_ANSWER,
    HANDLER_MPI_MESSAGE,
    HANDLER_MPI_CONTROL,
    HANDLER_MPI_PIECE,
    HANDLER_MPI_SHORT = 244 /* the first of four */
};
enum { HANDLER_LOCK = 239, HANDLER_SHARED_MEMORY };
enum {
    HANDLER_BARRIER = 248,
    HANDLER_COLLECTIVE,
    HANDLER_CHANNEL, /* packets for a channel's first slot; those for its second follow */
    HANDLER_CHANNEL_RELEASE = HANDLER_CHANNEL + 2 /* of one slot; of both follows */
};

/* As narthex_register_handler and narthex_send, for any number up to 255 and without checks. */
void set_handler(int number, narthex_handler *function, const char *name);
void send_message(int destination, int handler, const void *payload, size_t bytes);

/* Sends a message whose payload is the `preamble_bytes` (at most 8) bytes at `preamble` and then
 * the `bytes` bytes at `payload`; of the latter only those in the first packet are copied. */
void send_after(int destination, int handler, const void *preamble, size_t preamble_bytes,
                const void *payload, size_t bytes);

/* Sends a message with all that `header` says but peer, index and length. */
void send_packets(int destination, uint64_t header, const void *payload, size_t bytes);

/* For long messages (messaging/long_messages.h), in programs that have them: sends one packet with
 * this header; takes in what has arrived, while a send waits. */
void send_alone(uint64_t header, const void *payload, size_t bytes);
void take_arrivals(void);

/* Where all of a channel's transfer goes that is not in packets, and that it has come. */
char *channel_place_of_all(uint64_t header, size_t bytes);
void channel_has_all(uint64_t header, size_t bytes);

/* Enters an arriving packet with HEADER_CHANNEL and returns where its payload goes. */
char *channel_place(uint64_t header);

/* Fails if a handler is running, in which `function` must not be called. */
void check_outside_handler(const char *function);

/* Handles one packet, if one has arrived. For a wait that is booked on its caller's activity, and
 * whose end must not be missed: what comes behind that packet stays where it is. */
void poll_packet(void);

/* poll_packet in two steps, for a part of the library that knows the place of what comes: the
 * header of the next packet, 0 if there is none; after a header, the payload is taken to a place
 * that is 4-byte aligned, or the packet is handled. */
uint64_t next_packet(void);
void take_packet(void *payload, size_t bytes);
void handle_packet(uint64_t header);

/* Makes a message of one packet, as if from `source`, the first that the next poll handles. */
void repeat_message(int source, int handler, const void *payload, size_t bytes);

/* Whether a handler is running. */
bool is_in_handler(void);

/* " (in handler ...)" for the end of an error's text; empty if no handler is running. */
const char *describe_running_handler(void);

/* Whether the instruction at this address belongs to a driver that is sending a packet. */
bool is_sending(uintptr_t instruction);

/* Prepare the library's parts, before main. */
void barrier_start(void);
void collectives_start(void);

#endif
