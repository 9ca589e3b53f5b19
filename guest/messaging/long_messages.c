#include "messaging/long_messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/channels.h"
#include "messaging/long_puts.h"
#include "messaging/messages.h"
#include "messaging/narthex.h"
#include "runtime/information.h"
#include "runtime/marker.h"
#include "voyager/registered_pages.h"
#include "voyager/voyager.h"

#ifdef LONG_MESSAGES

/* The message that is being sent. */
static struct long_sending sending;

/* The messages that arrive, by channel. The program has the lower half of the channels. */
static struct long_message *granted[CHANNELS_LIMIT];
static unsigned first_channel, channels;

/* Those that wait for an answer, and those that are whole and wait for their handlers. */
static struct list {
    struct long_message *first, **end;
} waiting = {NULL, &waiting.first}, whole = {NULL, &whole.first};
int long_work;

static struct long_message *unused;
static const struct send_driver *sender;
static const struct receive_driver *receiver;

static void append(struct list *list, struct long_message *message) {
    message->next = NULL;
    *list->end = message;
    list->end = &message->next;
    long_work += 1;
}

static struct long_message *take_first(struct list *list) {
    struct long_message *message = list->first;
    list->first = message->next;
    if (!list->first)
        list->end = &list->first;
    long_work -= 1;
    return message;
}

void long_start(const struct send_driver *send_driver,
                const struct receive_driver *receive_driver) {
    uint64_t own = narthex_information()->voyager_channels;
    sender = send_driver;
    receiver = receive_driver;
    channels = own < CHANNELS_LIMIT ? (unsigned)own : CHANNELS_LIMIT;
    first_channel = channels / 2;
}

/* Sending */

/* Hands the payload to the interface, unless that has too many transfers under way. */
static void transfer(void) {
    int error = voyager_transfer(VOYAGER_DMA_HARDWARE, sending.destination, sending.payload,
                                 (const void *)(uintptr_t)sending.grant.address, sending.bytes,
                                 (unsigned)sending.grant.channel, OWN_QUEUE);
    narthex_check(error == 0 || error == EAGAIN, "node %d cannot transfer %zu bytes to node %d: %s",
                  narthex_node(), sending.bytes, sending.destination, strerror(error));
    if (error == 0)
        sending.state = LEAVING;
}

bool long_send(uint64_t header, struct long_request request, const void *payload) {
    int destination = header_peer(header);
    if (destination == narthex_node() || first_channel == channels ||
        !register_pages(payload, request.bytes))
        return false;
    ENTER(ACTIVITY_SEND);
    sending.state = REQUESTED;
    sending.destination = destination;
    sending.payload = payload;
    sending.bytes = request.bytes;
    request.header = header;
    send_alone((uint64_t)destination | header_of(LONG_REQUEST, 0), &request, sizeof request);
    ENTER(ACTIVITY_WAIT_TO_SEND);
    while (sending.state < GONE) {
        take_arrivals();
        if (sending.state == GRANTED)
            transfer();
    }
    LEAVE();
    LEAVE();
    return sending.state == GONE;
}

static void take_grant(const struct long_grant *grant) {
    sending.grant = *grant;
    sending.state = grant->address == 0 ? REFUSED : GRANTED;
}

/* Receiving */

static void take_request(uint64_t header, const struct long_request *request) {
    struct long_message *message = unused;
    if (message)
        unused = message->next;
    else
        message = malloc(sizeof *message);
    narthex_check(message, "node %d has no memory left for arriving messages", narthex_node());
    uint64_t peer = header & 0xffff;
    *message = (struct long_message){.header = (request->header & ~UINT64_C(0xffff)) | peer,
                                     .request = *request};
    append(&waiting, message);
}

/* Where the message goes. */
static char *place_of(struct long_message *message) {
    const struct long_request *request = &message->request;
    if (message->header & HEADER_CHANNEL)
        return channel_place_of_all(message->header, request->bytes);
    message->buffer = take_buffer(request->preamble_bytes + request->bytes);
    char *data = buffer_data(message->buffer);
    memcpy(data, &request->preamble, request->preamble_bytes);
    return data + request->preamble_bytes;
}

static void grant(struct long_message *message, unsigned channel) {
    struct long_grant answer = {.channel = channel};
    char *place = place_of(message);
    size_t bytes = message->request.bytes;
    int source = header_peer(message->header);
    if (register_pages(place, bytes)) {
        int error = voyager_set_channel(channel, long_packets(place, bytes), OWN_QUEUE,
                                        FIRST_CHANNEL_NOTICE + channel);
        narthex_check(error == 0, "node %d cannot set channel %u: %s", narthex_node(), channel,
                      strerror(error));
        answer.address = (uintptr_t)place;
        granted[channel] = message;
    } else {
        if (message->buffer)
            buffer_give(message->buffer);
        long_release(message);
    }
    sender->send((uint64_t)source | header_of(LONG_GRANT, 0) |
                     (uint64_t)sizeof answer << HEADER_BYTES_SHIFT,
                 &answer, sizeof answer);
}

static unsigned free_channel(void) {
    unsigned channel = first_channel;
    while (channel < channels && granted[channel])
        channel++;
    return channel;
}

void long_answer(void) {
    unsigned channel;
    while (waiting.first && (channel = free_channel()) < channels && sender->has_room())
        grant(take_first(&waiting), channel);
}

/* All packets of a channel have come. */
static void complete(unsigned channel) {
    struct long_message *message = granted[channel];
    granted[channel] = NULL;
    if (message->header & HEADER_CHANNEL) {
        channel_has_all(message->header, message->request.bytes);
        long_release(message);
    } else {
        append(&whole, message);
    }
}

static void take_notice(uint32_t value) {
    if (value == LEFT)
        sending.state = GONE;
    else
        complete(value - FIRST_CHANNEL_NOTICE);
}

void long_take(uint64_t header) {
    union {
        struct long_request request;
        struct long_grant grant;
    } payload;
    receiver->receive(&payload, header_bytes(header));
    switch (header_handler(header)) {
    case LONG_REQUEST:
        take_request(header, &payload.request);
        break;
    case LONG_GRANT:
        take_grant(&payload.grant);
        break;
    case LONG_NOTICE:
        take_notice((uint32_t)(header >> 32));
        break;
    default:
        narthex_fail("node %d: node %d has no registered memory where it granted a transfer",
                     narthex_node(), sending.destination);
    }
    long_answer();
}

struct long_message *long_next(void) {
    return whole.first ? take_first(&whole) : NULL;
}

void long_release(struct long_message *message) {
    message->next = unused;
    unused = message;
}

/* long_puts.h */
extern struct long_sending long_sending __attribute__((alias("sending")));
extern struct long_message *long_granted[CHANNELS_LIMIT] __attribute__((alias("granted")));
extern struct long_message *long_unused __attribute__((alias("unused")));
extern unsigned long_first_channel __attribute__((alias("first_channel")));
extern unsigned long_channels __attribute__((alias("channels")));

#endif
