/* Producers and consumers. At a sample a node adds up its molecules in private sums and
 * writes the averages to shared memory; after a barrier it reads those of the cells next to its
 * own, of which other nodes have the outermost. The copies that they read are what the next
 * writing invalidates. */
#include "../exact.h"

#include "field.h"

#include <math.h>
#include <stdlib.h>

#include "grid.h"
#include "molecules.h"
#include "narthex.h"
#include "shared_memory/shared_memory.h"

enum { BLOCK_STATES = BLOCK_BYTES / sizeof(struct state), POLL_CELLS = 4 };

/* Sums over molecules and samples. */
struct sums {
    double count, momentum[3], energy, rotation;
};

/* The states before and behind a cell along each axis. */
struct surroundings {
    const struct state *before[3], *behind[3];
};

static struct state *field; /* `part` cells a node */
static size_t part;

/* Of this node's cells. */
static struct state *own;
static struct sums *sums;
static struct surroundings *surroundings;

static const struct state *state_of(uint32_t cell) {
    return &field[grid.node[cell] * part + grid.node_place[cell]];
}

/* The cell next to this one along an axis; at a wall, the cell itself. */
static uint32_t neighbour(const int here[3], int axis, int step) {
    int there[3] = {here[0], here[1], here[2]}, last = grid.cells[axis] - 1;
    there[axis] += step;
    if (there[axis] < 0)
        there[axis] = axis == 0 ? last : 0;
    else if (there[axis] > last)
        there[axis] = axis == 0 ? 0 : last;
    return grid_cell(there[0], there[1], there[2]);
}

static struct surroundings surroundings_of(uint32_t cell) {
    struct surroundings result;
    int plane = grid.cells[1] * grid.cells[2], rest = (int)cell % plane;
    int here[3] = {(int)cell / plane, rest / grid.cells[2], rest % grid.cells[2]};
    for (int axis = 0; axis < 3; axis++) {
        result.before[axis] = state_of(neighbour(here, axis, -1));
        result.behind[axis] = state_of(neighbour(here, axis, 1));
    }
    return result;
}

void field_create(void) {
    size_t nodes = (size_t)narthex_nodes();
    part = (grid.most + BLOCK_STATES - 1) / BLOCK_STATES * BLOCK_STATES;
    size_t bytes = nodes * part * sizeof(struct state);
    narthex_shared_start(bytes, BLOCK_BYTES);
    field = narthex_shared_allocate(bytes, 0, NARTHEX_SHARED_PAGE_BYTES);
    own = field + (size_t)narthex_node() * part;
    sums = calloc(part, sizeof *sums);
    surroundings = calloc(part, sizeof *surroundings);
    narthex_check(sums && surroundings, "node %d has no memory for %zu cells", narthex_node(),
                  part);
    for (uint32_t place = 0; place < grid.own_count; place++)
        surroundings[place] = surroundings_of(grid.own[place]);
}

/* Producing */

static void add_molecules(struct sums *cell, const struct molecule *list, uint32_t count) {
    cell->count += count;
    for (uint32_t index = 0; index < count; index++) {
        for (int axis = 0; axis < 3; axis++) {
            double velocity = list[index].velocity[axis];
            cell->momentum[axis] += velocity;
            cell->energy += velocity * velocity / 2;
        }
        cell->rotation += list[index].rotation;
    }
}

/* A cell that no molecule has visited yet has no temperature. */
static struct state average(const struct sums *cell, int samples) {
    struct state state = {0};
    if (cell->count == 0)
        return state;
    double kinetic = 0;
    for (int axis = 0; axis < 3; axis++) {
        double velocity = cell->momentum[axis] / cell->count;
        kinetic += velocity * velocity / 2;
        state.velocity[axis] = (float)velocity;
    }
    double density = cell->count / samples;
    double temperature = (cell->energy / cell->count - kinetic) * (2.0 / 3);
    state.density = (float)density;
    state.temperature = (float)temperature;
    state.rotation = (float)(cell->rotation / cell->count);
    state.pressure = (float)(density * temperature);
    state.free_path = (float)(1 / (sqrt(2.0) * gas_cross_section() * density));
    return state;
}

void field_publish(int samples) {
    for (uint32_t place = 0; place < grid.own_count; place++) {
        uint32_t begin = molecules.start[place], end = molecules.start[place + 1];
        add_molecules(&sums[place], molecules.all + begin, end - begin);
        own[place] = average(&sums[place], samples);
        if (place % POLL_CELLS == 0)
            narthex_poll();
    }
}

/* Consuming */

static double square(double value) {
    return value * value;
}

static double knudsen(const struct state *state, const struct surroundings *around) {
    double density = 0, temperature = 0; /* squares of twice their gradients */
    if (state->temperature <= 0)
        return 0;
    for (int axis = 0; axis < 3; axis++) {
        const struct state *before = around->before[axis], *behind = around->behind[axis];
        density += square((double)behind->density - before->density);
        temperature += square((double)behind->temperature - before->temperature);
    }
    double by_density = sqrt(density) / state->density;
    double by_temperature = sqrt(temperature) / state->temperature;
    return state->free_path * (by_density > by_temperature ? by_density : by_temperature) / 2;
}

double field_knudsen(void) {
    double sum = 0;
    for (uint32_t place = 0; place < grid.own_count; place++) {
        sum += knudsen(&own[place], &surroundings[place]);
        if (place % POLL_CELLS == 0)
            narthex_poll();
    }
    return sum;
}
