/* The program's clocks: simulated time and processor cycles, or the host's where there is no
 * simulator. */
#include <time.h>

#include "messaging/narthex.h"
#include "runtime/information.h"

static uint64_t host_time_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#ifdef __riscv

uint64_t narthex_time_ns(void) {
    if (!narthex_is_simulated())
        return host_time_ns();
    uint64_t now;
    __asm__ volatile("rdtime %0" : "=r"(now)::"memory");
    return now;
}

uint64_t narthex_cycles(void) {
    uint64_t now;
    __asm__ volatile("rdcycle %0" : "=r"(now)::"memory");
    return now;
}

#else

uint64_t narthex_time_ns(void) {
    return host_time_ns();
}

uint64_t narthex_cycles(void) {
    return host_time_ns();
}

#endif

void narthex_pause(uint64_t cycles) {
    uint64_t start = narthex_cycles();
    while (narthex_cycles() - start < cycles)
        ;
}
