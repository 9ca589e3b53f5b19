/* A dissemination barrier (Hensgen, Finkel and Manber) over active messages.
 *
 * In round r every node tells the node 2^r places further that it has come this far, and waits to
 * be told by the node 2^r places back. After ceil(log2(nodes)) rounds each has heard, directly or
 * not, of all. Arrivals are counted and never reset: a neighbour may be one barrier ahead. */
#include "messaging/messages.h"
#include "runtime/marker.h"

enum { ROUNDS_LIMIT = 16 }; /* node numbers have 16 bits */

static uint64_t arrivals[ROUNDS_LIMIT]; /* of each round, since the start */
static uint64_t barriers;

static void arrive(int source, const void *payload, size_t bytes) {
    (void)source, (void)bytes;
    arrivals[*(const uint64_t *)payload] += 1;
}

void barrier_start(void) {
    set_handler(HANDLER_BARRIER, arrive);
}

void narthex_barrier(void) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    barriers += 1;
    uint64_t round = 0;
    for (int distance = 1; distance < narthex_nodes(); distance *= 2) {
        int next = (narthex_node() + distance) % narthex_nodes();
        send_message(next, HANDLER_BARRIER, &round, sizeof round);
        while (arrivals[round] < barriers)
            narthex_poll();
        round += 1;
    }
    LEAVE();
}
