/* Moves packets between a node's interface and its network, by the registers of the forwarder
 * (interfaces/src/forwarder.rs).
 *
 * It waits for packets, with interrupts masked: one loop serves both directions, and neither needs
 * to interrupt the other. A packet that cannot be written yet is not read, so that it holds its
 * place on its own side; then the loop waits for room too. */
#include "firmware/devices.h"
#include "firmware/firmware.h"
#include "runtime/marker.h"

enum { DOUBLEWORD_BYTES = 8 };

/* A direction: where its packets are read and written, and what STATUS shows of both. */
struct direction {
    uintptr_t receive;
    uintptr_t send;
    uint64_t waits;
    uint64_t room;
};

static const struct direction TO_NETWORK = {
    FORWARDER_REGISTERS + REGISTER_FORWARDER_HOST_RECEIVE,
    FORWARDER_REGISTERS + REGISTER_FORWARDER_NETWORK_SEND, FORWARDER_FROM_HOST,
    FORWARDER_NETWORK_ROOM};

static const struct direction TO_HOST = {
    FORWARDER_REGISTERS + REGISTER_FORWARDER_NETWORK_RECEIVE,
    FORWARDER_REGISTERS + REGISTER_FORWARDER_HOST_SEND, FORWARDER_FROM_NETWORK,
    FORWARDER_HOST_ROOM};

static uint64_t status(void) {
    return load_register(FORWARDER_REGISTERS + REGISTER_FORWARDER_STATUS);
}

/* Bytes of payload, as the header counts them (fabrics/src/packet.rs). */
static unsigned payload_bytes(uint64_t header) {
    return header >> 16 & 0xff;
}

/* The process, the header and the payload of one packet. */
static inline void forward(const struct direction *direction) {
    store_register(direction->send, load_register(direction->receive));
    uint64_t header = load_register(direction->receive);
    store_register(direction->send, header);
    for (int left = (int)payload_bytes(header); left > 0; left -= DOUBLEWORD_BYTES)
        store_register(direction->send, load_register(direction->receive));
}

static bool can_forward(const struct direction *direction, uint64_t shown) {
    uint64_t needed = direction->waits | direction->room;
    return (shown & needed) == needed;
}

/* What to wait for: a packet, or where one waits already, room for it. */
static uint64_t awaited(const struct direction *direction, uint64_t shown) {
    return shown & direction->waits ? direction->room : direction->waits;
}

int main(void) {
    for (;;) {
        uint64_t shown = status();
        if (can_forward(&TO_NETWORK, shown)) {
            ENTER(ACTIVITY_SEND);
            forward(&TO_NETWORK);
            LEAVE();
        } else if (can_forward(&TO_HOST, shown)) {
            ENTER(ACTIVITY_RECEIVE);
            forward(&TO_HOST);
            LEAVE();
        } else {
            uint64_t lines = awaited(&TO_NETWORK, shown) | awaited(&TO_HOST, shown);
            enable_lines(lines);
            wait_for_interrupt();
            disable_lines(lines);
        }
    }
}
