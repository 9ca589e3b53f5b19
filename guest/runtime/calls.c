/* What a program tells the world: results, failures, measured regions.
 *
 * Inside the simulator these are system calls of its own, with numbers no Linux uses; elsewhere
 * results are printed to standard output and failures to standard error. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/messages.h"
#include "runtime/information.h"
#include "runtime/simulator_calls.h"

enum { HANDLER_BYTES = 128 }; /* for the name of the handler in which something failed */

#ifdef __riscv
static void simulator_call(long number, uint64_t first, uint64_t second, uint64_t third) {
    register uint64_t a0 __asm__("a0") = first;
    register uint64_t a1 __asm__("a1") = second;
    register uint64_t a2 __asm__("a2") = third;
    register long a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
}
#else
static void simulator_call(long number, uint64_t first, uint64_t second, uint64_t third) {
    (void)number, (void)first, (void)second, (void)third; /* never simulated */
}
#endif

void narthex_report(const char *name, double value, const char *unit) {
    if (!narthex_is_simulated()) {
        printf("%s: %.12g %s\n", name, value, unit); /* as many digits as tests compare */
        return;
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    simulator_call(CALL_REPORT, (uintptr_t)name, bits, (uintptr_t)unit);
}

void narthex_fail(const char *format, ...) {
    static char message[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message - HANDLER_BYTES, format, arguments);
    va_end(arguments);
    strncat(message, describe_running_handler(), HANDLER_BYTES - 1);
    fflush(stdout);
    if (narthex_is_simulated())
        simulator_call(CALL_FAIL, (uintptr_t)message, 0, 0);
    fprintf(stderr, "failed: %s\n", message);
    exit(1);
}

static void region(const char *name, int edge) {
    if (narthex_is_simulated())
        simulator_call(CALL_REGION, (uintptr_t)name, (uint64_t)edge, 0);
}

void narthex_region_begin(const char *name) {
    region(name, REGION_BEGIN);
}

void narthex_region_end(const char *name) {
    region(name, REGION_END);
}
