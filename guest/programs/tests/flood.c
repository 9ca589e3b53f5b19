/* Self-checking: every node sends to every other before it looks at what has arrived.
 *
 *     flood [COUNT [BYTES]]     by default 500 messages of 8 bytes from each node to each other
 *
 * More than any queue holds, so all senders are blocked by each other: they finish only because the
 * library takes arrivals out of the interface meanwhile, also where the interface overflows to
 * memory by itself, whose queues are finite. */
#include <stdlib.h>

#include "../arguments.h"

enum { FLOOD = 1 };

static long received;

static void on_flood(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    received += 1;
}

int main(int count, char **values) {
    long messages = argument(count, values, 1, "messages", 0, 1000000, 500);
    size_t bytes = (size_t)argument(count, values, 2, "bytes", 0, 4096, 8);
    narthex_register_handler(FLOOD, on_flood);
    char *payload = calloc(1, bytes + 1);
    narthex_barrier();
    for (long message = 0; message < messages; message++)
        for (int node = 0; node < narthex_nodes(); node++)
            narthex_send(node, FLOOD, payload, bytes);
    long expected = messages * narthex_nodes();
    while (received < expected)
        narthex_poll();
    narthex_barrier();
    narthex_check(received == expected, "node %d received %ld messages instead of %ld",
                  narthex_node(), received, expected);
    free(payload);
    return 0;
}
