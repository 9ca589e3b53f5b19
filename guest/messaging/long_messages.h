/* Long messages by block transfers: in programs that are linked for an interface which has them
 * (LONG_MESSAGES; python/narthex/drivers.py, DRIVERS_APART).
 *
 *     sender                              receiver
 *     request: header, bytes ---------->  takes a buffer, sets a channel
 *     transfer  <------------ grant: address, channel
 *     the whole payload ===============>  buffer
 *     "all has left"                      the channel's "all has come": the handler runs
 *
 * The payload is not copied: the interface reads the sender's memory and writes the receiver's
 * buffer, or the slot of a channel (messaging/channels.h). What comes in front of the payload
 * travels in the request (send_after).
 *
 * Nothing can wait in a ring. A sender that waits takes in what arrives, and answers requests. To
 * answer one takes room for a packet, for which the network is kept moving as ever, and a channel:
 * that is free again once its transfer has come, whether or not the message can be handled yet. A
 * process has one request under way, so no more wait than there are processes. */
#ifndef NARTHEX_MESSAGING_LONG_MESSAGES_H
#define NARTHEX_MESSAGING_LONG_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messaging/buffers.h"
#include "messaging/driver.h"
#include "messaging/packet.h"

/* The shortest message that goes by a block transfer, in bytes. Measured: docs/voyager.md, "Long
 * messages". */
enum { LONG_MESSAGE_BYTES = 4096 };

#ifdef LONG_MESSAGES
enum { HAS_LONG_MESSAGES = true };
#else
enum { HAS_LONG_MESSAGES = false };
#endif

/* Handler numbers of packets that are never the last of a message. The interface's own messages
 * have the two highest. */
enum { LONG_REQUEST = 242, LONG_GRANT, LONG_REFUSED = 254, LONG_NOTICE };

/* What a request carries. */
struct long_request {
    uint64_t header; /* of the message's first packet, if it went in packets */
    uint64_t bytes;  /* of the payload, behind the preamble */
    uint64_t preamble_bytes, preamble;
};

/* What a grant carries. */
struct long_grant {
    uint64_t address; /* 0: the receiver cannot register memory */
    uint64_t channel;
};

/* A message that arrives. */
struct long_message {
    struct long_message *next;
    uint64_t header; /* peer: its source */
    struct long_request request;
    struct buffer *buffer; /* NULL: in a channel's slot */
};

/* How many wait for an answer, or are whole and wait for their handlers. */
extern int long_work;

/* Before the others. */
void long_start(const struct send_driver *send_driver, const struct receive_driver *receive_driver);

/* Sends a message: what a program gave to send, behind the request's preamble. False if it has to
 * go in packets: to the process itself, or from or to memory that cannot be registered. */
bool long_send(uint64_t header, struct long_request request, const void *payload);

#ifdef LONG_MESSAGES

/* Takes in the packet with this header that has arrived, and answers requests. */
void long_take(uint64_t header);

/* Answers requests, while there is room. */
void long_answer(void);

/* Takes the oldest message that is whole off its list; NULL if there is none. */
struct long_message *long_next(void);

/* The message's record is not used any more. */
void long_release(struct long_message *message);

#else /* A compiler that does not optimise keeps the calls, none of which is reached. */

static inline void long_take(uint64_t header) {
    (void)header;
}

static inline void long_answer(void) {}

static inline struct long_message *long_next(void) {
    return NULL;
}

static inline void long_release(struct long_message *message) {
    (void)message;
}

#endif

static inline bool is_of_long_message(uint64_t header) {
    int handler = header_handler(header);
    return HAS_LONG_MESSAGES && !header_is_last(header) &&
           (handler == LONG_REQUEST || handler == LONG_GRANT || handler >= LONG_REFUSED);
}

static inline bool long_has_work(void) {
    return HAS_LONG_MESSAGES && long_work > 0;
}

static inline bool sends_long(uint64_t header, const void *payload, size_t bytes) {
    return HAS_LONG_MESSAGES && bytes >= LONG_MESSAGE_BYTES &&
           long_send(header, (struct long_request){.bytes = bytes}, payload);
}

static inline bool sends_long_after(uint64_t header, const void *preamble, size_t preamble_bytes,
                                    const void *payload, size_t bytes) {
    if (bytes < LONG_MESSAGE_BYTES)
        return false;
    struct long_request request = {.bytes = bytes, .preamble_bytes = preamble_bytes};
    copy(&request.preamble, preamble, preamble_bytes);
    return long_send(header, request, payload);
}

#endif
