/* Scratchpads: lines of a tile's second-level cache, their addresses and their roles. */
#include <errno.h>

#include "sarc/agent.h"
#include "sarc/sarc.h"

static uint64_t offset_of(const uint64_t *address) {
    return (uintptr_t)address & (SARC_WINDOW_BYTES - 1);
}

uint64_t *sarc_allocate(unsigned lines) {
    return sarc_allocate_at((unsigned)sarc_register(SARC_REGISTER_TILE), lines);
}

uint64_t *sarc_allocate_at(unsigned tile, unsigned lines) {
    uint64_t words[SARC_REQUEST_WORDS] = {tile, lines, SARC_SHARED | SARC_FIRST_LEVEL};
    errno = sarc_request(SARC_ALLOCATE, words);
    return errno == 0 ? (uint64_t *)(uintptr_t)words[3] : NULL;
}

int sarc_free(uint64_t *lines, unsigned count) {
    uint64_t words[SARC_REQUEST_WORDS] = {(uintptr_t)lines, count};
    return sarc_request(SARC_FREE, words);
}

uint64_t *sarc_remote(const uint64_t *address, unsigned tile) {
    uint64_t tiles = sarc_register(SARC_REGISTER_TILES);
    uint64_t chip = tile / tiles, place = tile % tiles;
    return (uint64_t *)(SARC_WINDOW + chip * SARC_CHIP_BYTES + place * SARC_WINDOW_BYTES +
                        offset_of(address));
}

unsigned sarc_tile_of(const uint64_t *address) {
    uint64_t offset = (uintptr_t)address - SARC_WINDOW;
    uint64_t chip = offset / SARC_CHIP_BYTES, place = offset % SARC_CHIP_BYTES / SARC_WINDOW_BYTES;
    return (unsigned)(chip * sarc_register(SARC_REGISTER_TILES) + place);
}

bool sarc_is_local(const uint64_t *address) {
    return sarc_tile_of(address) == sarc_tile();
}

uint64_t *sarc_state(const uint64_t *line) {
    uint64_t offset = offset_of(line);
    return (uint64_t *)((uintptr_t)line - offset + SARC_STATE +
                        offset / SARC_LINE_BYTES * SARC_STATE_BYTES);
}

void sarc_mark(uint64_t *line, unsigned role) {
    sarc_store(sarc_state(line), role);
    /* The first level may have the line as memory until the role is there. */
    sarc_fence();
}

bool sarc_is_marked(const uint64_t *line, unsigned role) {
    uint64_t words[SARC_REQUEST_WORDS] = {(uintptr_t)line};
    return sarc_request(SARC_QUERY, words) == 0 && (words[1] & SARC_STATE_ROLE) == role;
}

int sarc_swap_out(uint64_t *lines, unsigned count, void *buffer) {
    uint64_t words[SARC_REQUEST_WORDS] = {(uintptr_t)lines, count, (uintptr_t)buffer};
    return sarc_request(SARC_SWAP_OUT, words);
}

int sarc_swap_in(uint64_t *lines, unsigned count, const void *buffer) {
    uint64_t words[SARC_REQUEST_WORDS] = {(uintptr_t)lines, count, (uintptr_t)buffer};
    return sarc_request(SARC_SWAP_IN, words);
}

void *sarc_allocate_dram(size_t bytes) {
    uint64_t words[SARC_REQUEST_WORDS] = {bytes, SARC_SHARED};
    errno = sarc_request(SARC_DRAM_ALLOCATE, words);
    return errno == 0 ? (void *)(uintptr_t)words[2] : NULL;
}
