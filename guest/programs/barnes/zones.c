/* Cost zones: the bodies, in the order in which a walk through the tree meets them, are cut into as
 * many stretches of equal cost as there are nodes. A body cost last step's interactions. A node
 * finds its stretch on its own: it skips every cell that lies outside. */
#include "zones.h"

#include <stdlib.h>

#include "narthex.h"

enum { POLL_MEMBERS = 8 };

static struct zone zone;
static int64_t begin, end; /* the costs between which this node's stretch lies */

static void add(uint32_t body) {
    narthex_check(zone.count < bodies.capacity,
                  "node %d: the work is so uneven that a node would get more than %u bodies",
                  narthex_node(), bodies.capacity);
    zone.members[zone.count++] = body;
    if (zone.count % POLL_MEMBERS == 0)
        narthex_poll();
}

/* A body belongs to the zone in which its cost begins; `before` is what comes earlier. */
static void collect(child item, int64_t before) {
    if (is_body(item)) {
        add(item & ~BODY);
        return;
    }
    for (int octant = 0; octant < 8 && before < end; octant++) {
        child part = tree.cells[item].children[octant];
        if (part == NOTHING)
            continue;
        int64_t cost = cost_of(part);
        if (is_body(part) ? before >= begin : before + cost > begin)
            collect(part, before);
        before += cost;
    }
}

const struct zone *zone_choose(void) {
    if (!zone.members)
        zone.members = malloc(bodies.capacity * sizeof *zone.members);
    narthex_check(zone.members, "node %d has no memory for its bodies", narthex_node());
    int64_t total = tree.cells[ROOT].cost, node = narthex_node(), nodes = narthex_nodes();
    begin = total * node / nodes;
    end = total * (node + 1) / nodes;
    zone.count = 0;
    collect(ROOT, 0);
    return &zone;
}
