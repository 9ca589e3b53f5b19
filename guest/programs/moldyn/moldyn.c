/* Molecular dynamics of a simple liquid, with the structure of CHARMM's non-bonded force
 * calculation (cni-isca96 Section 4.2; ni-design-hpca98 Section 5.2).
 *
 *     moldyn [PARTICLES [ITERATIONS [REBUILD]]]        by default 2048, 30 and 20
 *
 * Particles in a periodic box attract and repel each other as Lennard-Jones has it, up to a
 * cut-off. Which pairs can be that near is listed every REBUILD iterations. Each node owns a part
 * of the particles and about as large a part of the pairs. An iteration:
 *
 *     move own particles      positions are in shared memory: others' copies are invalidated
 *     barrier
 *     list own pairs          every REBUILD iterations; reads all positions
 *     forces of own pairs     on both particles, whichever node owns them; reads positions near by
 *     bulk reduction          a ring adds the nodes' forces, one node's particles a step
 *     speed own particles up
 *
 * The ring. Node n's particles are summed up by a message that starts at node n with its own forces
 * and returns when it has visited all others: as many steps as there are nodes (cni-isca96 Section
 * 4.2). All nodes' messages travel at once, so each node sends one a step, always to the same
 * neighbour (four nodes; in brackets, whose particles):
 *
 *     step 1:  0 --[0]--> 1 --[1]--> 2 --[2]--> 3 --[3]--> 0
 *     step 2:  0 --[3]--> 1 --[0]--> 2 --[1]--> 3 --[2]--> 0
 *     step 3:  0 --[2]--> 1 --[3]--> 2 --[0]--> 3 --[1]--> 0
 *     step 4:  0 --[1]--> 1 --[2]--> 2 --[3]--> 3 --[0]--> 0
 *
 * A node's sums are complete only when every node is through with its forces, so the particles may
 * move then without another barrier.
 *
 * Forces and energies are added as whole numbers of 2^-32 (Lennard-Jones units): such sums do not
 * depend on their order, so the result is the same to the last bit on any number of nodes, and
 * action equals reaction exactly. Checked are that, the momentum, the energy, and that no particle
 * has moved so far that the list may miss a pair. */
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../exact.h"
#include "../measure.h"
#include "../random_numbers.h"
#include "messaging/channels.h"
#include "messaging/collectives.h"
#include "pairs.h"
#include "shared_memory/shared_memory.h"

/* The liquid, in Lennard-Jones units: argon near its triple point. README.md says why these. */
#define DENSITY 0.83134
#define START_TEMPERATURE 0.722
#define TIME_STEP 0.00231     /* 0.016 / sqrt(48): the original's unit of time is another */
#define ENERGY_TOLERANCE 1e-3 /* share of the kinetic energy; see README.md */
#define MOMENTUM_TOLERANCE 1e-9

enum {
    SEED = 2048,
    CELL_PARTICLES = 4, /* of a face-centred cubic lattice */
    LEAST_CELLS = 4,    /* a side: the box has to be wider than two cut-offs */
    MOST_CELLS = 16,
    BLOCK_BYTES = 128,       /* of shared memory: Table 4 shows messages of 128 bytes and header */
    PARTICLES_PER_UNIT = 16, /* the fewest that fill whole blocks: 384 bytes */
    CHANNEL = 1
};

/* What one iteration leaves behind on a node; summed over the nodes by the check. */
struct record {
    fixed potential, kinetic;
    fixed force[3];
};

static int node, nodes;
static int particles, iterations, rebuild;
static int share;              /* particles of a node; the last ones may have fewer */
static int own_first, own_end; /* this node's */
static double box;             /* side of the periodic box */

static vector *position;  /* of all particles, in shared memory */
static vector *velocity;  /* of own particles */
static fixed (*force)[3]; /* on all particles, from own pairs */
static struct record *records;
static struct narthex_channel *next, *previous;
static uint64_t reduction_ns; /* in the bulk reduction so far, with waiting for other nodes */

/* Preparing */

