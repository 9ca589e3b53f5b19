/* Waiting for messages: by an interrupt, where the interface has one, else by polling.
 *
 *   poll ─► nothing ─► ask for an interrupt ─► look again ─► nothing ─► sleep ─► poll
 *
 * The interrupt is an edge: a packet that came between the poll and the store that asks for it
 * interrupts nobody, so the program looks again, behind that store. Ring is asked by a register:
 * the store is posted, and reading it back waits until it is at the interface. Virtio is asked by a
 * word of memory, so there is a fence. What the look misses then comes behind it, and interrupts.
 * Over Verbs the store says how many completions are taken, so that it would need no second look.
 *
 * It is a file of its own, which only programs link that wait so. */
#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "messaging/packets.h"
#include "runtime/interrupts.h"
#include "runtime/marker.h"
#ifdef VERBS_WAITS
#include "verbs/channels.h"
#endif

static uint64_t vector; /* by which the interface interrupts */

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
        interrupt_of(queue)[1] = vector;
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

/* Verbs: a channel of the completion queue of arrivals */

#ifdef VERBS_WAITS
enum {
    ARRIVALS_NUMBER = 2
}; /* driver_verbs.c creates it behind that of sends, before all others */
static struct ibv_comp_channel *channel;
static struct ibv_cq *arrivals;

/* An event that woke a sleep, or came too late for one, is taken before the next one is asked for.
 */
static void arm_arrivals(void) {
    while (verbs_take_event(channel))
        ;
    ibv_req_notify_cq(arrivals, 0);
}

static void leave_armed(void) {}

static const struct asking ARRIVALS = {arm_arrivals, leave_armed, false};

static const struct asking *find_channel(void) {
    arrivals = verbs_completion_queue(ARRIVALS_NUMBER);
    channel = ibv_create_comp_channel(arrivals->context);
    if (!channel)
        return NULL;
    int error = verbs_join_channel(arrivals, channel);
    narthex_check(error == 0, "node %d: its arrivals get no channel (error %d)", narthex_node(),
                  error);
    vector = verbs_vector(channel);
    return &ARRIVALS;
}
#endif

/* How the machine's interface is asked; NULL where it has no interrupts. */
static const struct asking *find_interrupt(void) {
    const struct narthex_information *machine = narthex_information();
    uintptr_t page = machine->register_page;
    switch (machine->receive_driver) {
    case DRIVER_RING:
        return find_rings(page);
    case DRIVER_VIRTIO:
        return find_virtqueue(page);
#ifdef VERBS_WAITS
    case DRIVER_VERBS:
        return find_channel();
#endif
    default:
        return NULL;
    }
}

static void wait_for_interrupt(const struct asking *asking, uint64_t until_ns) {
    asking->enable();
    bool sleeps = packets_receiver.arrived() == 0;
    if (sleeps)
        sleep_until_interrupt(vector, until_ns);
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
