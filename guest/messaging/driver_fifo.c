/* Driver for interfaces with two FIFOs behind uncached registers, such as NI2w, modelled on the
 * Thinking Machines CM-5 (cni-isca96 Section 3, ni-design-hpca98 Section 4).
 *
 * The processor moves every doubleword itself: it stores the header and the payload one after the
 * other to the same register, and loads them likewise at the other end. A load of the receive
 * register pops the FIFO. The interface learns a packet's length from its header and launches the
 * packet after its last doubleword. Before each packet the status register tells whether there is
 * room, or an arrival; these uncached loads are this interface's price. */
#include <string.h>

#include "messaging/copy.h"
#include "messaging/driver.h"

static uintptr_t registers;

static inline uint64_t load(uintptr_t offset) {
    return *(volatile uint64_t *)(registers + offset);
}

static inline void store(uintptr_t offset, uint64_t value) {
    *(volatile uint64_t *)(registers + offset) = value;
}

static void start(const struct narthex_information *machine) {
    registers = machine->register_page;
}

static bool has_room(void) {
    return load(REGISTER_STATUS) & STATUS_ROOM;
}

static void send(uint64_t header, const void *payload, size_t bytes) {
    const char *source = payload;
    store(REGISTER_SEND, header);
    for (; bytes >= sizeof(doubleword); bytes -= sizeof(doubleword)) {
        uint64_t value;
        if ((uintptr_t)source % sizeof(doubleword) == 0)
            value = *(const doubleword *)source;
        else
            memcpy(&value, source, sizeof value);
        store(REGISTER_SEND, value);
        source += sizeof(doubleword);
    }
    if (bytes > 0) {
        uint64_t rest = 0;
        memcpy(&rest, source, bytes);
        store(REGISTER_SEND, rest);
    }
}

static uint64_t arrived(void) {
    return load(REGISTER_STATUS) & STATUS_ARRIVED ? load(REGISTER_RECEIVE) : 0;
}

static void receive(void *payload, size_t bytes) {
    char *target = payload;
    for (; bytes >= sizeof(doubleword); bytes -= sizeof(doubleword)) {
        uint64_t value = load(REGISTER_RECEIVE);
        ((word *)target)[0] = (uint32_t)value;
        ((word *)target)[1] = (uint32_t)(value >> 32);
        target += sizeof(doubleword);
    }
    if (bytes > 0) {
        uint64_t rest = load(REGISTER_RECEIVE);
        memcpy(target, &rest, bytes);
    }
}

const struct send_driver send_fifo = {start, has_room, send};
const struct receive_driver receive_fifo = {start, arrived, receive};
