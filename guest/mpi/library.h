/* MPI over active messages: the map of this folder, and what all of its files use.
 *
 *     point_to_point.c, collectives ...    what a program calls
 *        └─ requests.h ── schedules.h      what is under way: a message, a list of steps
 *              └─ matching.h               receives that wait for messages, messages for receives
 *                    └─ transport.h        eager messages, credits, rendezvous, order
 *                          └─ narthex_send, and handlers that narthex_poll runs
 *
 * Matching. A receive names a communicator, a source and a tag, and takes the first message that
 * was sent to fit it. The library keeps two lists for each source (matching.h): the receives that
 * wait, in the order of their posting, and the messages that have come for none, in the order of
 * their arrival. A message looks through the first list, a receive through the second, so that each
 * finds the oldest that fits. Receives of any source have two more lists. Messages of the messaging
 * library may overtake each other, so each one between two ranks has a number, and one that comes
 * too early waits for those before it.
 *
 * Eager messages. A short message is sent at once, behind eight bytes that say communicator, tag
 * and number. Where its receive waits, its handler copies it to its place; otherwise it is kept.
 * A sender may fill that memory only as far as its credits with this receiver go: every message
 * costs some, and the receiver gives them back, many at a time, as messages find their receives.
 *
 * Rendezvous. A message that is long, or for which there are no credits, or whose sender wants to
 * know that it has been matched, is announced first. The receive that matches grants it a slot, and
 * the data follow in pieces, each of which its handler copies to its place; or the interface puts
 * them there, if it can (puts.h).
 *
 * Progress. Nothing happens behind a program's back: messages arrive, pieces leave, and collectives
 * advance, inside of calls that wait or test. A program that computes for long between MPI_Isend
 * and MPI_Wait finds its long message where it left it.
 *
 * Collectives are lists of steps: sends, receives, copies and reductions, with fences between
 * those that need what came before (schedules.h). A blocking call walks through its list; a
 * nonblocking one leaves it to progress. So there is one algorithm for both.
 *
 * Names. Each function is PMPI_X, and MPI_X is a weak alias of it, which a tool's own MPI_X
 * replaces. The library calls neither. */
#ifndef NARTHEX_MPI_LIBRARY_H
#define NARTHEX_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/include/mpi.h"

/* The name without the P, for programs. */
#define MPI_NAME(name)                                                                             \
    extern __typeof(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)))

/* What the running function is called in messages: MPI_X within PMPI_X. */
#define FUNCTION (__func__ + 1)

/* Where this rank is between its beginning and its end. */
extern enum mpi_state { BEFORE_INIT, ACTIVE, FINALIZED } mpi_state;

/* Allocates; ends the run if there is no memory left. */
void *mpi_allocate(size_t bytes);

/* Whether a handle is a constant of mpi.h and not an address. */
static inline bool is_constant(const void *handle) {
    return (uintptr_t)handle < 0x1000;
}

#endif
