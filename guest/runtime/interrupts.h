/* Sleeping until an interface interrupts. */
#ifndef NARTHEX_RUNTIME_INTERRUPTS_H
#define NARTHEX_RUNTIME_INTERRUPTS_H

#include <stdint.h>

#include "runtime/simulator_calls.h"

/* Sleeps until the interface interrupts by the vector, or until a time. An interrupt that has come
 * since the last sleep ends it at once. */
static inline void sleep_until_interrupt(uint64_t vector, uint64_t until_ns) {
#ifdef __riscv
    register uint64_t a0 __asm__("a0") = vector;
    register uint64_t a1 __asm__("a1") = until_ns;
    register long a7 __asm__("a7") = CALL_WAIT_FOR_INTERRUPT;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a7) : "memory");
#else
    (void)vector, (void)until_ns; /* natively no interface interrupts */
#endif
}

#endif
