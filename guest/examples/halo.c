/* Virtual channels: heat spreads along a rod that the nodes have cut into pieces. Before each step
 * a node exchanges the outermost values with its two neighbours, over a channel each way. */
#include <stdio.h>
#include <stdlib.h>

#include "messaging/channels.h"
#include "narthex.h"

enum { POINTS = 240, STEPS = 50, RIGHTWARD = 0, LEFTWARD = 1 };

/* A neighbour, and the channels to and from it. */
struct side {
    struct narthex_channel *out, *in;
};

static struct side open_side(int neighbour, int outward, int inward) {
    struct side side = {NULL, NULL};
    if (neighbour < 0 || neighbour >= narthex_nodes())
        return side; /* the rod ends here */
    side.out = narthex_channel_to(neighbour, outward, sizeof(double));
    side.in = narthex_channel_from(neighbour, inward, sizeof(double));
    return side;
}

static void give(const struct side *side, double value) {
    if (side->out)
        narthex_channel_send(side->out, &value, sizeof value);
}

/* The neighbour's value, or `otherwise` at an end of the rod. */
static double take(const struct side *side, double otherwise) {
    if (!side->in)
        return otherwise;
    double value = *(const double *)narthex_channel_receive(side->in, NULL);
    narthex_channel_release(side->in);
    return value;
}

int main(void) {
    int node = narthex_node(), points = POINTS / narthex_nodes();
    narthex_check(points * narthex_nodes() == POINTS, "%d points do not divide by %d nodes", POINTS,
                  narthex_nodes());
    struct side left = open_side(node - 1, LEFTWARD, RIGHTWARD);
    struct side right = open_side(node + 1, RIGHTWARD, LEFTWARD);
    narthex_barrier(); /* both ends are open */

    double *now = calloc((size_t)points + 2, sizeof *now);
    double *next = calloc((size_t)points + 2, sizeof *next);
    if (node == 0)
        now[1] = 1000;
    narthex_region_begin("steps");
    for (int step = 0; step < STEPS; step++) {
        give(&left, now[1]);
        give(&right, now[points]);
        now[0] = take(&left, now[1]);
        now[points + 1] = take(&right, now[points]);
        for (int point = 1; point <= points; point++)
            next[point] = now[point] + (now[point - 1] - 2 * now[point] + now[point + 1]) / 4;
        double *last = now;
        now = next;
        next = last;
    }
    narthex_region_end("steps");
    double heat = 0;
    for (int point = 1; point <= points; point++)
        heat += now[point];
    narthex_report("heat", heat, "");
    if (node == 0)
        printf("the first point has %.6f left\n", now[1]);
    narthex_barrier();
    return 0;
}
