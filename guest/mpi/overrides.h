/* Overrides: collectives that an interface carries out itself, better than messages do.
 *
 * The table is in overrides.c: which collective, up to how many bytes, by which function. What is
 * asked is the same at all ranks, so that all take the same way: the communicator has all ranks of
 * the run, in any order; the call blocks; the bytes, which MPI wants alike. A barrier has none.
 *
 * Only programs that are linked for an interface with overrides have any of this (ONLY_DRIVER;
 * python/narthex/drivers.py, DRIVERS_APART): those for all other interfaces stay as they are. */
#ifndef NARTHEX_MPI_OVERRIDES_H
#define NARTHEX_MPI_OVERRIDES_H

#include "mpi/reductions.h"

/* What a collective is called for. */
struct collective_call {
    enum collective collective;
    struct communicator *comm;
    int root;                          /* of a broadcast */
    struct elements data;              /* of a broadcast; of a reduction, the result */
    const struct reduction *reduction; /* NULL where nothing is reduced */
};

#ifdef ONLY_DRIVER

/* Prepares the interface; all ranks call this together, before the first barrier. */
void overrides_start(void);

/* Carries a blocking collective out, whose list has no steps yet, and ends the list; `error` is
 * what the call returns. False where the interface has no way of its own for it. */
bool override_collective(struct schedule *schedule, const struct collective_call *call, int *error);

/* Waits, within an override, until a word of the interface has a value, but for its lowest bits. */
void await_word(const volatile uint64_t *place, unsigned bits, uint64_t value);

/* An interface's ways. The first returns whether it is ready; the others an error class. */
bool sarc_collectives_start(void);
int sarc_barrier(const struct collective_call *call);
int sarc_broadcast(const struct collective_call *call);
int sarc_all_reduce(const struct collective_call *call);

/* The most bytes of data that they take. */
enum { SARC_COLLECTIVE_BYTES = 32 };

#else

static inline void overrides_start(void) {}

static inline bool override_collective(struct schedule *schedule,
                                       const struct collective_call *call, int *error) {
    (void)schedule, (void)call, (void)error;
    return false;
}

#endif

#endif
