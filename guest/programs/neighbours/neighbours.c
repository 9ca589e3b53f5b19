/* Heat spreads over a torus of points that the nodes have cut into squares: each exchanges the
 * edges of its square with its four neighbours in every step.
 *
 *     neighbours [SIDE [STEPS]]
 *         by default SIDE x SIDE = 32 x 32 points a node, 20 steps
 *
 * Algorithm. A point gives an eighth of its temperature to each of its four neighbours (the
 * five-point stencil). The grid grows with the machine: every node has as many points.
 *
 * Distribution. The nodes form a torus of rows x columns, as square as their number allows.
 *
 * Messages. In each step a node sends each of its four edges in an active message, computes the
 * points inside, for which it needs no other node, and then its edges with what has come meanwhile
 * (square.c).
 *
 * Checks. Temperatures begin as f(x) + g(y), with random f and g. The stencil keeps them so: f and
 * g spread by themselves. Each node computes both alone, for its own columns and rows, and compares
 * all of its points. */
#include "../exact.h"

#include <math.h>
#include <stdlib.h>

#include "../arguments.h"
#include "../measure.h"
#include "../pattern.h"
#include "messaging/collectives.h"
#include "square.h"

enum axis { X, Y };

/* What a point's place along an axis adds to its first temperature, from 0 to below 1. */
static double first_part(enum axis axis, long place) {
    return (double)(pattern_word(axis + 1, (size_t)place) >> 11) * 0x1p-53;
}

/* The parts of `count` places from `first` on, of `all` in a ring, after this many steps. What is
 * STEPS away at either end has an effect on them, and nothing beyond. Allocated. */
static double *parts(enum axis axis, long first, long count, long all, long steps) {
    long length = count + 2 * steps;
    double *part = malloc((size_t)length * sizeof *part);
    narthex_check(part, "node %d has no memory left to check %ld steps", narthex_node(), steps);
    for (long index = 0; index < length; index++)
        part[index] = first_part(axis, ((first - steps + index) % all + all) % all);
    for (; length > count; length -= 2)
        for (long index = 0; index < length - 2; index++) /* moves by one place, to the front */
            part[index] = part[index + 1] * 0.75 + part[index] * 0.125 + part[index + 2] * 0.125;
    return part;
}

static void start(const struct square *square, const struct torus *torus) {
    long side = (long)square->side;
    double *across = parts(X, torus->column * side, side, torus->columns * side, 0);
    double *down = parts(Y, torus->row * side, side, torus->rows * side, 0);
    for (size_t row = 0; row < square->side; row++)
        for (size_t column = 0; column < square->side; column++)
            *square_point(square, row, column) = across[column] + down[row];
    free(across);
    free(down);
}

static void check(const struct square *square, const struct torus *torus, long steps) {
    long side = (long)square->side;
    double *across = parts(X, torus->column * side, side, torus->columns * side, steps);
    double *down = parts(Y, torus->row * side, side, torus->rows * side, steps);
    double rounding = 4e-15 * (double)(steps + 1);
    for (size_t row = 0; row < square->side; row++)
        for (size_t column = 0; column < square->side; column++) {
            double found = *square_point(square, row, column), right = across[column] + down[row];
            narthex_check(fabs(found - right) <= rounding,
                          "neighbours: after %ld steps the point in row %zu and column %zu of node "
                          "%d has a temperature of %.17g; right is %.17g",
                          steps, row, column, narthex_node(), found, right);
        }
    free(across);
    free(down);
}

/* The temperature's mean stays, its variance falls. */
static void report(const struct square *square) {
    enum { SUM, SQUARES, VALUES };
    double sums[VALUES] = {0};
    for (size_t row = 0; row < square->side; row++)
        for (size_t column = 0; column < square->side; column++) {
            double temperature = *square_point(square, row, column);
            sums[SUM] += temperature;
            sums[SQUARES] += temperature * temperature;
        }
    narthex_all_reduce(sums, VALUES, NARTHEX_DOUBLE, NARTHEX_SUM);
    if (narthex_node() != 0)
        return;
    double points = (double)square->side * (double)square->side * narthex_nodes();
    double mean = sums[SUM] / points;
    narthex_report("mean temperature", mean, "");
    narthex_report("variance of the temperature", sums[SQUARES] / points - mean * mean, "");
}

int main(int count, char **values) {
    size_t side = (size_t)argument(count, values, 1, "side", 1, 4096, 32);
    long steps = argument(count, values, 2, "steps", 0, 1000000, 20);
    struct torus torus = torus_make();
    struct square square = square_make(side);
    square_connect(&square, &torus);
    start(&square, &torus);
    measure_begin();
    for (long step = 0; step < steps; step++)
        square_step(&square);
    measure_end();
    check(&square, &torus, steps);
    report(&square);
    return 0;
}
