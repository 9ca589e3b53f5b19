/* Checks: the molecules are all there and where they belong, energy and momentum stay, the gas
 * collides as often and comes to equilibrium as kinetic theory says. None of this is in the
 * measured time. */
#include "../exact.h"

#include "checks.h"

#include <math.h>

#include "../pattern.h"
#include "grid.h"
#include "messaging/collectives.h"
#include "molecules.h"

/* Bounds. Velocities are floats: each of some ten collisions rounds a molecule's energy by up to
 * 1e-7 of itself, either way. */
#define ENERGY_BOUND 1e-6
#define MOMENTUM_BOUND 1e-6

#define MAXWELL_KURTOSIS (5.0 / 3) /* mean fourth power of the speed over the square's square */
#define MAXWELL_SPEED                                                                              \
    0.92131773192356 /* sqrt(8 / (3 pi)): mean speed where the mean square is 1                    \
                      */

static void sum_over_nodes(void *values, size_t bytes) {
    narthex_all_reduce(values, bytes / sizeof(double), NARTHEX_DOUBLE, NARTHEX_SUM);
}

static double speed_square(const struct molecule *molecule) {
    double square = 0;
    for (int axis = 0; axis < 3; axis++)
        square += (double)molecule->velocity[axis] * molecule->velocity[axis];
    return square;
}

struct invariants checks_invariants(void) {
    struct invariants sums = {0};
    for (uint32_t index = 0; index < molecules.count; index++) {
        const struct molecule *molecule = &molecules.all[index];
        sums.count += 1;
        sums.names += molecule->name;
        sums.momentum += molecule->velocity[0];
        sums.energy += speed_square(molecule) / 2 + molecule->rotation;
    }
    sum_over_nodes(&sums, sizeof sums);
    return sums;
}

/* Each molecule is in the cell that its position says, on the node that has it, in order. */
static void check_places(void) {
    for (uint32_t place = 0; place < grid.own_count; place++)
        for (uint32_t index = molecules.start[place]; index < molecules.start[place + 1]; index++) {
            const struct molecule *molecule = &molecules.all[index];
            uint32_t cell = grid.own[place], rest = cell % (uint32_t)grid.offset[0][1];
            float corner[3] = {(float)(cell / (uint32_t)grid.offset[0][1]),
                               (float)(rest / (uint32_t)grid.cells[2]),
                               (float)(rest % (uint32_t)grid.cells[2])};
            for (int axis = 0; axis < 3; axis++)
                narthex_check(molecule->cell == cell && molecule->position[axis] >= corner[axis] &&
                                  molecule->position[axis] <= corner[axis] + 1,
                              "node %d: molecule %u at %g on axis %d is not in cell %u",
                              narthex_node(), molecule->name, (double)molecule->position[axis],
                              axis, cell);
        }
}

static void check_invariants(const struct invariants *start, const struct invariants *now) {
    double error = fabs(now->energy / start->energy - 1);
    narthex_check(now->count == start->count && now->names == start->names,
                  "there are %g molecules whose names add up to %g, not %g and %g", now->count,
                  now->names, start->count, start->names);
    narthex_check(error < ENERGY_BOUND, "the energy has changed by %g of itself", error);
    error = fabs(now->momentum - start->momentum) / now->count;
    narthex_check(error < MOMENTUM_BOUND, "the momentum has changed by %g a molecule", error);
}

/* Half of the molecules times the mean speed over the mean free path, and the statistical error of
 * the number; molecules of one speed collide up to 2 % more often, a fresh cell's five up to 20 %
 * less. */
static void check_collisions(double molecules_of_all, double collisions, int iterations) {
    double expected = molecules_of_all / 2 * MAXWELL_SPEED * TIME_STEP * iterations;
    double bound = 0.05 + 0.2 / iterations + 4 / sqrt(expected);
    narthex_check(fabs(collisions / expected - 1) < bound,
                  "%g collisions; kinetic theory expects %g", collisions, expected);
}

/* From one speed for all (1) towards Maxwell's distribution (5/3), by half in six iterations at
 * least. */
static void check_distribution(double kurtosis, double molecules_of_all, int iterations) {
    double bound = (MAXWELL_KURTOSIS - 1) * exp2(-iterations / 6.0) + 8 / sqrt(molecules_of_all);
    narthex_check(fabs(kurtosis - MAXWELL_KURTOSIS) < bound,
                  "the kurtosis of the speeds is %g; Maxwell's distribution has %g", kurtosis,
                  MAXWELL_KURTOSIS);
}

/* The temperatures of flight and rotation start equal. While all molecules have one speed, those
 * that collide bring 0.6 of energy along and not the 0.667 of equilibrium, so that rotation loses
 * up to 5 % at first. */
static void check_equipartition(double flight, double rotation, double molecules_of_all) {
    double ratio = rotation / (flight * 2 / 3);
    narthex_check(fabs(ratio - 1) < 0.05 + 4 / sqrt(molecules_of_all),
                  "the rotation has %g of the flight's temperature", ratio);
}

struct moments {
    double square, fourth_power, rotation, knudsen;
};

static struct moments sum_moments(double knudsen) {
    struct moments sums = {.knudsen = knudsen};
    for (uint32_t index = 0; index < molecules.count; index++) {
        double square = speed_square(&molecules.all[index]);
        sums.square += square;
        sums.fourth_power += square * square;
        sums.rotation += molecules.all[index].rotation;
    }
    sum_over_nodes(&sums, sizeof sums);
    return sums;
}

/* Depends on every bit of where each molecule is and how fast. */
static int64_t checksum(void) {
    int64_t sum = 0;
    for (uint32_t index = 0; index < molecules.count; index++) {
        uint64_t words[4] = {0}, key = molecules.all[index].name;
        memcpy(words, molecules.all[index].position, 7 * sizeof(float));
        for (int word = 0; word < 4; word++)
            key = pattern_word(key, 0) ^ words[word];
        sum += (int64_t)(pattern_word(key, 0) & 0xffffffff);
    }
    return sum;
}

void checks_report(struct invariants start, int iterations, uint64_t collisions, double knudsen) {
    struct invariants now = checks_invariants();
    struct moments sums = sum_moments(knudsen);
    int64_t counts[3] = {(int64_t)collisions, checksum(), (int64_t)molecules.sent};
    narthex_all_reduce(counts, 3, NARTHEX_INT64, NARTHEX_SUM);
    check_places();
    if (narthex_node() != 0)
        return;
    double kurtosis = sums.fourth_power * now.count / (sums.square * sums.square);
    check_invariants(&start, &now);
    check_collisions(now.count, (double)counts[0], iterations);
    check_distribution(kurtosis, now.count, iterations);
    check_equipartition(sums.square / 2, sums.rotation, now.count);
    narthex_report("total energy", now.energy, "energy");
    narthex_report("collisions", (double)counts[0], "collisions");
    narthex_report("kurtosis of the speeds", kurtosis, "");
    narthex_report("mean local Knudsen number", sums.knudsen / grid.total, "");
    narthex_report("checksum", (double)counts[1], "");
    narthex_report("molecules sent", (double)counts[2], "messages");
}
