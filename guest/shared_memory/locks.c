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

struct lock {
    bool held; /* by this node */
    /* At its home. */
    bool taken;
    struct waiter *first; /* has waited longest */
};

/* In groups that are there from the first use of one of their locks on: as one array in every
 * program they would push its data to where the interfaces' queues lie in the caches. */
enum { GROUP = 64 };
static struct lock *groups[LOCKS / GROUP];
static struct waiter *unused;

static int home_of(int number) {
    return number % narthex_nodes();
}

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    narthex_check(memory, "node %d has no memory left for locks", narthex_node());
    return memory;
}

static struct lock *find(int number) {
    struct lock **group = &groups[number / GROUP];
    if (!*group)
        *group = allocate(GROUP * sizeof **group);
    return &(*group)[number % GROUP];
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
        find(number)->held = true;
    else
        send_word(node, GRANT, number);
}

static void request_at_home(int number, int node) {
    struct lock *lock = find(number);
    if (lock->taken)
        return append(lock, node);
    lock->taken = true;
    grant(number, node);
}

static void release_at_home(int number) {
    struct lock *lock = find(number);
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
        find(number)->held = true;
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
}

void narthex_lock(int number) {
    check_call("narthex_lock", number);
    narthex_check(!find(number)->held,
                  "node %d calls narthex_lock for lock %d, which it has already", narthex_node(),
                  number);
    ENTER(ACTIVITY_SYNCHRONISATION);
    if (home_of(number) == narthex_node())
        request_at_home(number, narthex_node());
    else
        send_word(home_of(number), REQUEST, number);
    const struct lock *lock = find(number);
    while (!lock->held)
        poll_packet();
    LEAVE();
}

void narthex_unlock(int number) {
    check_call("narthex_unlock", number);
    narthex_check(find(number)->held,
                  "node %d calls narthex_unlock for lock %d, which it does not have",
                  narthex_node(), number);
    ENTER(ACTIVITY_SYNCHRONISATION);
    find(number)->held = false;
    if (home_of(number) == narthex_node())
        release_at_home(number);
    else
        send_word(home_of(number), RELEASE, number);
    LEAVE();
}
