/* What the programs of SARC's tiles have in common: named choices, cycles, numbers of all tiles. */
#ifndef NARTHEX_PROGRAMS_SARC_WORK_H
#define NARTHEX_PROGRAMS_SARC_WORK_H

#include <errno.h>
#include <string.h>

#include "arguments.h"
#include "sarc/barriers.h"

/* The processor's cycles, read in one instruction. */
static inline uint64_t cycles_now(void) {
#ifdef __riscv
    uint64_t now;
    __asm__ volatile("rdcycle %0" : "=r"(now)::"memory");
    return now;
#else
    return narthex_cycles();
#endif
}

/* Which of the names argument `index` is; the first if it is not given. */
static inline unsigned choice(int count, char **values, int index, const char *what,
                              const char *const *names, unsigned names_count) {
    if (index >= count)
        return 0;
    char allowed[256] = "";
    for (unsigned each = 0; each < names_count; each++) {
        if (strcmp(values[index], names[each]) == 0)
            return each;
        strcat(strcat(allowed, each > 0 ? ", " : ""), names[each]);
    }
    narthex_fail("%s: argument %d (%s) is \"%s\"; allowed are %s", values[0], index, what,
                 values[index], allowed);
}

/* Argument `index` as a number of tiles: all of the chip if it is 0 or not given. */
static inline unsigned tiles_argument(int count, char **values, int index) {
    long tiles = argument(count, values, index, "tiles", 0, 128, 0);
    return tiles > 0 ? (unsigned)tiles : (unsigned)sarc_register(SARC_REGISTER_TILES);
}

/* Lines of the own tile, or the end of the run. */
static inline uint64_t *take_lines(unsigned lines) {
    uint64_t *taken = sarc_allocate(lines);
    narthex_check(taken, "tile %u has no %u lines of scratchpad: %s", sarc_tile(), lines,
                  strerror(errno));
    return taken;
}

static inline uint64_t *take_command(void) {
    uint64_t *line = take_lines(1);
    sarc_mark(line, SARC_ROLE_COMMAND);
    return line;
}

/* A word of tile 0 for each tile. All tiles take it. */
static inline uint64_t *take_table(unsigned tiles) {
    return sarc_remote(take_lines((tiles + SARC_LINE_WORDS - 1) / SARC_LINE_WORDS), 0);
}

/* The sum and the largest of a number of each tile. All tiles call it; right on tile 0 alone. */
struct of_tiles {
    uint64_t sum, largest;
};

static inline struct of_tiles of_tiles(uint64_t *table, unsigned tile, unsigned tiles,
                                       uint64_t value) {
    struct of_tiles all = {0};
    sarc_store(&table[tile], value);
    sarc_fence();
    sarc_rendezvous(tile);
    for (unsigned each = 0; tile == 0 && each < tiles; each++) {
        uint64_t one = sarc_load(&table[each]);
        all.sum += one;
        all.largest = one > all.largest ? one : all.largest;
    }
    sarc_rendezvous(tile);
    return all;
}

/* Elements of arrays in scratchpads: the prototype's processors have words of 32 bits (Section 4).
 */

/* Bytes of elements, as lines. */
static inline unsigned lines_of_bytes(size_t bytes) {
    return (unsigned)((bytes + SARC_LINE_BYTES - 1) / SARC_LINE_BYTES);
}

/* Takes elements of the own tile, or ends the run. */
static inline uint32_t *take_elements(size_t count) {
    return (uint32_t *)take_lines(lines_of_bytes(count * sizeof(uint32_t)));
}

/* The same elements of another tile. */
static inline uint32_t *elements_of(const uint32_t *elements, unsigned tile) {
    return (uint32_t *)sarc_remote((const uint64_t *)elements, tile);
}

/* What no element of a program's data is: one that has not arrived yet. */
#define NOT_YET (~UINT32_C(0))

/* The element that a remote store brings to a place where NOT_YET was. */
static inline uint32_t await_element(const uint32_t *place) {
    uint32_t element;
    while ((element = sarc_load_32(place)) == NOT_YET)
        ;
    return element;
}

#endif
