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

static inline void fifo_start(const struct narthex_information *machine) {
    registers = machine->register_page;
}

/* The register's address is a variable of the loops below: what they store might change a static
 * one, as far as the compiler knows, and would have it loaded for each doubleword. */
static inline volatile uint64_t *fifo_at(uintptr_t offset) {
    return (volatile uint64_t *)(registers + offset);
}

/* What a payload is aligned to, which is asked once. */
enum alignment { DOUBLEWORDS, WORDS, BYTES };

static inline enum alignment alignment_of(const char *source) {
    if ((uintptr_t)source % sizeof(doubleword) == 0)
        return DOUBLEWORDS;
    return (uintptr_t)source % sizeof(word) == 0 ? WORDS : BYTES;
}

/* The next doubleword of a payload; of one that is less aligned, assembled. */
static inline uint64_t doubleword_at(const char *source, enum alignment alignment) {
    uint64_t value;
    if (alignment == DOUBLEWORDS)
        return *(const doubleword *)source;
    if (alignment == WORDS)
        return ((const word *)source)[0] | (uint64_t)((const word *)source)[1] << 32;
    memcpy(&value, source, sizeof value);
    return value;
}

/* Whether the first of the bytes are a word that one access moves, as nearly all payloads have. */
static inline bool is_whole_word(const char *at, size_t bytes) {
    return bytes >= sizeof(word) && (uintptr_t)at % sizeof(word) == 0;
}

/* Stores all whole doublewords of a payload, whose alignment is a constant here. */
static inline void store_doublewords(volatile uint64_t *fifo, const char *source, size_t bytes,
                                     enum alignment alignment) {
    const char *last_two = source + bytes / FOUR_WORDS_BYTES * FOUR_WORDS_BYTES;
    for (; source != last_two; source += FOUR_WORDS_BYTES) {
        *fifo = doubleword_at(source, alignment);
        *fifo = doubleword_at(source + sizeof(doubleword), alignment);
    }
    if (bytes & sizeof(doubleword))
        *fifo = doubleword_at(source, alignment);
}

static inline void fifo_send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    volatile uint64_t *fifo = fifo_at(REGISTER_SEND);
    const char *source = payload;
    *fifo = header_out(header, extra);
    if (extra > 0) {
        size_t first = sizeof(word);
        uint32_t value = 0;
        if (is_whole_word(source, bytes)) {
            value = *(const word *)source;
        } else {
            first = smaller(bytes, sizeof(word));
            copy(&value, source, first);
        }
        *fifo = (uint64_t)value << 32;
        source += first;
        bytes -= first;
    }
    switch (alignment_of(source)) {
    case DOUBLEWORDS:
        store_doublewords(fifo, source, bytes, DOUBLEWORDS);
        break;
    case WORDS:
        store_doublewords(fifo, source, bytes, WORDS);
        break;
    case BYTES:
        store_doublewords(fifo, source, bytes, BYTES);
        break;
    }
    size_t left = bytes % sizeof(doubleword);
    if (left > 0) {
        uint64_t rest = 0;
        copy(&rest, source + bytes - left, left);
        *fifo = rest;
    }
}

static inline uint64_t fifo_arrived(size_t extra) {
    return load(REGISTER_STATUS) & STATUS_ARRIVED ? header_in(load(REGISTER_RECEIVE), extra) : 0;
}

static inline void receive_doubleword(const volatile uint64_t *fifo, char *target) {
    uint64_t value = *fifo;
    ((word *)target)[0] = (uint32_t)value;
    ((word *)target)[1] = (uint32_t)(value >> 32);
}

static inline void fifo_receive(void *payload, size_t bytes, size_t extra) {
    const volatile uint64_t *fifo = fifo_at(REGISTER_RECEIVE);
    char *target = payload;
    if (extra > 0) {
        size_t first = sizeof(word);
        uint32_t value = (uint32_t)(*fifo >> 32);
        if (is_whole_word(target, bytes)) {
            *(word *)target = value;
        } else {
            first = smaller(bytes, sizeof(word));
            copy(target, &value, first);
        }
        target += first;
        bytes -= first;
    }
    for (; bytes >= FOUR_WORDS_BYTES; bytes -= FOUR_WORDS_BYTES) {
        receive_doubleword(fifo, target);
        receive_doubleword(fifo, target + sizeof(doubleword));
        target += FOUR_WORDS_BYTES;
    }
    if (bytes >= sizeof(doubleword)) {
        receive_doubleword(fifo, target);
        target += sizeof(doubleword);
        bytes -= sizeof(doubleword);
    }
    if (bytes > 0) {
        uint64_t rest = *fifo;
        copy(target, &rest, bytes);
    }
}

#endif
