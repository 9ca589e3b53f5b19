/* Locks and barriers (syslib): over scratchpads, and over coherent memory for comparison (Mellor-
 * Crummey and Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors").
 *
 * | lock          | over                                                    |
 * | lock box      | the prototype's lock box                                |
 * | test-and-set  | coherent memory                                         |
 * | ticket        | coherent memory                                         |
 * | MCS           | coherent memory, each waiter reads its own line         |
 * | queue         | a multiple-reader queue that holds a token (Section 5.3) |
 *
 * Coherent memory has to be that: on a machine that does not keep caches coherent these locks do
 * not exclude. */
#ifndef NARTHEX_SARC_LOCKS_H
#define NARTHEX_SARC_LOCKS_H

#include <stdatomic.h>

#include "sarc/sarc.h"

/* Lock box */

/* The lock with this number; fails if the machine has none. */
uint64_t *sarc_box_lock(unsigned number);
void sarc_box_acquire(uint64_t *lock);
void sarc_box_release(uint64_t *lock);

/* Coherent memory */

struct sarc_test_and_set {
    _Alignas(SARC_LINE_BYTES) atomic_int is_taken;
};
void sarc_test_and_set_acquire(struct sarc_test_and_set *lock);
void sarc_test_and_set_release(struct sarc_test_and_set *lock);

struct sarc_ticket {
    _Alignas(SARC_LINE_BYTES) atomic_uint next, serving;
};
void sarc_ticket_acquire(struct sarc_ticket *lock);
void sarc_ticket_release(struct sarc_ticket *lock);

/* A thread's place in the list of those that wait. */
struct sarc_mcs_place {
    _Alignas(SARC_LINE_BYTES) _Atomic(struct sarc_mcs_place *) next;
    atomic_int waits;
};
struct sarc_mcs {
    _Alignas(SARC_LINE_BYTES) _Atomic(struct sarc_mcs_place *) last;
};
void sarc_mcs_acquire(struct sarc_mcs *lock, struct sarc_mcs_place *own);
void sarc_mcs_release(struct sarc_mcs *lock, struct sarc_mcs_place *own);

/* Multiple-reader queue */

/* Lines that a queue lock takes at its tile, and what each tile needs to take the lock. */
enum { SARC_QUEUE_LOCK_ITEMS = 128 };
#define SARC_QUEUE_LOCK_LINES (1 + SARC_QUEUE_LOCK_ITEMS / SARC_LINE_WORDS)
void sarc_make_queue_lock(uint64_t *lines);

struct sarc_queue_lock {
    uint64_t *queue;   /* of any tile */
    uint64_t *command; /* a command buffer of the own tile */
    uint64_t *flag;    /* a word of the own tile, 0 */
};

/* The token is asked for by a read whose answer is written to the flag. */
void sarc_queue_acquire(const struct sarc_queue_lock *lock);
void sarc_queue_release(const struct sarc_queue_lock *lock);

/* The same by a load, which is answered when the queue has the token. */
void sarc_queue_acquire_by_load(const struct sarc_queue_lock *lock);

#endif