static int find_cells(void) {
    for (int cells = LEAST_CELLS; cells <= MOST_CELLS; cells++)
        if (CELL_PARTICLES * cells * cells * cells == particles)
            return cells;
    narthex_fail("moldyn: %d particles do not fill a lattice; allowed are 4*k*k*k for k from %d to "
                 "%d: 256, 500, 864, 1372, 2048, ...",
                 particles, LEAST_CELLS, MOST_CELLS);
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

static void divide_particles(void) {
    int units = (particles + PARTICLES_PER_UNIT - 1) / PARTICLES_PER_UNIT;
    share = (units + nodes - 1) / nodes * PARTICLES_PER_UNIT;
    own_first = smaller(node * share, particles);
    own_end = smaller(own_first + share, particles);
}

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count + 1, bytes); /* nodes may own nothing */
    narthex_check(memory, "node %d has no memory for %zu times %zu bytes", node, count, bytes);
    return memory;
}

static void allocate_all(void) {
    size_t own = (size_t)(own_end - own_first), all = (size_t)(share * nodes);
    narthex_shared_start(all * sizeof(vector), BLOCK_BYTES);
    position = narthex_shared_allocate(all * sizeof(vector), 0, (size_t)share * sizeof(vector));
    velocity = allocate(own, sizeof *velocity);
    force = allocate(all, sizeof *force);
    pairs_start(position, particles, own_first, own_end, box, allocate(pairs_room_bytes(own), 1));
    records = allocate((size_t)iterations, sizeof *records);
}

static void open_ring(void) {
    size_t bytes = (size_t)share * sizeof *force;
    if (nodes > 1) {
        next = narthex_channel_to((node + 1) % nodes, CHANNEL, bytes);
        previous = narthex_channel_from((node + nodes - 1) % nodes, CHANNEL, bytes);
    }
}

/* Own particles take their places in the lattice, which goes cell by cell. */
static void place_particles(int cells) {
    static const vector basis[CELL_PARTICLES] = {{0, 0, 0}, {0, .5, .5}, {.5, 0, .5}, {.5, .5, 0}};
    double side = box / cells;
    for (int i = own_first; i < own_end; i++) {
        int cell = i / CELL_PARTICLES;
        int at[3] = {cell / (cells * cells), cell / cells % cells, cell % cells};
        for (int axis = 0; axis < 3; axis++)
            position[i][axis] = (at[axis] + 0.25 + basis[i % CELL_PARTICLES][axis]) * side;
    }
}

/* Evenly distributed velocities of the starting temperature, without a common drift. Every node
 * draws all of them and keeps its own. */
static void draw_velocities(void) {
    double spread = __builtin_sqrt(12 * START_TEMPERATURE);
    vector mean = {0, 0, 0};
    uint64_t state = random_start(SEED, 0);
    for (int i = 0; i < particles; i++)
        for (int axis = 0; axis < 3; axis++) {
            double drawn = spread * (random_uniform(&state) - 0.5);
            mean[axis] += drawn / particles;
            if (i >= own_first && i < own_end)
                velocity[i - own_first][axis] = drawn;
        }
    for (int i = 0; i < own_end - own_first; i++)
        for (int axis = 0; axis < 3; axis++)
            velocity[i][axis] -= mean[axis];
}

static void prepare(void) {
    int cells = find_cells();
    box = cells * __builtin_cbrt(CELL_PARTICLES / DENSITY);
    divide_particles();
    allocate_all();
    open_ring();
    place_particles(cells);
    draw_velocities();
}

/* The bulk reduction */

static void add(fixed *to, const fixed *values, int count) {
    for (int index = 0; index < count; index++)
        to[index] += values[index];
}

static void reduce_forces(void) {
    uint64_t since_ns = narthex_time_ns();
    size_t bytes = (size_t)share * sizeof *force;
    for (int step = 0; nodes > 1 && step < nodes; step++) {
        int sent = (node + nodes - step) % nodes, received = (sent + nodes - 1) % nodes;
        narthex_channel_send(next, force[sent * share], bytes);
        const fixed *sums = narthex_channel_receive(previous, NULL);
        if (received == node)
            memcpy(force[received * share], sums, bytes); /* own forces went in at the start */
        else
            add(force[received * share], sums, 3 * share);
        narthex_channel_release(previous);
    }
    reduction_ns += narthex_time_ns() - since_ns;
}

/* Motion, by the velocity Verlet method */

/* Own velocities change by half a step under the present forces. */
static void accelerate(void) {
    const double half_step = TIME_STEP / 2 / FIXED_ONE;
    for (int i = own_first; i < own_end; i++)
        for (int axis = 0; axis < 3; axis++)
            velocity[i - own_first][axis] += half_step * (double)force[i][axis];
}

