/* Locks of shared memory: a queue at each lock's home.
 *
 * A node asks the home and waits; the home grants the lock to the nodes in the order in which their
 * requests came, and is told when the lock is given back. Every message is one word, its kind above
 * the lock's number: 12 bytes with the header. The home's own calls take the same steps without
 * messages. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "messaging/messages.h"
#include "runtime/marker.h"
#include "shared_memory/shared_memory.h"

enum { LOCKS = 65536, KIND_SHIFT = 16 };
enum kind { REQUEST, GRANT, RELEASE };

/* A node in a lock's queue. */
struct waiter {
    struct waiter *next;
    int node;
};

/* A lock at its home. */
struct lock {
    bool taken;
    struct waiter *first; /* has waited longest */
};

/* By their numbers, from the first use on. (As arrays of every program they would push its data
 * into the places of the caches where the interfaces' queues lie.) */
static struct lock **locks; /* those at this home that were ever asked for */
static bool *held;          /* by this node */
static struct waiter *unused;

static int home_of(int number) {
    return number % narthex_nodes();
}

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    narthex_check(memory, "node %d has no memory left for locks", narthex_node());
    return memory;
}

static void send_word(int destination, enum kind kind, int number) {
    uint32_t message = (uint32_t)kind << KIND_SHIFT | (uint32_t)number;
    send_message(destination, HANDLER_LOCK, &message, sizeof message);
}

/* At the home */

static void append(struct lock *lock, int node) {
    struct waiter *waiter = unused;
    if (waiter)
        unused = waiter->next;
    else
        waiter = allocate(sizeof *waiter);
    *waiter = (struct waiter){.node = node};
    struct waiter **link = &lock->first;
    while (*link)
        link = &(*link)->next;
    *link = waiter;
}

static int take_first(struct lock *lock) {
    struct waiter *waiter = lock->first;
    lock->first = waiter->next;
    waiter->next = unused;
    unused = waiter;
    return waiter->node;
}

static void grant(int number, int node) {
    if (node == narthex_node())
        held[number] = true;
    else
        send_word(node, GRANT, number);
}

static void request_at_home(int number, int node) {
    if (!locks)
        locks = allocate(LOCKS * sizeof *locks);
    if (!locks[number])
        locks[number] = allocate(sizeof *locks[number]);
    struct lock *lock = locks[number];
    if (lock->taken)
        return append(lock, node);
    lock->taken = true;
    grant(number, node);
}

static void release_at_home(int number) {
    struct lock *lock = locks[number];
    if (lock->first)
        grant(number, take_first(lock));
    else
        lock->taken = false;
}

static void arrive(int source, const void *payload, size_t bytes) {
    (void)bytes;
    ENTER(ACTIVITY_SYNCHRONISATION);
    uint32_t message = *(const uint32_t *)payload;
    int number = (int)(message & (LOCKS - 1));
    switch ((enum kind)(message >> KIND_SHIFT)) {
    case REQUEST:
        request_at_home(number, source);
        break;
    case GRANT:
        held[number] = true;
        break;
    case RELEASE:
        release_at_home(number);
        break;
    }
    LEAVE();
}

__attribute__((constructor)) static void start(void) {
    set_handler(HANDLER_LOCK, arrive, "the locks'");
}

/* The calls */

static void check_call(const char *function, int number) {
    check_outside_handler(function);
    narthex_check(number >= 0 && number < LOCKS, "node %d calls %s for lock %d: locks are 0 to %d",
                  narthex_node(), function, number, LOCKS - 1);
    if (!held)
        held = allocate(LOCKS * sizeof *held);
}

void narthex_lock(int number) {
    check_call("narthex_lock", number);
    narthex_check(!held[number], "node %d calls narthex_lock for lock %d, which it has already",
                  narthex_node(), number);
    ENTER(ACTIVITY_SYNCHRONISATION);
    if (home_of(number) == narthex_node())
        request_at_home(number, narthex_node());
    else
        send_word(home_of(number), REQUEST, number);
    while (!held[number])
        poll_packet();
    LEAVE();
}

void narthex_unlock(int number) {
    check_call("narthex_unlock", number);
    narthex_check(held[number], "node %d calls narthex_unlock for lock %d, which it does not have",
                  narthex_node(), number);
    ENTER(ACTIVITY_SYNCHRONISATION);
    held[number] = false;
    if (home_of(number) == narthex_node())
        release_at_home(number);
    else
        send_word(home_of(number), RELEASE, number);
    LEAVE();
}
