/* Waiting for messages: by an interrupt, where the interface has one, else by polling.
 *
 *   poll ─► nothing ─► enable the interrupt ─► read it back ─► look again ─► nothing ─► sleep ─►
 * poll
 *
 * The interrupt is an edge: a packet that came between the poll and the store that enables it
 * interrupts nobody, so the program looks again. The store is posted; reading it back waits until
 * it is at the interface, so that what the look misses comes behind it, and interrupts.
 *
 * It is a file of its own, which only programs link that wait so. */
#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "messaging/packets.h"
#include "runtime/marker.h"
#include "runtime/simulator_calls.h"

enum { VECTOR = 0 };

/* Sleeps until the interface interrupts by the vector, or until a time. */
static void sleep_until(uint64_t until_ns) {
#ifdef __riscv
    register uint64_t a0 __asm__("a0") = VECTOR;
    register uint64_t a1 __asm__("a1") = until_ns;
    register long a7 __asm__("a7") = CALL_WAIT_FOR_INTERRUPT;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a7) : "memory");
#else
    (void)until_ns; /* natively no interface interrupts */
#endif
}

/* The register of the interrupt; NULL where the machine's interface has none. */
static volatile uint64_t *find_interrupt(void) {
    const struct narthex_information *machine = narthex_information();
    if (machine->receive_driver != DRIVER_RING)
        return NULL;
    volatile uint64_t *interrupt =
        (volatile uint64_t *)(uintptr_t)(machine->register_page + REGISTER_RECEIVE_RING_INTERRUPT);
    return *interrupt & RING_INTERRUPT_PRESENT ? interrupt : NULL;
}

static void wait_for_interrupt(volatile uint64_t *interrupt, uint64_t until_ns) {
    *interrupt = RING_INTERRUPT_ENABLED;
    /* If it is disabled again, a message is under way, and the sleep is short. */
    (void)*interrupt;
    if (packets_receiver.arrived() == 0)
        sleep_until(until_ns);
    else
        *interrupt = 0;
}

int narthex_wait(uint64_t until_ns) {
    static volatile uint64_t *interrupt;
    static bool is_known;
    if (!is_known) {
        interrupt = find_interrupt();
        is_known = true;
    }
    int messages;
    ENTER(ACTIVITY_POLL);
    while ((messages = narthex_poll()) == 0 && narthex_time_ns() < until_ns)
        if (interrupt)
            wait_for_interrupt(interrupt, until_ns);
    LEAVE();
    return messages;
}
