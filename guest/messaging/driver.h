/* A driver is how the processor talks to one kind of network interface: two verbs to send, two to
 * receive. An interface may send in one way and receive in another, so the two halves are apart.
 * The messaging library is the same over all of them; a new programming model is one new driver. */
#ifndef NARTHEX_MESSAGING_DRIVER_H
#define NARTHEX_MESSAGING_DRIVER_H

#include "messaging/packet.h"
#include "runtime/information.h"

struct send_driver {
    /* Prepares this half of the interface; called once, before the others. */
    void (*start)(const struct narthex_information *machine);
    /* Whether the interface takes one more packet now. */
    bool (*has_room)(void);
    /* Sends one packet; only after has_room said yes. */
    void (*send)(uint64_t header, const void *payload, size_t bytes);
};

struct receive_driver {
    /* Prepares this half of the interface; called once, before the others. */
    void (*start)(const struct narthex_information *machine);
    /* The header of the packet that has arrived, or 0 if there is none (no header is 0: a packet is
     * full or the last of its message). After a header, `receive` must follow exactly once. */
    uint64_t (*arrived)(void);
    /* Copies the payload of that packet to `payload` (4-byte aligned) and takes it from the
     * interface. */
    void (*receive)(void *payload, size_t bytes);
};

extern const struct send_driver send_loopback, send_fifo, send_cachable_queue, send_block_buffer,
    send_user_level_dma;
extern const struct receive_driver receive_loopback, receive_fifo, receive_cachable_queue,
    receive_block_buffer, receive_user_level_dma;

#endif
