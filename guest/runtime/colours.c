#include "runtime/colours.h"

#include <stdbool.h>

#include "messaging/narthex.h"
#include "runtime/information.h"

#ifdef __riscv
#include <elf.h>
#include <sys/auxv.h>
#endif

enum {
    TAKEN_LIMIT = 32,
    PAGE_BYTES = 4096,
    STACK_BYTES = 4 * PAGE_BYTES /* what calls use of it over and over */
};

/* Taken addresses; their colours are. */
struct range {
    uintptr_t begin;
    size_t bytes;
};

static struct range taken[TAKEN_LIMIT];
static int taken_count;
static size_t taken_bytes;
static size_t colours_bytes; /* of the cache's way; 0: not known, as natively */

static void add(uintptr_t address, size_t bytes) {
    if (bytes == 0)
        return;
    narthex_check(taken_count < TAKEN_LIMIT, "more than %d pieces of memory have their colours",
                  TAKEN_LIMIT);
    taken[taken_count++] = (struct range){address, bytes};
    taken_bytes += bytes;
}

/* The program's segments but for its instructions, which the data cache does not hold. */
static void take_program(void) {
#ifdef __riscv
    const Elf64_Phdr *segment = (const void *)getauxval(AT_PHDR);
    for (unsigned long left = getauxval(AT_PHNUM); left > 0; left--, segment++)
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_X))
            add(segment->p_vaddr, segment->p_memsz);
#endif
}

static void take_stack(void) {
    uintptr_t page = (uintptr_t)__builtin_frame_address(0) / PAGE_BYTES * PAGE_BYTES;
    add(page + PAGE_BYTES - STACK_BYTES, STACK_BYTES);
}

static void take_queues(const struct narthex_information *machine) {
    add(machine->send_queue, machine->send_entries * machine->entry_bytes);
    add(machine->receive_queue, machine->receive_entries * machine->entry_bytes);
    add(machine->send_tail, machine->receive_head + machine->block_bytes - machine->send_tail);
}

static void start(void) {
    static bool has_started;
    if (has_started)
        return;
    has_started = true;
    const struct narthex_information *machine = narthex_information();
    colours_bytes = machine->colours_bytes;
    take_program();
    take_stack();
    take_queues(machine);
}

/* How far behind the colour of `from` that of `to` is. */
static size_t distance(uintptr_t from, uintptr_t to) {
    return (to - from) % colours_bytes;
}

/* How far `bytes` bytes at `address` must move on to be off a range's colours. */
static size_t overlap(uintptr_t address, size_t bytes, const struct range *range) {
    bool meets =
        distance(range->begin, address) < range->bytes || distance(address, range->begin) < bytes;
    return meets ? distance(address, range->begin + range->bytes) : 0;
}

static size_t largest_overlap(uintptr_t address, size_t bytes) {
    size_t largest = 0;
    for (const struct range *range = taken; range != taken + taken_count; range++) {
        size_t move = overlap(address, bytes, range);
        largest = move > largest ? move : largest;
    }
    return largest;
}

static uintptr_t align(uintptr_t address, size_t alignment) {
    return (address + alignment - 1) / alignment * alignment;
}

uintptr_t colours_place(uintptr_t from, size_t bytes, size_t alignment) {
    start();
    uintptr_t first = align(from, alignment), place = first;
    while (colours_bytes > 0 && place - first < colours_bytes) {
        size_t move = largest_overlap(place, bytes);
        if (move == 0)
            return place;
        place = align(place + move, alignment);
    }
    return first;
}

void colours_take(uintptr_t address, size_t bytes) {
    start();
    if (colours_bytes > 0 && taken_bytes + bytes <= colours_bytes / 4 * 3)
        add(address, bytes);
}
