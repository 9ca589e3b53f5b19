/* Puts, gets and atomics of other PEs' memory, as messages. A PE is one of the world; it is not
 * this one. Steps between elements are bytes. */
#ifndef NARTHEX_SHMEM_REQUESTS_H
#define NARTHEX_SHMEM_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messaging/narthex.h"

struct shmem_team;

/* Returns when the interface has taken all of it. */
void shmem_request_put(int pe, uint64_t place, const void *source, size_t bytes);
void shmem_request_put_strided(int pe, uint64_t place, ptrdiff_t step, const void *source,
                               ptrdiff_t own_step, size_t width, size_t count);

/* The same, and then updates the signal, which is seen after the data. */
void shmem_request_put_signal(int pe, uint64_t place, const void *source, size_t bytes,
                              uint64_t signal_place, uint64_t signal, int operation);

/* Whether a get waits until it is complete, or shmem_quiet does. */
enum shmem_completion { BLOCKING, NONBLOCKING, COMPLETIONS };
void shmem_request_get(int pe, uint64_t place, void *dest, size_t bytes,
                       enum shmem_completion completion);
void shmem_request_get_strided(int pe, uint64_t place, ptrdiff_t step, void *dest,
                               ptrdiff_t own_step, size_t width, size_t count);

/* Atomics, of 4 or 8 bytes. */
enum shmem_operation {
    ATOMIC_FETCH,
    ATOMIC_SET,
    ATOMIC_ADD,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_COMPARE_SWAP
};

struct shmem_atomic {
    enum shmem_operation operation;
    size_t width;
    uint64_t operand, condition;
};

void shmem_request_update(int pe, uint64_t place, const struct shmem_atomic *atomic);
void shmem_request_fetch(int pe, uint64_t place, const struct shmem_atomic *atomic, void *fetched,
                         enum shmem_completion completion);

/* The same on own memory; returns what was there. */
uint64_t shmem_apply_atomic(void *address, const struct shmem_atomic *atomic);

void shmem_requests_fence(void);
void shmem_requests_quiet(void);

void shmem_request_exit(int pe);

/* Of locks (shmem_lock_asked, shmem_lock_answered). */
void shmem_request_lock(int pe, unsigned operation, uint64_t place);
void shmem_answer_lock(int pe, bool is_taken);

/* Collectives. Data and a round's number to another member, in the current call of this team,
 * which it handles after all that this PE has put into its memory. */
void shmem_tell(const char *function, const struct shmem_team *team, int member, unsigned round,
                const void *data, size_t bytes);

/* Waits for what that member tells in that round; fails if it is in another call, or tells of
 * another number of bytes. */
void shmem_hear(const char *function, const struct shmem_team *team, int member, unsigned round,
                void *data, size_t bytes);

/* The most bytes of data of one message. */
enum { SHMEM_TELL_BYTES = 2048 };

/* Handles messages once. */
static inline void shmem_progress(void) {
    narthex_poll();
}

#endif
