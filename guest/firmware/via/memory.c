#include "firmware/via/memory.h"

enum { UNIT = 128 }; /* bytes; no bus has larger blocks */

/* In front of each piece of memory, free or not; pieces follow each other. */
struct piece_of_memory {
    uint64_t units; /* with this one */
    uint64_t is_used;
    char fill[UNIT - 2 * sizeof(uint64_t)];
};

static struct piece_of_memory *first, *end;
static uint64_t units_left;

void memory_start(uint64_t start, uint64_t stop) {
    first = (struct piece_of_memory *)((start + UNIT - 1) / UNIT * UNIT);
    end = (struct piece_of_memory *)(stop / UNIT * UNIT);
    first->units = (uint64_t)(end - first);
    first->is_used = 0;
    units_left = first->units;
}

/* Joins the free pieces that follow a free one. */
static void join(struct piece_of_memory *piece) {
    for (;;) {
        struct piece_of_memory *next = piece + piece->units;
        if (next >= end || next->is_used)
            return;
        piece->units += next->units;
    }
}

uint64_t memory_take(uint64_t bytes) {
    uint64_t units = (bytes + UNIT - 1) / UNIT + 1;
    for (struct piece_of_memory *piece = first; piece < end; piece += piece->units) {
        if (piece->is_used)
            continue;
        join(piece);
        if (piece->units < units)
            continue;
        if (piece->units > units) {
            struct piece_of_memory *rest = piece + units;
            rest->units = piece->units - units;
            rest->is_used = 0;
            piece->units = units;
        }
        piece->is_used = 1;
        units_left -= piece->units;
        return (uint64_t)(piece + 1);
    }
    return 0;
}

void memory_give(uint64_t address) {
    if (address == 0)
        return;
    struct piece_of_memory *piece = (struct piece_of_memory *)address - 1;
    piece->is_used = 0;
    units_left += piece->units;
}

uint64_t memory_left(void) {
    return units_left * UNIT;
}
