/* The via device and its DMA engine, as this firmware drives them. */
#ifndef NARTHEX_FIRMWARE_VIA_INTERFACE_H
#define NARTHEX_FIRMWARE_VIA_INTERFACE_H

#include "firmware/devices.h"
#include "firmware/firmware.h"
#include "runtime/registers.h"

/* Limits of this firmware. The kernel agent's may be less. */
enum { VIS = 256, REGIONS = 2048, QUEUES = 128, PROCESSES = 8, CONNECTIONS = 64 };

static inline uint64_t via_load(uintptr_t offset) {
    return load_register(VIA_REGISTERS + offset);
}

static inline void via_store(uintptr_t offset, uint64_t value) {
    store_register(VIA_REGISTERS + offset, value);
}

static inline uint64_t via_status(void) {
    return via_load(REGISTER_VIA_STATUS);
}

static inline void via_wait_for(uint64_t shown) {
    while ((via_status() & shown) == 0)
        ;
}

/* What the device told at the start. */
struct machine {
    uint64_t node, nodes, block_bytes, packet_bytes, tags, places;
    bool is_eager, has_window;
    bool postpones;        /* registrations that find no room for their copy */
    uint64_t layer_cycles; /* that a message takes beside this firmware, on each side */
};
extern struct machine machine;

#endif
