/* Payloads that are told apart without being compared while time is measured. A sender prepares
 * as many as its cache holds and sends them in turn; each says which one it is, its slot. The
 * receiver keeps what arrives where the library put it, and checks it when the clock stands. */
#ifndef NARTHEX_PROGRAMS_PAYLOAD_SLOTS_H
#define NARTHEX_PROGRAMS_PAYLOAD_SLOTS_H

#include <stdlib.h>

#include "pattern.h"

enum {
    SENT_BYTES = 64 * 1024, /* payloads prepared by the sender */
    SLOTS_LIMIT = 251       /* prepared payloads; their number fits in a byte */
};

static char *payload_memory(size_t bytes) {
    char *memory = malloc(bytes);
    narthex_check(memory, "node %d has no memory for %zu bytes", narthex_node(), bytes);
    return memory;
}

static size_t message_bytes;
static long slots; /* different payloads */
static long slot_arrivals[SLOTS_LIMIT];

/* A payload's first byte is its slot's number, the rest a pattern of that number. */
static void prepare(char *payload, long slot) {
    pattern_fill(payload, message_bytes, (uint64_t)slot);
    payload[0] = (char)slot;
}

/* Fails unless every byte is that of the payload's slot; counts it. */
static void check(const char *payload) {
    static char *right;
    long slot = (unsigned char)payload[0];
    if (!right && !(right = malloc(message_bytes)))
        narthex_fail("node %d has no memory for %zu bytes", narthex_node(), message_bytes);
    narthex_check(slot < slots, "node %d received payload %ld of %ld", narthex_node(), slot, slots);
    prepare(right, slot);
    narthex_check(memcmp(payload, right, message_bytes) == 0,
                  "node %d: a payload of slot %ld arrived changed", narthex_node(), slot);
    slot_arrivals[slot] += 1;
}

/* Fails unless each slot has arrived as often as it is sent among `expected` messages. */
static void check_arrivals(long expected) {
    for (long slot = 0; slot < slots; slot++) {
        long right = expected / slots + (slot < expected % slots);
        narthex_check(slot_arrivals[slot] == right,
                      "node %d received payload %ld %ld times instead of %ld times", narthex_node(),
                      slot, slot_arrivals[slot], right);
    }
}

/* Fills memory with all payloads, one after the other. */
static void prepare_payloads(char *payloads, size_t stride) {
    for (long slot = 0; slot < slots; slot++)
        prepare(payloads + (size_t)slot * stride, slot);
}

static long count_slots(size_t stride) {
    long fit = SENT_BYTES / (long)stride;
    return fit < 2 ? 2 : fit > SLOTS_LIMIT ? SLOTS_LIMIT : fit;
}

#endif
