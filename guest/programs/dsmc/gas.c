/* Collisions, after Bird's scheme without a time counter (Molecular Gas Dynamics and the Direct
 * Simulation of Gas Flows, 1994, Section 11.1): as many pairs of a cell are drawn as would collide
 * if all had the largest relative speed; each collides with the probability that its own speed is
 * of that. One collision in five exchanges energy between flight and rotation (Borgnakke and
 * Larsen's model): of the total, hard spheres give the flight a share with density 6 s (1 - s),
 * which is that of the middle one of three uniform numbers, and the two rotations share the rest
 * evenly.
 *
 * The random numbers of a cell in an iteration are a stream of their own. */
#include "../exact.h"

#include "gas.h"

#include "../random_numbers.h"
#include "grid.h"

#define SEED UINT64_C(1995)
#define START_SPEED 1.0
#define EXCHANGE_SHARE 0.2

static double cross_section;

void gas_start(int per_cell) {
    cross_section = 1 / (sqrt(2.0) * per_cell); /* mean free path 1 */
}

double gas_cross_section(void) {
    return cross_section;
}

/* All molecules start with one speed, far from equilibrium, and with the mean energy of rotation
 * that belongs to it: two thirds of that of the flight. */
struct molecule gas_create(uint32_t name, uint32_t cell) {
    struct molecule molecule = {.rotation = (float)(START_SPEED * START_SPEED / 3)};
    uint64_t state = random_start(SEED, (int)name);
    int corner[3] = {(int)cell / (grid.cells[1] * grid.cells[2]),
                     (int)cell / grid.cells[2] % grid.cells[1], (int)cell % grid.cells[2]};
    double velocity[3];
    random_direction(&state, START_SPEED, velocity);
    for (int axis = 0; axis < 3; axis++) {
        /* 14 bits: a float holds the sum for up to 1024 cells, and it stays in its cell */
        double inside = (double)(random_next(&state) >> 50) * 0x1p-14;
        molecule.position[axis] = (float)(corner[axis] + inside);
        molecule.velocity[axis] = (float)velocity[axis];
    }
    molecule.name = name;
    molecule.cell = cell;
    return molecule;
}

static double middle_of_three(uint64_t *state) {
    double a = random_uniform(state), b = random_uniform(state), c = random_uniform(state);
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Returns the relative speed after energy was exchanged. */
static double exchange(struct molecule *one, struct molecule *other, double speed,
                       uint64_t *state) {
    double total = speed * speed / 4 + one->rotation + other->rotation;
    double flight = total * middle_of_three(state), left = total - flight;
    one->rotation = (float)(left * random_uniform(state));
    other->rotation = (float)(left - one->rotation);
    return 2 * sqrt(flight);
}

static void collide(struct molecule *one, struct molecule *other, double speed, uint64_t *state) {
    double half[3];
    if (random_uniform(state) < EXCHANGE_SHARE)
        speed = exchange(one, other, speed, state);
    random_direction(state, speed / 2, half);
    for (int axis = 0; axis < 3; axis++) {
        double common = ((double)one->velocity[axis] + other->velocity[axis]) / 2;
        one->velocity[axis] = (float)(common + half[axis]);
        other->velocity[axis] = (float)(common - half[axis]);
    }
}

static double relative_speed(const struct molecule *one, const struct molecule *other) {
    double square = 0;
    for (int axis = 0; axis < 3; axis++) {
        double difference = (double)one->velocity[axis] - other->velocity[axis];
        square += difference * difference;
    }
    return sqrt(square);
}

/* A random index below `count`. */
static uint32_t draw(uint64_t *state, uint32_t count) {
    return (uint32_t)(random_uniform(state) * count);
}

uint32_t gas_collide(struct molecule *molecules, uint32_t count, uint32_t iteration,
                     double *fastest) {
    uint32_t collisions = 0;
    if (count < 2)
        return 0;
    uint64_t state = random_start(SEED + 1 + iteration, (int)molecules->cell);
    double limit = *fastest, pairs = 0.5 * count * (count - 1);
    uint32_t tries = (uint32_t)(pairs * cross_section * limit * TIME_STEP + random_uniform(&state));
    for (uint32_t try = 0; try < tries; try++) {
        struct molecule *one = &molecules[draw(&state, count)], *other;
        do
            other = &molecules[draw(&state, count)];
        while (other == one);
        double speed = relative_speed(one, other);
        *fastest = speed > *fastest ? speed : *fastest;
        if (random_uniform(&state) * limit >= speed)
            continue;
        collide(one, other, speed, &state);
        collisions++;
    }
    return collisions;
}
