/* Memory for arriving messages.
 *
 * Every message is copied out of the network interface into a buffer of this process before its
 * handler runs, as in the papers ("copying a message from the NI to a user-level buffer",
 * ni-design-hpca98 Section 6.1.1). Spare buffers wait on a list and the one used last is taken
 * first, so that a program that keeps none receives into the same, cached memory again and again.
 */
#ifndef NARTHEX_MESSAGING_BUFFERS_H
#define NARTHEX_MESSAGING_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

/* In front of the bytes it holds. */
struct buffer {
    struct buffer *next; /* on the list of spare buffers */
    size_t capacity;     /* bytes behind this header */
};

/* The spare buffers, the one used last first. */
extern struct buffer *spare_buffers;

static inline char *buffer_data(struct buffer *buffer) {
    return (char *)(buffer + 1);
}

/* A spare buffer for at least `bytes` bytes, allocated if there is none. */
struct buffer *buffer_take(size_t bytes);

/* Makes the buffer a spare one. */
void buffer_give(struct buffer *buffer);

/* buffer_take, without a call where the spare buffer used last will do. */
static inline struct buffer *take_buffer(size_t bytes) {
    struct buffer *buffer = spare_buffers;
    if (!buffer || buffer->capacity < bytes)
        return buffer_take(bytes);
    spare_buffers = buffer->next;
    return buffer;
}

/* A buffer for at least `bytes` bytes, more than `buffer` holds, with all that `buffer` has. */
struct buffer *buffer_grow(struct buffer *buffer, size_t bytes);

#endif
