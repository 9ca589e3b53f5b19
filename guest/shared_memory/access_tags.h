/* The hardware of fine-grain access control, as the simulator has it: tagged memory at a fixed
 * address, a register that sets the tag of a block, and a user-level trap for the accesses that a
 * tag forbids (RISC-V's extension "N"; the registers' numbers are its own). */
#ifndef NARTHEX_SHARED_MEMORY_ACCESS_TAGS_H
#define NARTHEX_SHARED_MEMORY_ACCESS_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/protocol.h"

/* Where the segment is on a machine of several nodes, or the next page whose colours are free. */
#define TAGGED_MEMORY_START UINT64_C(0x20000000)

/* Makes `bytes` bytes from TAGGED_MEMORY_START on tagged memory, zero and every tag none, and has
 * the accesses that tags forbid served by segment_fault. Ends the run if the machine cannot. */
void *access_tags_start(size_t bytes, size_t block_bytes);

/* Sets the tag of the block at `block`, in tagged memory. */
static inline void access_tags_set(const void *block, enum narthex_tag tag) {
#ifdef __riscv
    __asm__ volatile("csrw 0x800, %0" ::"r"((uintptr_t)block | tag) : "memory");
#else
    (void)block, (void)tag; /* natively there is one node, and nothing is tagged */
#endif
}

#endif
