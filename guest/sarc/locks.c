#include "sarc/locks.h"

#include "messaging/narthex.h"
#include "runtime/marker.h"

enum { TOKEN = 1 };

/* Lock box */

uint64_t *sarc_box_lock(unsigned number) {
    unsigned locks = (unsigned)sarc_register(SARC_REGISTER_LOCKS);
    narthex_check(number < locks, "lock %u of the lock box does not exist: this machine has %u",
                  number, locks);
    return (uint64_t *)SARC_LOCK_BOX + number;
}

void sarc_box_acquire(uint64_t *lock) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (sarc_load(lock) == 0)
        ;
    LEAVE();
}

void sarc_box_release(uint64_t *lock) {
    sarc_store(lock, 0);
}

/* Coherent memory */

void sarc_test_and_set_acquire(struct sarc_test_and_set *lock) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (atomic_exchange_explicit(&lock->is_taken, 1, memory_order_acquire))
        while (atomic_load_explicit(&lock->is_taken, memory_order_relaxed))
            ;
    LEAVE();
}

void sarc_test_and_set_release(struct sarc_test_and_set *lock) {
    atomic_store_explicit(&lock->is_taken, 0, memory_order_release);
}

void sarc_ticket_acquire(struct sarc_ticket *lock) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    unsigned own = atomic_fetch_add_explicit(&lock->next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&lock->serving, memory_order_acquire) != own)
        ;
    LEAVE();
}

void sarc_ticket_release(struct sarc_ticket *lock) {
    unsigned own = atomic_load_explicit(&lock->serving, memory_order_relaxed);
    atomic_store_explicit(&lock->serving, own + 1, memory_order_release);
}

void sarc_mcs_acquire(struct sarc_mcs *lock, struct sarc_mcs_place *own) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    atomic_store_explicit(&own->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&own->waits, 1, memory_order_relaxed);
    struct sarc_mcs_place *before =
        atomic_exchange_explicit(&lock->last, own, memory_order_acq_rel);
    if (before) {
        atomic_store_explicit(&before->next, own, memory_order_release);
        while (atomic_load_explicit(&own->waits, memory_order_acquire))
            ;
    }
    LEAVE();
}

void sarc_mcs_release(struct sarc_mcs *lock, struct sarc_mcs_place *own) {
    struct sarc_mcs_place *next = atomic_load_explicit(&own->next, memory_order_acquire);
    if (!next) {
        struct sarc_mcs_place *last = own;
        if (atomic_compare_exchange_strong_explicit(&lock->last, &last, NULL, memory_order_release,
                                                    memory_order_relaxed))
            return;
        while (!(next = atomic_load_explicit(&own->next, memory_order_acquire)))
            ;
    }
    atomic_store_explicit(&next->waits, 0, memory_order_release);
}

/* Multiple-reader queue */

void sarc_make_queue_lock(uint64_t *lines) {
    sarc_make_queue(lines, SARC_ROLE_MULTIPLE_READER, 1, SARC_QUEUE_LOCK_ITEMS);
    sarc_store(&lines[0], TOKEN);
}

void sarc_queue_acquire(const struct sarc_queue_lock *lock) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    sarc_read(lock->command, lock->flag, lock->queue, sizeof(uint64_t), NULL);
    sarc_await_flag(lock->flag);
    LEAVE();
}

void sarc_queue_acquire_by_load(const struct sarc_queue_lock *lock) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    sarc_load(&lock->queue[0]);
    LEAVE();
}

void sarc_queue_release(const struct sarc_queue_lock *lock) {
    sarc_store(&lock->queue[0], TOKEN);
}
