/* Waiting for messages: by an interrupt, where the interface has one, else by polling.
 *
 *   poll ─► nothing ─► ask for an interrupt ─► look again ─► nothing ─► sleep ─► poll
 *
 * The interrupt is an edge: a packet that came between the poll and the store that asks for it
 * interrupts nobody, so the program looks again, behind that store. Ring is asked by a register:
 * the store is posted, and reading it back waits until it is at the interface. Virtio is asked by a
 * word of memory, so there is a fence. What the look misses then comes behind it, and interrupts.
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

/* A fence between what asks for an interrupt and the look behind it. */
#ifdef __riscv
#define STORES_BEFORE_LOADS() __asm__ volatile("fence w, r" ::: "memory")
#else
#define STORES_BEFORE_LOADS() __asm__ volatile("" ::: "memory")
#endif

/* How an interface is asked for an interrupt, and how that is taken back. */
struct asking {
    void (*enable)(void);
    void (*disable)(void);
    bool stays_enabled; /* behind its message */
};

/* Ring: a register of each receive queue */

static volatile uint64_t *interrupt; /* of queue 0 */
static uint64_t queues;

static volatile uint64_t *interrupt_of(uint64_t queue) {
    if (queue == 0)
        return interrupt;
    return interrupt + ((REGISTER_FURTHER_RECEIVE_QUEUE - REGISTER_RECEIVE_RING) +
                        (queue - 1) * RECEIVE_QUEUE_STRIDE) /
                           sizeof *interrupt;
}

static void store_to_queues(uint64_t value) {
    for (uint64_t queue = queues; queue-- > 0;)
        *interrupt_of(queue) = value;
}

static void enable_rings(void) {
    store_to_queues(RING_INTERRUPT_ENABLED);
    /* If it is disabled again, a message is under way, and the sleep is short. */
    (void)*interrupt;
}

static void disable_rings(void) {
    store_to_queues(0);
}

static const struct asking RINGS = {enable_rings, disable_rings, false};

/* All queues interrupt by one vector, as one thread waits for them. */
static const struct asking *find_rings(uintptr_t page) {
    interrupt = (volatile uint64_t *)(page + REGISTER_RECEIVE_RING_INTERRUPT);
    if (!(*interrupt & RING_INTERRUPT_PRESENT))
        return NULL;
    queues = *(volatile uint64_t *)(page + REGISTER_RECEIVE_QUEUES);
    for (uint64_t queue = 1; queue < queues; queue++)
        interrupt_of(queue)[1] = VECTOR;
    return &RINGS;
}

_Static_assert(REGISTER_RECEIVE_RING_VECTOR == REGISTER_RECEIVE_RING_INTERRUPT + 8,
               "find_rings counts on it");

/* Virtio: a flag of the available ring, or used_event behind it */

static volatile uint16_t *flags, *used_event;
static const volatile uint16_t *used_index;

static void enable_event(void) {
    *used_event = *used_index;
    STORES_BEFORE_LOADS();
}

static void leave_event(void) {}

static void enable_flag(void) {
    *flags = 0;
    STORES_BEFORE_LOADS();
}

static void disable_flag(void) {
    *flags = VIRTQ_AVAIL_F_NO_INTERRUPT;
}

static const struct asking EVENT = {enable_event, leave_event, false},
                           FLAG = {enable_flag, disable_flag, true};

static const struct asking *find_virtqueue(uintptr_t page) {
    uint64_t thresholds = *(volatile uint64_t *)(page + REGISTER_VIRTIO_RECEIVE_THRESHOLDS);
    if (!(thresholds & VIRTIO_INTERRUPTS))
        return NULL;
    uint64_t entries = *(volatile uint64_t *)(page + REGISTER_VIRTIO_RECEIVE_SIZE);
    uint64_t available = *(volatile uint64_t *)(page + REGISTER_VIRTIO_RECEIVE_DRIVER);
    uint64_t used = *(volatile uint64_t *)(page + REGISTER_VIRTIO_RECEIVE_DEVICE);
    flags = (volatile uint16_t *)(uintptr_t)available;
    used_event = flags + 2 + entries;
    used_index = (const volatile uint16_t *)(uintptr_t)used + 1;
    return thresholds & VIRTIO_EVENT_INDEX ? &EVENT : &FLAG;
}

/* How the machine's interface is asked; NULL where it has no interrupts. */
static const struct asking *find_interrupt(void) {
    const struct narthex_information *machine = narthex_information();
    uintptr_t page = machine->register_page;
    switch (machine->receive_driver) {
    case DRIVER_RING:
        return find_rings(page);
    case DRIVER_VIRTIO:
        return find_virtqueue(page);
    default:
        return NULL;
    }
}

static void wait_for_interrupt(const struct asking *asking, uint64_t until_ns) {
    asking->enable();
    bool sleeps = packets_receiver.arrived() == 0;
    if (sleeps)
        sleep_until(until_ns);
    if (!sleeps || asking->stays_enabled)
        asking->disable();
}

int narthex_wait(uint64_t until_ns) {
    static const struct asking *asking;
    static bool is_known;
    if (!is_known) {
        asking = find_interrupt();
        is_known = true;
    }
    int messages;
    ENTER(ACTIVITY_POLL);
    while ((messages = narthex_poll()) == 0 && narthex_time_ns() < until_ns)
        if (asking)
            wait_for_interrupt(asking, until_ns);
    LEAVE();
    return messages;
}
