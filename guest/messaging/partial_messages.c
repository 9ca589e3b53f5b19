#include "messaging/partial_messages.h"

#include <stdlib.h>

#include "messaging/narthex.h"

struct partial_message *partial_messages;

static struct partial_message *unused;
static size_t largest_bytes; /* of a message in parts so far: the next one gets as much room, so
                                that its buffer need not grow packet by packet */

static struct partial_message *begin(uint64_t key, size_t bytes) {
    struct partial_message *message = unused;
    if (message)
        unused = message->next;
    else
        message = malloc(sizeof *message);
    narthex_check(message, "node %d has no memory left for arriving messages", narthex_node());
    *message = (struct partial_message){.next = partial_messages, .key = key};
    message->buffer = buffer_take(bytes < largest_bytes ? largest_bytes : bytes);
    partial_messages = message;
    return message;
}

struct partial_message *partial_search(uint64_t key, size_t bytes) {
    for (struct partial_message *message = partial_messages; message; message = message->next)
        if (message->key == key)
            return message;
    return begin(key, bytes);
}

void partial_end(struct partial_message *message) {
    struct partial_message **link = &partial_messages;
    while (*link != message)
        link = &(*link)->next;
    *link = message->next;
    message->next = unused;
    unused = message;
    if (message->arrangement.bytes > largest_bytes)
        largest_bytes = message->arrangement.bytes;
}
