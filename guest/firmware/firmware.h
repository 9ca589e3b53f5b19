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
#include "runtime/simulator_calls.h"

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

/* What firmware tells the user. A call takes no time but that of its instructions. A text that is
 * not in the firmware's memory ends the run. */

static inline void firmware_call(long number, uint64_t first, uint64_t second, uint64_t third) {
    register uint64_t a0 __asm__("a0") = first;
    register uint64_t a1 __asm__("a1") = second;
    register uint64_t a2 __asm__("a2") = third;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
}

/* Adds a number to the run's reports, as a program's narthex_report does: `name` says what it is,
 * `unit` in what. Firmware has no floating point. */
static inline void firmware_report(const char *name, uint64_t value, const char *unit) {
    firmware_call(CALL_COUNT, (uintptr_t)name, value, (uintptr_t)unit);
}

/* Begin and end of a named region of this processor's time, reported on its own. Regions may nest.
 * The end of one that has not begun ends the run. */
static inline void firmware_region_begin(const char *name) {
    firmware_call(CALL_REGION, (uintptr_t)name, REGION_BEGIN, 0);
}

static inline void firmware_region_end(const char *name) {
    firmware_call(CALL_REGION, (uintptr_t)name, REGION_END, 0);
}

/* Writes bytes where the program's output appears, marked with the node and "firmware";
 * firmware/print.h has a printf above it. */
static inline void firmware_write(const char *bytes, size_t count) {
    enum { LINUX_WRITE = 64, STANDARD_OUTPUT = 1 };
    firmware_call(LINUX_WRITE, STANDARD_OUTPUT, (uintptr_t)bytes, count);
}

/* Simulated time. */
static inline uint64_t time_ns(void) {
    uint64_t value;
    __asm__ volatile("csrr %0, " CSR_TIME : "=r"(value));
    return value;
}

#endif
