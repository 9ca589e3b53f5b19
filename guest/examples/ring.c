/* Active messages: a sum travels around the ring of all nodes, and each adds its number. */
#include <stdio.h>

#include "narthex.h"

enum { ADD = 1 }; /* the handler's number, the same on every node */

static long sum;
static int visits;

/* Runs inside narthex_poll when a message for ADD has arrived. It may send. */
static void add(int source, const void *payload, size_t bytes) {
    narthex_check(bytes == sizeof sum, "node %d sent %zu bytes", source, bytes);
    sum = *(const long *)payload + narthex_node();
    visits += 1;
    if (narthex_node() != 0)
        narthex_send((narthex_node() + 1) % narthex_nodes(), ADD, &sum, sizeof sum);
}

int main(void) {
    narthex_register_handler(ADD, add); /* before the first barrier */
    if (narthex_node() == 0)
        narthex_send(1 % narthex_nodes(), ADD, &sum, sizeof sum);
    while (visits == 0)
        narthex_poll();
    if (narthex_node() == 0)
        printf("the nodes' numbers add up to %ld\n", sum);
    narthex_barrier();
    return 0;
}
