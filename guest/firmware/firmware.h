/* What firmware has besides C: device registers, interrupts and the caches of its processor.
 *
 * Firmware has no system below it and no C library; memcpy, memmove, memset and memcmp are in
 * guest/firmware/runtime. It begins at `main`. Where it defines `handle_interrupt`, that is called
 * for each line that is enabled and asserted, with further interrupts masked until it returns. Once
 * `main` has returned, nothing but that is called. */
#ifndef NARTHEX_FIRMWARE_H
#define NARTHEX_FIRMWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/cache_blocks.h"

/* The registers of RISC-V's extension N, by their numbers: assemblers do not know the names. */
#define CSR_USTATUS "0x000"
#define CSR_UIE "0x004"
#define CSR_UIP "0x044"
#define CSR_CYCLE "0xc00"
#define CSR_TIME "0xc01"

/* The bit of interrupt line 0 in UIE and UIP. */
enum { FIRST_LINE = 16 };

/* Called for an interrupt of this line; the firmware defines it. */
void handle_interrupt(unsigned line);

/* Marks functions for what is seldom: they lie behind all others (firmware.ld). */
#define SELDOM __attribute__((section(".seldom")))

static inline uint64_t load_register(uintptr_t address) {
    return *(volatile uint64_t *)address;
}

static inline void store_register(uintptr_t address, uint64_t value) {
    *(volatile uint64_t *)address = value;
}

/* Lets these interrupt lines, by bit, call the handler and end waiting. */
static inline void enable_lines(uint64_t lines) {
    __asm__ volatile("csrs " CSR_UIE ", %0" ::"r"(lines << FIRST_LINE) : "memory");
}

static inline void disable_lines(uint64_t lines) {
    __asm__ volatile("csrc " CSR_UIE ", %0" ::"r"(lines << FIRST_LINE) : "memory");
}

/* The lines that devices assert now, enabled or not. */
static inline uint64_t asserted_lines(void) {
    uint64_t value;
    __asm__ volatile("csrr %0, " CSR_UIP : "=r"(value)::"memory");
    return value >> FIRST_LINE;
}

static inline void enable_interrupts(void) {
    __asm__ volatile("csrsi " CSR_USTATUS ", 1" ::: "memory");
}

static inline void disable_interrupts(void) {
    __asm__ volatile("csrci " CSR_USTATUS ", 1" ::: "memory");
}

/* Stops the processor until an enabled line is asserted. Whether interrupts are enabled does not
 * matter: firmware may wait with them masked, and look which line it was. */
static inline void wait_for_interrupt(void) {
    __asm__ volatile("wfi" ::: "memory");
}

/* Cycles of the processor since the run began. */
static inline uint64_t cycle_count(void) {
    uint64_t value;
    __asm__ volatile("csrr %0, " CSR_CYCLE : "=r"(value)::"memory");
    return value;
}

/* Simulated time. */
static inline uint64_t time_ns(void) {
    uint64_t value;
    __asm__ volatile("csrr %0, " CSR_TIME : "=r"(value));
    return value;
}

#endif
