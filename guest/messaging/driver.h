/* A driver is how the processor talks to one kind of network interface: five verbs. The messaging
 * library is the same over all of them; a new programming model is one new driver. */
#ifndef NARTHEX_MESSAGING_DRIVER_H
#define NARTHEX_MESSAGING_DRIVER_H

#include "messaging/packet.h"
#include "runtime/information.h"

struct driver {
    /* Prepares the interface; called once, before all others. */
    void (*start)(const struct narthex_information *machine);
    /* Whether the interface takes one more packet now. */
    bool (*has_room)(void);
    /* Sends one packet; only after has_room said yes. */
    void (*send)(uint64_t header, const void *payload, size_t bytes);
    /* The header of the packet that has arrived, or 0 if there is none (no header is 0: a packet is
     * full or the last of its message). After a header, `receive` must follow exactly once. */
    uint64_t (*arrived)(void);
    /* Copies the payload of that packet to `payload` (4-byte aligned) and takes it from the
     * interface. */
    void (*receive)(void *payload, size_t bytes);
};

extern const struct driver driver_loopback;
extern const struct driver driver_fifo;
extern const struct driver driver_cachable_queue;

#endif
