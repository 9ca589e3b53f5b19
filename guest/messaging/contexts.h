/* Threads of one core among which its interface chooses: contexts of RegisterFile, after the nanoPU
 * (interfaces/src/thread_choice).
 *
 *     static void serve(void) {                        // a context's thread: it never returns
 *         for (;;) {
 *             uint64_t header = narthex_context_next(payload);
 *             ...
 *             narthex_context_send(header_peer(header), ANSWER, answer, sizeof answer);
 *         }
 *     }
 *
 *     if (narthex_contexts() > 1) {
 *         narthex_context(1, 0, serve, stack, sizeof stack);
 *         narthex_context_of_handler(REQUEST, 1);      // before the first such message may arrive
 *         narthex_contexts_begin(1);                   // this thread is context 0 from now on
 *         ...
 *         narthex_contexts_end();
 *     }
 *
 * A message comes as it is in its packet, to the context of its handler; those of all other
 * handlers are the messaging library's. Between begin and end the interface may interrupt any
 * thread, and the processor goes on with another one. The library is not for several threads: only
 * context 0 may use it. It is always ready, so that contexts of a lower priority never run.
 *
 * In the time ledger all contexts are booked as what context 0 is at. */
#ifndef NARTHEX_MESSAGING_CONTEXTS_H
#define NARTHEX_MESSAGING_CONTEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "messaging/packet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many contexts there are; 1 where the interface chooses no threads. */
int narthex_contexts(void);

/* Context `context`, 1 or higher, begins at `thread`, on a stack of so many bytes, when it gets its
 * first message. Priority 0 is the highest. */
void narthex_context(int context, int priority, void (*thread)(void), void *stack, size_t bytes);

/* The messages of a handler come to a context. */
void narthex_context_of_handler(int handler, int context);

/* The interface chooses from now on; the caller is context 0, of this priority. */
void narthex_contexts_begin(int priority);

/* It does no longer. By context 0. */
void narthex_contexts_end(void);

/* The calling context is done with its message: waits for the next one, whose payload it copies to
 * `payload` (4-byte aligned), and returns its header (messaging/packet.h). */
uint64_t narthex_context_next(void *payload);

/* The same if there is one, and 0 if there is none. */
uint64_t narthex_context_take(void *payload);

/* The most bytes of a message: what the interface cuts into packets and puts together, or a
 * packet's payload. */
size_t narthex_context_limit(void);

/* The bytes of a message, by its header. */
static inline size_t narthex_context_bytes(uint64_t header) {
    bool is_whole = header >> HEADER_SENSE_SHIFT;
    return (is_whole ? header_place(header) : 0) + header_bytes(header);
}

/* Sends a message, when there is room. */
void narthex_context_send(int destination, int handler, const void *payload, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
