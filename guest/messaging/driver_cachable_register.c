/* Driver for cachable device registers (CNI4 and its kind; cni-isca96 Sections 2.1 and 3).
 *
 * A few blocks on each side are registers of the interface that the processor caches: it writes a
 * packet to them, or reads one from them, a block at a time over the bus. They are used again for
 * the next packet, and that takes a handshake, because the processor may hold copies of the old
 * one:
 *
 *   1. it clears the receive registers by an uncached store;
 *   2. a barrier makes sure that the store has reached the interface;
 *   3. the status register shows no packet until the interface has made the copies go.
 *
 * Towards the network the status register shows no room until the interface has read what was
 * written. Registers that are smaller than a packet show it in parts, each with its handshake. */
#include "messaging/driver.h"

#ifdef __riscv
#define DEVICE_BARRIER() __asm__ volatile("fence iorw, iorw" ::: "memory")
#else
#define DEVICE_BARRIER() COMPILER_BARRIER()
#endif

static uintptr_t registers; /* the uncached ones */

/* The cachable registers of one side. */
struct window {
    char *start;
    size_t bytes;
};

static struct window out, in;

static struct window window_of(uint64_t start, uint64_t blocks, uint64_t block_bytes) {
    return (struct window){(char *)(uintptr_t)start, blocks * block_bytes};
}

static void start_sending(const struct narthex_information *machine) {
    registers = machine->register_page;
    out = window_of(machine->send_queue, machine->send_entries, machine->block_bytes);
}

static void start_receiving(const struct narthex_information *machine) {
    registers = machine->register_page;
    in = window_of(machine->receive_queue, machine->receive_entries, machine->block_bytes);
}

static inline uint64_t status(void) {
    return *(volatile uint64_t *)(registers + REGISTER_STATUS);
}

static inline void store(uintptr_t offset) {
    COMPILER_BARRIER();
    *(volatile uint64_t *)(registers + offset) = 1;
    COMPILER_BARRIER();
}

static bool has_room(void) {
    return status() & STATUS_ROOM;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    const char *source = payload;
    char *to = out.start + sizeof header;
    size_t room = out.bytes - sizeof header - extra;
    *(volatile uint64_t *)out.start = header_out(header, extra);
    while (bytes > room) {
        copy_out(to, source, room, extra);
        store(REGISTER_MESSAGE_READY);
        source += room;
        bytes -= room;
        to = out.start;
        room = out.bytes;
        extra = 0;
        while (!has_room())
            continue;
    }
    copy_out(to, source, bytes, extra);
    store(REGISTER_MESSAGE_READY);
}

static inline uint64_t arrived(size_t extra) {
    return status() & STATUS_ARRIVED ? header_in(*(volatile uint64_t *)in.start, extra) : 0;
}

static inline void clear(void) {
    store(REGISTER_CLEAR);
    DEVICE_BARRIER();
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    char *target = payload;
    const char *from = in.start + sizeof(uint64_t);
    size_t shown = in.bytes - sizeof(uint64_t) - extra;
    while (bytes > shown) {
        copy_in(target, from, shown, extra);
        clear();
        target += shown;
        bytes -= shown;
        from = in.start;
        shown = in.bytes;
        extra = 0;
        while (!(status() & STATUS_ARRIVED))
            continue;
        COMPILER_BARRIER();
    }
    copy_in(target, from, bytes, extra);
    clear();
}

SEND_DRIVER(send_cachable_register, start_sending, has_room, send);
RECEIVE_DRIVER(receive_cachable_register, start_receiving, arrived, receive, NULL);
