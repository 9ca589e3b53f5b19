/* A rarefied gas by direct simulation Monte Carlo: molecules move, change cells and nodes, and
 * collide (ni-design-hpca98 Section 5.2: 48,600 particles, 9,720 cells, 20 iterations).
 *
 *     dsmc [X [Y [Z [PER-CELL [ITERATIONS]]]]]
 *                        by default 36 x 18 x 15 cells of 5 molecules, 20 iterations
 *
 * An iteration: move the molecules and send those that leave the node's cells, one active message
 * each; let those of each cell collide; every SAMPLING iterations publish the cells' averages in
 * shared memory and read the neighbours'. grid.h, gas.h, molecules.h and field.h are one part each.
 *
 * Checked: molecules, energy and momentum stay; rate of collisions, distribution of speeds and
 * equipartition are those of kinetic theory. See README.md. */
#include <stdbool.h>

#include "../arguments.h"
#include "../measure.h"
#include "checks.h"
#include "field.h"
#include "grid.h"
#include "molecules.h"

#define FASTEST_AT_FIRST 2.0 /* two molecules of speed 1 that meet */

enum {
    POLL_CELLS = 4,
    CELLS_LIMIT = 1024,
    MOLECULES_LIMIT = 4000000,
    SAMPLING = 4 /* iterations from one to the next; README.md says why */
};

static double *fastest; /* relative speed in each of this node's cells */

static void create_gas(int per_cell) {
    gas_start(per_cell);
    molecules_create(per_cell);
    fastest = malloc((grid.own_count + 1) * sizeof *fastest);
    narthex_check(fastest, "node %d has no memory for %u cells", narthex_node(), grid.own_count);
    for (uint32_t place = 0; place < grid.own_count; place++)
        fastest[place] = FASTEST_AT_FIRST;
}

static uint64_t collide_all(uint32_t iteration) {
    uint64_t collisions = 0;
    for (uint32_t place = 0; place < grid.own_count; place++) {
        uint32_t begin = molecules.start[place], end = molecules.start[place + 1];
        collisions += gas_collide(molecules.all + begin, end - begin, iteration, &fastest[place]);
        if (place % POLL_CELLS == 0)
            narthex_poll();
    }
    return collisions;
}

int main(int count, char **values) {
    int cells[3] = {(int)argument(count, values, 1, "x", 2, CELLS_LIMIT, 36),
                    (int)argument(count, values, 2, "y", 2, CELLS_LIMIT, 18),
                    (int)argument(count, values, 3, "z", 2, CELLS_LIMIT, 15)};
    long total = (long)cells[0] * cells[1] * cells[2];
    int per_cell = (int)argument(count, values, 4, "molecules per cell", 1, 100, 5);
    int iterations = (int)argument(count, values, 5, "iterations", 1, 100000, 20);
    narthex_check(total <= UINT16_MAX && total * per_cell <= MOLECULES_LIMIT,
                  "dsmc: %ld cells of %d molecules; allowed are %d cells and %d molecules", total,
                  per_cell, UINT16_MAX, MOLECULES_LIMIT);
    grid_create(cells);
    create_gas(per_cell);
    field_create();
    struct invariants start = checks_invariants();
    uint64_t collisions = 0;
    double knudsen = 0;
    measure_begin();
    for (int iteration = 0; iteration < iterations; iteration++) {
        molecules_move();
        collisions += collide_all((uint32_t)iteration);
        bool is_sampled = iteration % SAMPLING == 0;
        if (is_sampled)
            field_publish(iteration / SAMPLING + 1);
        narthex_barrier(); /* the field is whole, and no molecule is on its way */
        if (is_sampled)
            knudsen = field_knudsen();
    }
    measure_end();
    checks_report(start, iterations, collisions, knudsen);
    return 0;
}
