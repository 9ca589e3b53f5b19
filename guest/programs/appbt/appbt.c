/* Solves a model of compressible flow in a cube, five coupled fields, by an implicit method with
 * block tridiagonal systems along x, y and z, in shared memory.
 *
 *     appbt [SIZE [ITERATIONS [BLOCK]]]
 *
 * By default 24 points along each edge and 4 iterations (ni-design-hpca98 Table 4) with blocks of
 * shared memory of 32 bytes.
 *
 * An iteration is a step of pseudo-time towards the steady state (alternating directions, after
 * Beam and Warming):
 *
 *     right-hand side   what the fields of a point and its six neighbours are short of it
 *     x, y, z           a block tridiagonal system along each line of points (lines.c)
 *     update            the fields take the change
 *
 * The cube is divided into subcubes, one for each node (cube.c). Nodes communicate through shared
 * memory alone, where subcubes meet. The equations and their known solution are in model.c;
 * README.md says how the paper's program corresponds to this and what is checked. */
#include <math.h>
#include <stdlib.h>

#include "messaging/collectives.h"
#include "narthex.h"

#include "../arguments.h"
#include "../exact.h"
#include "../measure.h"
#include "lines.h"

/* Of the fields, a few units, and of what differences over a small distance make of it. */
#define ROUNDING 1e-9

static double *sources; /* FIELDS numbers for each point of this node */
static double *changes; /* likewise */

typedef void point_function(int x, int y, int z, int number);

static void for_all_points(point_function *function) {
    for (int x = 0; x < cube.count[0]; x++)
        for (int y = 0; y < cube.count[1]; y++) {
            for (int z = 0; z < cube.count[2]; z++)
                function(x, y, z, point_number(x, y, z));
            narthex_poll();
        }
}

static void point_solution(int x, int y, int z, double *fields) {
    model_solution((const int[]){cube.begin[0] + x, cube.begin[1] + y, cube.begin[2] + z}, fields);
}

/* Preparation */

/* Sources that keep the solution as it is. */
static void make_sources(int x, int y, int z, int number) {
    double own[FIELDS], before[DIRECTIONS][FIELDS], behind[DIRECTIONS][FIELDS];
    struct neighbours neighbours;
    point_solution(x, y, z, own);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        int dx = direction == 0, dy = direction == 1, dz = direction == 2;
        point_solution(x - dx, y - dy, z - dz, before[direction]);
        point_solution(x + dx, y + dy, z + dz, behind[direction]);
        neighbours.before[direction] = before[direction];
        neighbours.behind[direction] = behind[direction];
    }
    double *source = &sources[number * FIELDS];
    model_change(own, &neighbours, source);
    for (int field = 0; field < FIELDS; field++)
        source[field] = -source[field];
}

static void make_first_guess(int x, int y, int z, int number) {
    model_first_guess((const int[]){cube.begin[0] + x, cube.begin[1] + y, cube.begin[2] + z},
                      fields_of(number));
}

static double *allocate_points(void) {
    double *values = malloc((size_t)cube.points * FIELDS * sizeof *values);
    narthex_check(values, "node %d has no memory for %d points", narthex_node(), cube.points);
    return values;
}

static void prepare(void) {
    sources = allocate_points();
    changes = allocate_points();
    for_all_points(make_sources);
    for_all_points(make_first_guess);
}

/* Iteration */

static void find_right_side(int x, int y, int z, int number) {
    struct neighbours neighbours = neighbours_of(x, y, z);
    double *change = &changes[number * FIELDS];
    model_change(fields_of(number), &neighbours, change);
    for (int field = 0; field < FIELDS; field++)
        change[field] = model_step() * (change[field] + sources[number * FIELDS + field]);
    narthex_poll();
}

static void update(int x, int y, int z, int number) {
    (void)x, (void)y, (void)z;
    double *fields = fields_of(number);
    for (int field = 0; field < FIELDS; field++)
        fields[field] += changes[number * FIELDS + field];
}

/* No barrier stands before the update: a node has solved its lines with those of all its
 * neighbours, both ways, which they took part in after their right-hand sides, for which alone they
 * read its fields. */
static void iterate(void) {
    for_all_points(find_right_side);
    for (int direction = 0; direction < DIRECTIONS; direction++)
        lines_solve(direction, changes);
    for_all_points(update);
    narthex_barrier();
}

/* Checks */

static double worst, sum;

static void raise_worst(double value) {
    worst = fabs(value) > worst ? fabs(value) : worst;
}

static void look_at_right_side(int x, int y, int z, int number) {
    find_right_side(x, y, z, number);
    for (int field = 0; field < FIELDS; field++)
        raise_worst(changes[number * FIELDS + field] / model_step());
}

static void look_at_error(int x, int y, int z, int number) {
    double solution[FIELDS];
    point_solution(x, y, z, solution);
    for (int field = 0; field < FIELDS; field++)
        raise_worst(fields_of(number)[field] - solution[field]);
}

static void add_fields(int x, int y, int z, int number) {
    (void)x, (void)y, (void)z;
    for (int field = 0; field < FIELDS; field++)
        sum += fields_of(number)[field];
}

/* The largest number that the function finds at a point of any node. */
static double largest(point_function *function) {
    worst = 0;
    narthex_barrier();
    for_all_points(function);
    narthex_all_reduce(&worst, 1, NARTHEX_DOUBLE, NARTHEX_MAXIMUM);
    return worst;
}

static double checksum(void) {
    sum = 0;
    for_all_points(add_fields);
    narthex_all_reduce(&sum, 1, NARTHEX_DOUBLE, NARTHEX_SUM);
    return sum;
}

/* How far the fields are from those of a steady state, and from the known solution. */
struct distance {
    double residual, error;
};

static struct distance look(void) {
    return (struct distance){largest(look_at_right_side), largest(look_at_error)};
}

/* In a step diffusion leaves 1 / (1 + 3 pi^2 0.1 0.1), or 0.77, of the smoothest bump, so the
 * residual falls to at most 0.8 in each; at first, for of short waves this method leaves more. And
 * where the residual is small the fields are near the solution: diffusion alone takes a bump away
 * at three times its height a unit of time. */
static void check_progress(struct distance first, struct distance last, int iterations) {
    double bound = first.residual * pow(0.8, iterations < 8 ? iterations : 8);
    narthex_check(last.residual <= bound,
                  "the residual has fallen from %g to %g in %d iterations: it should be %g at most",
                  first.residual, last.residual, iterations, bound);
    narthex_check(last.error <= last.residual + ROUNDING,
                  "the fields are %g from the solution of the equations, with a residual of %g",
                  last.error, last.residual);
}

static void check(struct distance first, struct distance last, int iterations) {
    double sum_of_fields = checksum();
    if (narthex_node() != 0)
        return;
    narthex_report("residual at the start", first.residual, "");
    narthex_report("residual", last.residual, "");
    narthex_report("error at the start", first.error, "");
    narthex_report("error", last.error, "");
    narthex_report("checksum", sum_of_fields, "");
    check_progress(first, last, iterations);
}

int main(int count, char **values) {
    int size = (int)argument(count, values, 1, "size", 1, 128, 24);
    int iterations = (int)argument(count, values, 2, "iterations", 1, 10000, 4);
    size_t block_bytes = (size_t)argument(count, values, 3, "block bytes", 16, 1024, 32);
    model_start(size);
    cube_start(size, block_bytes);
    lines_start();
    prepare();
    struct distance first = look();
    measure_begin();
    for (int iteration = 0; iteration < iterations; iteration++)
        iterate();
    measure_end();
    check(first, look(), iterations);
    return 0;
}
