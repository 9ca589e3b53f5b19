/* A dissemination barrier (Hensgen, Finkel and Manber) over active messages.
 *
 * In round r every node tells the node 2^r places further that it has come this far, and waits to
 * be told by the node 2^r places back. After ceil(log2(nodes)) rounds each has heard, directly or
 * not, of all. The messages are empty: the round follows from how far their source is. Arrivals
 * are counted and never reset: a neighbour may be one barrier ahead. The first message of the
 * first barrier carries the node's table of handlers (messaging/handler_tables.h). */
#include "messaging/handler_tables.h"
#include "messaging/messages.h"
#include "runtime/marker.h"

enum { ROUNDS_LIMIT = 16 }; /* node numbers have 16 bits */

/* The explanation of a run that hangs reads both by their names. */
static uint64_t barrier_arrivals[ROUNDS_LIMIT]; /* of each round, since the start */
static uint64_t barriers_begun;

/* A node's number, of one that may be past the last or before the first. */
static inline int around(int node) {
    int nodes = narthex_nodes();
    return node >= nodes ? node - nodes : node < 0 ? node + nodes : node;
}

static void arrive(int source, const void *payload, size_t bytes) {
    int round = 0;
    for (int distance = around(narthex_node() - source); distance > 1; distance /= 2)
        round += 1;
    if (bytes > 0)
        table_compare(source, payload, bytes);
    barrier_arrivals[round] += 1;
}

void barrier_start(void) {
    set_handler(HANDLER_BARRIER, arrive, "narthex_barrier's");
}

void narthex_barrier(void) {
    check_outside_handler("narthex_barrier");
    ENTER(ACTIVITY_SYNCHRONISATION);
    size_t bytes = 0; /* of the table, while it is to be sent */
    const void *table = barriers_begun == 0 ? table_close(&bytes) : NULL;
    barriers_begun += 1;
    int round = 0;
    for (int distance = 1; distance < narthex_nodes(); distance *= 2) {
        send_message(around(narthex_node() + distance), HANDLER_BARRIER, table, bytes);
        bytes = 0;
        while (barrier_arrivals[round] < barriers_begun)
            narthex_poll();
        round += 1;
    }
    LEAVE();
}
