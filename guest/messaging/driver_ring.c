/* Driver for descriptor rings with doorbells (Ring); messaging/descriptor_rings.h says how it
 * works, interfaces/src/models/ring.rs what the interface does. A ring's tail is a register.
 *
 * Programs that are linked for this interface have this driver, and those that are linked for most
 * of them, as by `narthex cc` (FURTHER_DRIVER). They have the drivers of all programs as well,
 * because a half of this interface goes with halves of others. In all other programs it would move
 * code and data, and so the results of the papers' interfaces. */
#include "messaging/driver.h"

_Static_assert(REGISTER_SEND_RING_TAIL == REGISTER_SEND_RING + 24 &&
                   REGISTER_SEND_RING_THRESHOLDS == REGISTER_SEND_RING + 32 &&
                   REGISTER_RECEIVE_RING_TAIL == REGISTER_RECEIVE_RING + 24 &&
                   REGISTER_RECEIVE_RING_THRESHOLDS == REGISTER_RECEIVE_RING + 32,
               "the functions below count on it");

static inline volatile uint64_t *tail_of(volatile uint64_t *registers, char *memory,
                                         uint64_t bytes) {
    (void)memory, (void)bytes;
    return registers + 3;
}

static inline uint64_t thresholds_of(const struct narthex_information *machine,
                                     const volatile uint64_t *tail, uintptr_t place) {
    (void)machine, (void)place;
    return tail[1];
}

#include "messaging/descriptor_rings.h"

SEND_DRIVER(send_ring, start_sending, has_room, send);
RECEIVE_DRIVER(receive_ring, start_receiving, arrived, receive, NULL);
