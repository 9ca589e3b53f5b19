/* Locks. Each has a home, a PE that follows from its place; the home's copy of the lock says who
 * has it, and the home keeps those that wait in their order. */
#include <stdlib.h>

#include "messaging/narthex.h"
#include "runtime/marker.h"
#include "shmem/library.h"
#include "shmem/requests.h"

/* A PE that waits for a lock. */
struct waiter {
    struct waiter *next;
    uint64_t place;
    int pe;
};

static struct waiter *waiters;               /* here, for locks at home here */
static enum { NONE, REFUSED, TAKEN } answer; /* to what this PE asked */

static int home_of(uint64_t place) {
    return (int)(place / sizeof(long) % (uint64_t)shmem_pes);
}

static void answer_to(int pe, bool is_taken) {
    if (pe == shmem_pe)
        shmem_lock_answered(is_taken);
    else
        shmem_answer_lock(pe, is_taken);
}

void shmem_lock_answered(bool is_taken) {
    answer = is_taken ? TAKEN : REFUSED;
}

/* The lock's value is 0, or one more than the PE that has it. */
static void give(uint64_t place, int pe) {
    *(long *)shmem_address(place) = pe + 1;
    answer_to(pe, true);
}

static void append(uint64_t place, int pe) {
    struct waiter *waiter = malloc(sizeof *waiter), **end = &waiters;
    narthex_check(waiter, "PE %d has no memory left for PEs that wait for a lock", shmem_pe);
    *waiter = (struct waiter){NULL, place, pe};
    while (*end)
        end = &(*end)->next;
    *end = waiter;
}

/* Takes the first PE that waits for the lock off the list; -1 if none does. */
static int first_waiter(uint64_t place) {
    for (struct waiter **link = &waiters; *link; link = &(*link)->next)
        if ((*link)->place == place) {
            struct waiter *waiter = *link;
            int pe = waiter->pe;
            *link = waiter->next;
            free(waiter);
            return pe;
        }
    return -1;
}

static void clear(int source, uint64_t place) {
    long *lock = shmem_address(place);
    narthex_check(
        *lock == source + 1,
        "PE %d calls shmem_clear_lock for a lock that it does not have (its value is %ld: "
        "0, or one more than the PE that has it)",
        source, *lock);
    *lock = 0;
    int next = first_waiter(place);
    if (next >= 0)
        give(place, next);
}

void shmem_lock_asked(int source, unsigned operation, uint64_t place) {
    if (operation == LOCK_CLEAR)
        clear(source, place);
    else if (*(const long *)shmem_address(place) == 0)
        give(place, source);
    else if (operation == LOCK_SET)
        append(place, source);
    else
        answer_to(source, false);
}

static void ask(const char *function, long *lock, unsigned operation) {
    shmem_check_running(function);
    uint64_t place = shmem_place(function, lock, sizeof *lock);
    int home = home_of(place);
    answer = NONE;
    if (home == shmem_pe)
        shmem_lock_asked(shmem_pe, operation, place);
    else
        shmem_request_lock(home, operation, place);
}

static bool await_answer(void) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (*(volatile int *)&answer == NONE)
        shmem_progress();
    LEAVE();
    return answer == TAKEN;
}

void shmem_set_lock(long *lock) {
    ask(__func__, lock, LOCK_SET);
    await_answer();
}

int shmem_test_lock(long *lock) {
    shmem_progress(); /* also where this PE answers itself */
    ask(__func__, lock, LOCK_TEST);
    return await_answer() ? 0 : 1;
}

/* What was done under the lock is complete before another PE has it. */
void shmem_clear_lock(long *lock) {
    shmem_check_running(__func__);
    shmem_requests_quiet();
    ask(__func__, lock, LOCK_CLEAR);
}
