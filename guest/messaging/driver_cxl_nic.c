/* Driver for descriptor rings whose tails the interface watches (CxlNic);
 * messaging/descriptor_rings.h says how it works, interfaces/src/models/cxl_nic.rs what the
 * interface does. A ring's tail is a word of memory in a block of its own, behind the buffers. The
 * store to it takes the block from the interface, which reads it again: no register is stored to
 * after the start.
 *
 * Linked as the driver of Ring is (driver_ring.c). */
#include "messaging/driver.h"

static inline volatile uint64_t *tail_of(volatile uint64_t *registers, char *memory,
                                         uint64_t bytes) {
    (void)registers;
    return (volatile uint64_t *)(void *)(memory + bytes);
}

static inline uint64_t thresholds_of(const struct narthex_information *machine,
                                     const volatile uint64_t *tail, uintptr_t place) {
    (void)tail;
    return *(volatile uint64_t *)(uintptr_t)(machine->register_page + place);
}

#include "messaging/descriptor_rings.h"

SEND_DRIVER(send_cxl_nic, start_sending, has_room, send);
RECEIVE_DRIVER(receive_cxl_nic, start_receiving, arrived, receive, NULL);
