/* Driver for split virtqueues (Virtio), in the style of polling virtio-net drivers;
 * interfaces/src/models/virtio.rs says what the interface does.
 *
 *   send_queue, receive_queue  [ descriptors ][ available ring ][ used ring ][ buffers ]
 *                                written here   written here      by the      a packet for
 *                                                                 interface   each descriptor
 *
 * A buffer stays with its descriptor, and there is one descriptor a packet. To send, the driver
 * copies a packet to the buffer of a free descriptor, describes it, and puts the descriptor's
 * number into the available ring. At the end of a message, or of a burst, it moves the ring's
 * index, and kicks the interface by a store of 2 bytes if that has asked for it: with the event
 * index, if the index has passed the one that the interface has named. What the interface asks for
 * is looked at after the index has been moved, so there is a fence in between; else the interface
 * could rest without seeing the index, and the driver could see that it needs no kick.
 *
 * When free descriptors run out, the driver looks at the used ring for those that are done. They
 * are used again in that order: the free ones are linked by their `next` fields.
 *
 * To receive, the driver polls the used ring's index, which stays in the processor's cache until
 * the interface writes it. It copies a packet out of its buffer, puts the number back into the
 * available ring, and moves that ring's index for `refill_threshold` of them together.
 *
 * The driver polls, and says that it needs no interrupts: by the flag, or by a used_event that it
 * does not move. Programs that wait for one ask for it in messaging/wait.c. */
#include "messaging/driver.h"

#ifdef __riscv
#define LOADS_BEFORE_LOADS() __asm__ volatile("fence r, r" ::: "memory")
#define STORES_BEFORE_LOADS() __asm__ volatile("fence w, r" ::: "memory")
#else
#define LOADS_BEFORE_LOADS() COMPILER_BARRIER()
#define STORES_BEFORE_LOADS() COMPILER_BARRIER()
#endif

struct descriptor {
    uint64_t address;
    uint32_t length;
    uint16_t flags, next;
};

_Static_assert(sizeof(struct descriptor) == VIRTQ_DESCRIPTOR_BYTES, "the interface's descriptors");

/* Behind the last entry is the event index of this ring's reader: used_event. */
struct available_ring {
    uint16_t flags, index, entries[];
};

struct used_entry {
    uint32_t descriptor, bytes;
};

/* Behind the last entry is avail_event. */
struct used_ring {
    uint16_t flags, index;
    struct used_entry entries[];
};

struct queue {
    volatile struct descriptor *descriptors;
    volatile struct available_ring *available;
    const volatile struct used_ring *used;
    const volatile uint16_t *kick_behind; /* avail_event */
    char *buffers;
    volatile uint16_t *notify;
    uint16_t number, mask;
    uint16_t next; /* index of the next entry of the available ring */
    uint16_t told; /* that ring's index, as the interface can see it */
    uint16_t seen; /* index of the next entry of the used ring */
    bool has_event_index;
};

static size_t buffer_bytes;

static uintptr_t rounded_up(uintptr_t place, uint64_t block_bytes) {
    return (place + block_bytes - 1) & -block_bytes;
}

static struct queue start_queue(const struct narthex_information *machine, uintptr_t place,
                                uint64_t entries, uint64_t number, uintptr_t first_register) {
    volatile uint64_t *registers =
        (volatile uint64_t *)(uintptr_t)(machine->register_page + first_register);
    uintptr_t available = place + entries * VIRTQ_DESCRIPTOR_BYTES;
    uintptr_t used = rounded_up(available + (3 + entries) * sizeof(uint16_t), machine->block_bytes);
    uintptr_t kick_behind = used + 2 * sizeof(uint16_t) + entries * sizeof(struct used_entry);
    buffer_bytes = machine->packet_bytes;
    registers[0] = entries;
    registers[1] = place;
    registers[2] = available;
    registers[3] = used;
    registers[4] = 1;
    struct queue queue = {
        .descriptors = (volatile struct descriptor *)place,
        .available = (volatile struct available_ring *)available,
        .used = (const volatile struct used_ring *)used,
        .kick_behind = (const volatile uint16_t *)kick_behind,
        .buffers = (char *)rounded_up(kick_behind + sizeof(uint16_t), machine->block_bytes),
        .notify = (volatile uint16_t *)(registers + 6),
        .number = (uint16_t)number,
        .mask = (uint16_t)(entries - 1),
        .has_event_index = registers[5] & VIRTIO_EVENT_INDEX};
    if (!queue.has_event_index)
        queue.available->flags = VIRTQ_AVAIL_F_NO_INTERRUPT;
    return queue;
}

_Static_assert(REGISTER_VIRTIO_SEND_DESCRIPTORS == REGISTER_VIRTIO_SEND_SIZE + 8 &&
                   REGISTER_VIRTIO_SEND_DRIVER == REGISTER_VIRTIO_SEND_SIZE + 16 &&
                   REGISTER_VIRTIO_SEND_DEVICE == REGISTER_VIRTIO_SEND_SIZE + 24 &&
                   REGISTER_VIRTIO_SEND_ENABLE == REGISTER_VIRTIO_SEND_SIZE + 32 &&
                   REGISTER_VIRTIO_SEND_THRESHOLDS == REGISTER_VIRTIO_SEND_SIZE + 40 &&
                   REGISTER_VIRTIO_SEND_NOTIFY == REGISTER_VIRTIO_SEND_SIZE + 48 &&
                   REGISTER_VIRTIO_RECEIVE_NOTIFY == REGISTER_VIRTIO_RECEIVE_SIZE + 48,
               "start_queue counts on it");

