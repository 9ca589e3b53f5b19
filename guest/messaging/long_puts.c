#include "messaging/long_puts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/messages.h"
#include "messaging/narthex.h"
#include "runtime/marker.h"
#include "voyager/registered_pages.h"
#include "voyager/voyager.h"

#pragma weak long_sending
#pragma weak long_granted
#pragma weak long_unused
#pragma weak long_first_channel
#pragma weak long_channels
#pragma weak take_arrivals
#pragma weak register_pages
#pragma weak voyager_set_channel
#pragma weak voyager_transfer

bool long_puts_are_there(void) {
    return &long_channels != NULL;
}

bool long_may_leave(const void *memory, size_t bytes) {
    return bytes <= narthex_payload_limit() && register_pages(memory, bytes);
}

/* A channel for an offer; long_channels if there is none. Offers wait for what others do, and long
 * messages must not wait for them: those keep half of the channels. */
static unsigned channel_to_offer(void) {
    unsigned free = long_channels, taken = 1;
    for (unsigned channel = long_first_channel; channel < long_channels; channel++)
        if (long_granted[channel])
            taken += 1;
        else
            free = channel;
    return 2 * taken <= long_channels - long_first_channel ? free : long_channels;
}

static struct long_message *new_message(void) {
    struct long_message *message = long_unused;
    if (message)
        long_unused = message->next;
    else
        message = malloc(sizeof *message);
    narthex_check(message, "node %d has no memory left for arriving messages", narthex_node());
    return message;
}

bool long_offer(int source, int handler, const void *message, size_t message_bytes, void *memory,
                size_t bytes, struct long_grant *grant) {
    unsigned channel = channel_to_offer();
    if (channel == long_channels || !register_pages(memory, bytes))
        return false;
    int error = voyager_set_channel(channel, long_packets(memory, bytes), OWN_QUEUE,
                                    FIRST_CHANNEL_NOTICE + channel);
    narthex_check(error == 0, "node %d cannot set channel %u: %s", narthex_node(), channel,
                  strerror(error));
    struct long_message *offered = new_message();
    *offered = (struct long_message){.header = (uint64_t)source | header_of(handler, 0),
                                     .request.bytes = message_bytes,
                                     .buffer = take_buffer(message_bytes)};
    memcpy(buffer_data(offered->buffer), message, message_bytes);
    long_granted[channel] = offered;
    *grant = (struct long_grant){(uintptr_t)memory, channel};
    return true;
}

void long_put(int destination, const struct long_grant *grant, const void *memory, size_t bytes) {
    int error;
    ENTER(ACTIVITY_SEND);
    ENTER(ACTIVITY_WAIT_TO_SEND);
    long_sending.state = LEAVING;
    long_sending.destination = destination;
    while ((error = voyager_transfer(VOYAGER_DMA_HARDWARE, destination, memory,
                                     (const void *)(uintptr_t)grant->address, bytes,
                                     (unsigned)grant->channel, OWN_QUEUE)) == EAGAIN)
        take_arrivals();
    narthex_check(error == 0, "node %d cannot transfer %zu bytes to node %d: %s", narthex_node(),
                  bytes, destination, strerror(error));
    while (long_sending.state == LEAVING)
        take_arrivals();
    LEAVE();
    LEAVE();
}