static double into_box(double place) {
    if (place >= box)
        return place - box;
    return place < 0 ? place + box : place;
}

static void move(void) {
    for (int i = own_first; i < own_end; i++)
        for (int axis = 0; axis < 3; axis++)
            position[i][axis] =
                into_box(position[i][axis] + TIME_STEP * velocity[i - own_first][axis]);
}

static struct record take_record(fixed potential) {
    struct record record = {.potential = potential};
    for (int i = own_first; i < own_end; i++) {
        const double *v = velocity[i - own_first];
        record.kinetic += to_fixed((v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) / 2);
        add(record.force, force[i], 3);
    }
    return record;
}

/* The forces of the lattice's particles cancel, so the first step starts with none. */
static void simulate(void) {
    for (int iteration = 0; iteration < iterations; iteration++) {
        accelerate();
        move();
        narthex_barrier();
        if (iteration % rebuild == 0)
            pairs_list();
        memset(force, 0, (size_t)(share * nodes) * sizeof *force);
        fixed potential = pairs_add_forces(force);
        reduce_forces();
        accelerate();
        records[iteration] = take_record(potential);
        if ((iteration + 1) % rebuild == 0 || iteration + 1 == iterations)
            pairs_check(rebuild);
    }
}

/* Checking */

static double total_energy(const struct record *record) {
    return (double)(record->potential + record->kinetic) / FIXED_ONE;
}

static void check_momentum(void) {
    vector momentum = {0, 0, 0};
    for (int i = 0; i < own_end - own_first; i++)
        for (int axis = 0; axis < 3; axis++)
            momentum[axis] += velocity[i][axis];
    narthex_all_reduce(momentum, 3, NARTHEX_DOUBLE, NARTHEX_SUM);
    for (int axis = 0; axis < 3; axis++)
        narthex_check(__builtin_fabs(momentum[axis]) < MOMENTUM_TOLERANCE * particles,
                      "the momentum along axis %d is %g instead of 0", axis, momentum[axis]);
}

static void check_records(void) {
    const struct record *first = records;
    double kinetic = (double)first->kinetic / FIXED_ONE, drift = 0;
    for (int iteration = 0; iteration < iterations; iteration++) {
        const struct record *record = records + iteration;
        for (int axis = 0; axis < 3; axis++)
            narthex_check(record->force[axis] == 0,
                          "iteration %d: the forces along axis %d add up to %g instead of 0",
                          iteration, axis, (double)record->force[axis] / FIXED_ONE);
        double change = __builtin_fabs(total_energy(record) - total_energy(first)) / kinetic;
        drift = change > drift ? change : drift;
    }
    narthex_check(drift < ENERGY_TOLERANCE,
                  "the total energy has changed by %g of the kinetic energy, more than %g", drift,
                  ENERGY_TOLERANCE);
    if (node == 0)
        narthex_report("energy drift", drift, "of the kinetic energy");
}

static void check_and_report(void) {
    int64_t pairs = pairs_count();
    narthex_all_reduce(&pairs, 1, NARTHEX_INT64, NARTHEX_SUM);
    narthex_all_reduce(records, (size_t)iterations * sizeof *records / sizeof(fixed), NARTHEX_INT64,
                       NARTHEX_SUM);
    check_momentum();
    check_records();
    if (node != 0)
        return;
    const struct record *last = records + iterations - 1;
    narthex_report("bulk reduction", (double)reduction_ns, "ns");
    narthex_report("total energy", total_energy(last) / particles, "a particle");
    narthex_report("temperature", (double)last->kinetic / FIXED_ONE / particles * 2 / 3, "");
    narthex_report("listed pairs", (double)pairs, "pairs");
}

int main(int count, char **values) {
    node = narthex_node();
    nodes = narthex_nodes();
    particles = (int)argument(count, values, 1, "particles", 1, 1000000, 2048);
    iterations = (int)argument(count, values, 2, "iterations", 1, 10000, 30);
    rebuild = (int)argument(count, values, 3, "rebuild", 1, 10000, 20);
    prepare();
    measure_begin();
    simulate();
    measure_end();
    check_and_report();
    return 0;
}
