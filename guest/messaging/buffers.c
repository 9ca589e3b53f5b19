#include "messaging/buffers.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"

enum { SMALLEST_BYTES = 256, ALIGNMENT_BYTES = 16 };

struct buffer *spare_buffers;

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    narthex_check(memory, "node %d has no memory left for a message buffer of %zu bytes",
                  narthex_node(), bytes);
    return memory;
}

static struct buffer *make(size_t bytes) {
    size_t capacity = bytes < SMALLEST_BYTES ? SMALLEST_BYTES : bytes;
    struct buffer *buffer = allocate(sizeof *buffer + capacity);
    buffer->capacity = capacity;
    return buffer;
}

struct buffer *buffer_take(size_t bytes) {
    for (struct buffer **link = &spare_buffers; *link; link = &(*link)->next) {
        struct buffer *buffer = *link;
        if (buffer->capacity >= bytes) {
            *link = buffer->next;
            return buffer;
        }
    }
    return make(bytes);
}

void buffer_give(struct buffer *buffer) {
    buffer->next = spare_buffers;
    spare_buffers = buffer;
}

struct buffer *buffer_grow(struct buffer *buffer, size_t bytes) {
    size_t doubled = buffer->capacity * 2;
    struct buffer *larger = buffer_take(bytes > doubled ? bytes : doubled);
    memcpy(buffer_data(larger), buffer_data(buffer), buffer->capacity);
    buffer_give(buffer);
    return larger;
}

size_t narthex_reserve(void *memory, size_t memory_bytes, size_t bytes) {
    narthex_check(memory && (uintptr_t)memory % ALIGNMENT_BYTES == 0,
                  "node %d reserves memory at %p, which is not aligned to %d bytes", narthex_node(),
                  memory, ALIGNMENT_BYTES);
    narthex_check(bytes <= narthex_payload_limit(),
                  "node %d reserves memory for payloads of %zu bytes: the limit is %zu",
                  narthex_node(), bytes, narthex_payload_limit());
    size_t capacity = (bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES;
    size_t stride = sizeof(struct buffer) + capacity;
    size_t count = memory_bytes / stride;
    memset(memory, 0, memory_bytes);
    for (size_t index = count; index-- > 0;) {
        struct buffer *buffer = (struct buffer *)(void *)((char *)memory + index * stride);
        buffer->capacity = capacity;
        buffer_give(buffer);
    }
    return count;
}