static inline uint64_t thresholds_at(const struct narthex_information *machine, uintptr_t offset) {
    return *(volatile uint64_t *)(uintptr_t)(machine->register_page + offset);
}

static inline char *buffer_of(const struct queue *queue, uint16_t descriptor) {
    return queue->buffers + descriptor * buffer_bytes;
}

static inline void make_available(struct queue *queue, uint16_t descriptor) {
    queue->available->entries[queue->next & queue->mask] = descriptor;
    queue->next += 1;
}

/* Whether the interface wants a kick for the entries from `queue->told` to `queue->next`. */
static inline bool wants_kick(const struct queue *queue) {
    if (!queue->has_event_index)
        return !(queue->used->flags & VIRTQ_USED_F_NO_NOTIFY);
    return (uint16_t)(queue->next - *queue->kick_behind - 1) <
           (uint16_t)(queue->next - queue->told);
}

/* Moves the available ring's index behind all entries. */
static inline void tell(struct queue *queue) {
    COMPILER_BARRIER();
    queue->available->index = queue->next;
    STORES_BEFORE_LOADS();
    if (wants_kick(queue))
        *queue->notify = queue->number;
    queue->told = queue->next;
}

/* The next entry of the used ring, or NULL. */
static inline const volatile struct used_entry *next_used(const struct queue *queue) {
    if (queue->used->index == queue->seen)
        return NULL;
    LOADS_BEFORE_LOADS();
    return &queue->used->entries[queue->seen & queue->mask];
}

/* Sending */

static struct queue out;
static uint16_t burst, free_threshold;
static uint16_t free_count;            /* free descriptors, */
static uint16_t first_free, last_free; /* linked from the first to the last */

static void start_sending(const struct narthex_information *machine) {
    out = start_queue(machine, machine->send_queue, machine->send_entries, VIRTIO_SEND_QUEUE,
                      REGISTER_VIRTIO_SEND_SIZE);
    uint64_t thresholds = thresholds_at(machine, REGISTER_VIRTIO_SEND_THRESHOLDS);
    burst = (uint16_t)thresholds;
    free_threshold = (uint16_t)(thresholds >> 32);
    for (uint16_t index = 0; index != out.mask; index++)
        out.descriptors[index].next = index + 1;
    free_count = out.mask + 1;
    first_free = 0;
    last_free = out.mask;
    /* So that the first pass over the buffers hits like later ones: the interface reads buffers
     * without taking them away. */
    char *end = out.buffers + machine->send_entries * buffer_bytes;
    for (char *block = out.buffers; block != end; block += machine->block_bytes)
        *(volatile uint64_t *)block = 0;
}

static inline void free_used(void) {
    for (const volatile struct used_entry *entry; (entry = next_used(&out)); out.seen++) {
        uint16_t descriptor = (uint16_t)entry->descriptor;
        if (free_count == 0)
            first_free = descriptor;
        else
            out.descriptors[last_free].next = descriptor;
        last_free = descriptor;
        free_count += 1;
    }
}

static bool has_room(void) {
    if (free_count < free_threshold || free_count == 0)
        free_used();
    if (free_count == 0 && out.told != out.next)
        tell(&out);
    return free_count > 0;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    uint16_t index = first_free;
    volatile struct descriptor *descriptor = &out.descriptors[index];
    char *buffer = buffer_of(&out, index);
    *(volatile uint64_t *)buffer = header_out(header, extra);
    copy_out(buffer + sizeof header, payload, bytes, extra);
    descriptor->address = (uintptr_t)buffer;
    descriptor->length = (uint32_t)(sizeof header + extra + bytes);
    descriptor->flags = 0;
    first_free = descriptor->next;
    free_count -= 1;
    make_available(&out, index);
    /* The next packet of a message follows at once, so the last one tells of all. */
    if ((uint16_t)(out.next - out.told) == burst || header & HEADER_LAST)
        tell(&out);
}

/* Receiving */

static struct queue in;
static uint16_t refill_threshold;

static void start_receiving(const struct narthex_information *machine) {
    in = start_queue(machine, machine->receive_queue, machine->receive_entries,
                     VIRTIO_RECEIVE_QUEUE, REGISTER_VIRTIO_RECEIVE_SIZE);
    refill_threshold = (uint16_t)thresholds_at(machine, REGISTER_VIRTIO_RECEIVE_THRESHOLDS);
    for (uint32_t index = 0; index <= in.mask; index++) {
        volatile struct descriptor *descriptor = &in.descriptors[index];
        descriptor->address = (uintptr_t)buffer_of(&in, (uint16_t)index);
        descriptor->length = (uint32_t)buffer_bytes;
        descriptor->flags = VIRTQ_DESC_F_WRITE;
        make_available(&in, (uint16_t)index);
    }
    tell(&in);
}

static inline uint64_t arrived(size_t extra) {
    const volatile struct used_entry *entry = next_used(&in);
    if (entry == NULL)
        return 0;
    const char *buffer = buffer_of(&in, (uint16_t)entry->descriptor);
    return header_in(*(const volatile uint64_t *)(const void *)buffer, extra);
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    uint16_t descriptor = (uint16_t)in.used->entries[in.seen & in.mask].descriptor;
    copy_in(payload, buffer_of(&in, descriptor) + sizeof(uint64_t), bytes, extra);
    in.seen += 1;
    make_available(&in, descriptor);
    if ((uint16_t)(in.next - in.told) == refill_threshold)
        tell(&in);
}

SEND_DRIVER(send_virtio, start_sending, has_room, send);
RECEIVE_DRIVER(receive_virtio, start_receiving, arrived, receive, NULL);
