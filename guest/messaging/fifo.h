/* Moving packets through two FIFOs behind uncached registers, such as NI2w, modelled on the
 * Thinking Machines CM-5 (cni-isca96 Section 3, ni-design-hpca98 Section 4).
 *
 * The processor moves every doubleword itself: it stores the header and the payload one after the
 * other to the same register, and loads them likewise at the other end. A load of the receive
 * register pops the FIFO. The interface learns a packet's length from its header and launches the
 * packet after its last doubleword. Before each packet the status register tells whether there is
 * room, or an arrival; these uncached loads are this interface's price. As in messaging/copy.h,
 * four words are moved a turn of the loops.
 *
 * Each driver whose packets take this way has these functions in it: through another driver's table
 * a short packet costs 24 cycles more. */
#ifndef NARTHEX_MESSAGING_FIFO_H
#define NARTHEX_MESSAGING_FIFO_H

#include <string.h>

#include "messaging/driver.h"

static uintptr_t registers;

static inline uint64_t load(uintptr_t offset) {
    return *(volatile uint64_t *)(registers + offset);
}

static inline void store(uintptr_t offset, uint64_t value) {
    *(volatile uint64_t *)(registers + offset) = value;
}

static inline void fifo_start(const struct narthex_information *machine) {
    registers = machine->register_page;
}

/* The next doubleword of a payload. Behind a header that is not whole doublewords it is assembled
 * from words. */
static inline uint64_t doubleword_at(const char *source, size_t extra) {
    uint64_t value;
    if ((uintptr_t)source % sizeof(doubleword) == 0)
        return *(const doubleword *)source;
    if (extra > 0 && (uintptr_t)source % sizeof(word) == 0)
        return ((const word *)source)[0] | (uint64_t)((const word *)source)[1] << 32;
    memcpy(&value, source, sizeof value);
    return value;
}

static inline void fifo_send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    const char *source = payload;
    store(REGISTER_SEND, header_out(header, extra));
    if (extra > 0) {
        size_t first = bytes < sizeof(word) ? bytes : sizeof(word);
        uint32_t value = 0;
        copy(&value, source, first);
        store(REGISTER_SEND, (uint64_t)value << 32);
        source += first;
        bytes -= first;
    }
    for (; bytes >= FOUR_WORDS_BYTES; bytes -= FOUR_WORDS_BYTES) {
        store(REGISTER_SEND, doubleword_at(source, extra));
        store(REGISTER_SEND, doubleword_at(source + sizeof(doubleword), extra));
        source += FOUR_WORDS_BYTES;
    }
    if (bytes >= sizeof(doubleword)) {
        store(REGISTER_SEND, doubleword_at(source, extra));
        source += sizeof(doubleword);
        bytes -= sizeof(doubleword);
    }
    if (bytes > 0) {
        uint64_t rest = 0;
        copy(&rest, source, bytes);
        store(REGISTER_SEND, rest);
    }
}

static inline uint64_t fifo_arrived(size_t extra) {
    return load(REGISTER_STATUS) & STATUS_ARRIVED ? header_in(load(REGISTER_RECEIVE), extra) : 0;
}

static inline void receive_doubleword(char *target) {
    uint64_t value = load(REGISTER_RECEIVE);
    ((word *)target)[0] = (uint32_t)value;
    ((word *)target)[1] = (uint32_t)(value >> 32);
}

static inline void fifo_receive(void *payload, size_t bytes, size_t extra) {
    char *target = payload;
    if (extra > 0) {
        uint32_t value = (uint32_t)(load(REGISTER_RECEIVE) >> 32);
        size_t first = bytes < sizeof(word) ? bytes : sizeof(word);
        copy(target, &value, first);
        target += first;
        bytes -= first;
    }
    for (; bytes >= FOUR_WORDS_BYTES; bytes -= FOUR_WORDS_BYTES) {
        receive_doubleword(target);
        receive_doubleword(target + sizeof(doubleword));
        target += FOUR_WORDS_BYTES;
    }
    if (bytes >= sizeof(doubleword)) {
        receive_doubleword(target);
        target += sizeof(doubleword);
        bytes -= sizeof(doubleword);
    }
    if (bytes > 0) {
        uint64_t rest = load(REGISTER_RECEIVE);
        copy(target, &rest, bytes);
    }
}

#endif
