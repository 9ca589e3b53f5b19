/* Checks: bodies, energy, momentum, and some forces against direct summation. None of this is in
 * the measured time. */
#include "../exact.h"

#include "checks.h"

#include <math.h>

#include "messaging/collectives.h"
#include "narthex.h"

enum { SAMPLES = 32 };

/* Bounds. A force of theta 1 without quadrupoles is wrong by a percent or so, and so is the
 * momentum that a step adds. The energy of a random model lies about -1/4, give or take
 * 1 / sqrt(bodies). */
#define FORCE_BOUND 0.1
#define DRIFT_BOUND 0.005
#define MOMENTUM_BOUND 0.002
#define ENERGY -0.25
#define ENERGY_BOUND 0.01

struct sample {
    double position[3], by_tree[3];
};

static struct sample samples[SAMPLES];
static double direct[SAMPLES][3];

static void sum_over_nodes(void *values, size_t bytes) {
    narthex_all_reduce(values, bytes / sizeof(double), NARTHEX_DOUBLE, NARTHEX_SUM);
}

/* Takes the place of every few bodies, and the tree's force there. */
static void take_samples(const struct zone *zone, const struct pull *pulls) {
    uint32_t every = bodies.total / SAMPLES;
    for (uint32_t member = 0; member < zone->count; member++) {
        uint32_t name = (uint32_t)bodies.current.motions[bodies.first + member].name;
        if (name % every || name / every >= SAMPLES)
            continue;
        const struct point *old = &bodies.following.points[zone->members[member]];
        for (int axis = 0; axis < 3; axis++) {
            samples[name / every].position[axis] = old->position[axis];
            samples[name / every].by_tree[axis] = pulls[member].acceleration[axis];
        }
    }
    sum_over_nodes(samples, sizeof samples);
}

/* Each node adds the pull of the bodies that it held in the generation before. A body does not pull
 * itself: the offset is zero. */
static void sum_directly(void) {
    for (int index = 0; index < SAMPLES; index++) {
        struct pull pull = {0};
        for (uint32_t body = 0; body < bodies.following.count; body++) {
            const struct point *source = &bodies.following.points[bodies.first + body];
            double offset[3];
            double square = forces_offset(samples[index].position, source->position, offset);
            forces_add(&pull, source->mass, offset, square);
        }
        for (int axis = 0; axis < 3; axis++)
            direct[index][axis] = pull.acceleration[axis];
        narthex_poll();
    }
    sum_over_nodes(direct, sizeof direct);
}

/* The sampled forces' root mean square error, relative to that of the forces. */
static double force_error(void) {
    double errors = 0, forces = 0;
    for (int index = 0; index < SAMPLES; index++)
        for (int axis = 0; axis < 3; axis++) {
            double force = direct[index][axis], error = samples[index].by_tree[axis] - force;
            errors += error * error;
            forces += force * force;
        }
    return sqrt(errors / forces);
}

static double length(const double vector[3]) {
    return sqrt(vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]);
}

static double energy_of(const struct totals *totals) {
    return totals->kinetic + totals->potential;
}

static void check_bodies(const struct totals *last) {
    double total = bodies.total;
    narthex_check(last->bodies == total && last->names == total * (total - 1) / 2,
                  "the zones hold %g bodies whose names add up to %g, not %g and %g", last->bodies,
                  last->names, total, total * (total - 1) / 2);
}

static void check_energy(const struct totals *first, const struct totals *last) {
    double energy = energy_of(last), drift = fabs(energy - energy_of(first)) / fabs(ENERGY);
    narthex_check(fabs(energy - ENERGY) < ENERGY_BOUND + 1 / sqrt(bodies.total),
                  "the total energy is %g; a Plummer model has %g", energy, ENERGY);
    narthex_check(drift < DRIFT_BOUND, "the total energy has drifted by %g of itself", drift);
    narthex_report("total energy", energy, "energy");
}

static void check_momentum(const struct totals *first, const struct totals *last) {
    double change[3];
    for (int axis = 0; axis < 3; axis++)
        change[axis] = last->momentum[axis] - first->momentum[axis];
    narthex_check(length(change) < MOMENTUM_BOUND * last->speed,
                  "the momentum has changed by %g of the bodies' momenta",
                  length(change) / last->speed);
}

static void check_forces(double error) {
    narthex_check(error < FORCE_BOUND, "sampled forces are wrong by %g, more than %g", error,
                  FORCE_BOUND);
    narthex_report("force error", error * 100, "percent");
}

void checks_report(struct totals first, struct totals last, const struct zone *zone,
                   const struct pull *pulls) {
    sum_over_nodes(&first, sizeof first);
    sum_over_nodes(&last, sizeof last);
    take_samples(zone, pulls);
    sum_directly();
    if (narthex_node() != 0)
        return;
    check_bodies(&last);
    check_energy(&first, &last);
    check_momentum(&first, &last);
    check_forces(force_error());
    narthex_report("interactions a body", last.interactions / last.bodies, "interactions");
}
