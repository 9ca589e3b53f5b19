/* Motion of bodies that attract each other, by the hierarchical method of Barnes and Hut
 * (ni-design-hpca98 Section 5.2: 16K bodies, irregular communication between all nodes through the
 * default shared-memory protocol).
 *
 *     barnes [BODIES [STEPS [WARM-UP]]]
 *                        by default 16384 bodies, 1 step after 1 to warm up
 *
 * A step: build an octree of all bodies, cut it into zones of equal cost, compute the force on each
 * body of the zone by a walk through the tree, advance the bodies (leapfrog). The tree and the
 * bodies are in shared memory; all communication but a maximum over the nodes and barriers is
 * faults and locks. bodies.h, tree.h, zones.h and forces.h are one part each.
 *
 * Checked: the bodies are all there, energy and momentum stay, sampled forces agree with direct
 * summation. See README.md. */
#include "../exact.h"

#include <math.h>

#include "../arguments.h"
#include "../measure.h"
#include "checks.h"
#include "shared_memory/shared_memory.h"

#define TIME_STEP 0.025

static struct pull *pulls; /* on the members of the zone */
static const struct zone *zone;

static void add_to_totals(struct totals *totals, const struct point *point,
                          const double velocity[3], const struct pull *pull, int32_t name) {
    double square = 0;
    for (int axis = 0; axis < 3; axis++) {
        square += velocity[axis] * velocity[axis];
        totals->momentum[axis] += point->mass * velocity[axis];
    }
    totals->kinetic += point->mass * square / 2;
    totals->potential += point->mass * pull->potential / 2;
    totals->speed += point->mass * sqrt(square);
    totals->interactions += pull->interactions;
    totals->bodies += 1;
    totals->names += name;
}

/* Writes the body at `from`, a step later, to `to`. Its velocity lags `lag` behind. */
static void advance(uint32_t from, uint32_t to, const struct pull *pull, double lag,
                    struct totals *totals) {
    struct point point = bodies.current.points[from];
    struct motion motion = bodies.current.motions[from];
    for (int axis = 0; axis < 3; axis++)
        motion.velocity[axis] += pull->acceleration[axis] * lag;
    add_to_totals(totals, &point, motion.velocity, pull, motion.name);
    for (int axis = 0; axis < 3; axis++) {
        motion.velocity[axis] += pull->acceleration[axis] * (TIME_STEP / 2);
        point.position[axis] += motion.velocity[axis] * TIME_STEP;
    }
    motion.cost = pull->interactions;
    bodies.following.points[to] = point;
    bodies.following.motions[to] = motion;
}

/* Returns this node's totals at the time of the forces. */
static struct totals step(double lag) {
    struct totals totals = {0};
    tree_build();
    zone = zone_choose();
    for (uint32_t member = 0; member < zone->count; member++) {
        uint32_t body = zone->members[member];
        pulls[member] = forces_by_tree(body);
        advance(body, bodies.first + member, &pulls[member], lag, &totals);
    }
    bodies.following.count = zone->count;
    bodies_turn();
    return totals;
}

static void start(uint32_t total) {
    uint64_t bytes = bodies_shared_bytes(total) + tree_shared_bytes(total);
    narthex_shared_start(bytes, BLOCK_BYTES);
    bodies_create(total);
    tree_create();
    pulls = malloc(bodies.capacity * sizeof *pulls);
    narthex_check(pulls, "node %d has no memory for %u bodies", narthex_node(), bodies.capacity);
    narthex_barrier();
}

int main(int count, char **values) {
    long total = argument(count, values, 1, "bodies", 256, 262144, 16384);
    long steps = argument(count, values, 2, "steps", 1, 1000, 1);
    long warm_up = argument(count, values, 3, "warm-up", 0, 1000, 1);
    start((uint32_t)total);
    struct totals first = {0}, last = {0};
    for (long index = 0; index < warm_up + steps; index++) {
        if (index == warm_up)
            measure_begin();
        last = step(index ? TIME_STEP / 2 : 0);
        if (index == 0)
            first = last;
    }
    measure_end();
    checks_report(first, last, zone, pulls);
    return 0;
}
