/* Solves a dense system of linear equations by Gaussian elimination with partial pivoting, in
 * single precision.
 *
 *     gauss [SIZE [DIRECT]]
 *
 * By default 512 equations (cni-isca96 Table 3) and a broadcast along a tree (DIRECT 0); with
 * DIRECT 1 the owner of a pivot row sends it to each of the others itself.
 *
 * The rows, each with its right-hand side behind it, are dealt out cyclically: row r lies on node
 * r modulo the nodes, so that every node keeps work until the end. For each column in turn
 *
 *     all    look for the largest element of the column among their rows, and agree on the largest
 *            of all (all-reduce): its row is the pivot row
 *     owner  broadcasts the pivot row, two kilobytes
 *     all    subtract a multiple of it from each of their rows that has not been a pivot row
 *
 * Rows stay where they are. Then the unknowns are found from the last to the first: the owner of
 * its pivot row broadcasts each, and all take its part away from their right-hand sides.
 *
 * Every element goes through the same operations in the same order whatever the number of nodes.
 * See README.md for what the paper leaves open and how the solution is checked. */

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "messaging/collectives.h"
#include "narthex.h"

#include "../arguments.h"
#include "../exact.h"
#include "../measure.h"
#include "../pattern.h"

enum { SEED = 1996, LINE_FLOATS = 16 /* 64 bytes, the block of the caches */ };

static int size;           /* equations */
static int node, nodes;    /* this one, and how many */
static int own_rows;       /* rows on this node */
static size_t row_floats;  /* from one row to the next: whole blocks of the cache */
static float *rows;        /* this node's rows, each with its right-hand side at place `size` */
static float *arrived_row; /* a pivot row of another node */
static int *pivot_column;  /* of each own row: the column that it was the pivot row of */
static int *pivot_row;     /* of each column */
static float *solution;
static bool is_direct;              /* a row's owner sends it to each of the others */
static int rows_arrived, rows_used; /* from other nodes, so */

enum { NO_COLUMN = -1, ROW = 1 /* the handler of rows */ };

static void *allocate(size_t bytes) {
    size_t line = LINE_FLOATS * sizeof(float);
    void *memory = aligned_alloc(line, (bytes + line) / line * line);
    narthex_check(memory, "node %d has no memory for %zu bytes", node, bytes);
    return memory;
}

static float *own_row(int index) {
    return rows + (size_t)index * row_floats;
}

/* The row of the system that is this node's row `index`. */
static int system_row(int index) {
    return index * nodes + node;
}

/* Input */

/* A number from -1 to 1 that single precision represents exactly. */
static float random_element(uint64_t *state) {
    return (float)((int32_t)(random_next(state) >> 40) - (1 << 23)) / (float)(1 << 23);
}

static void make_elements(float *elements, int row) {
    uint64_t state = random_start(SEED, row);
    for (int column = 0; column < size; column++)
        elements[column] = random_element(&state);
}

/* What the solution is up to rounding: the row of random numbers behind the last of the matrix. */
static void make_known(float *known) {
    make_elements(known, size);
}

/* Left side of an equation for these values of the unknowns, without much rounding. */
static double left_side(const float *elements, const float *values) {
    double sum = 0;
    for (int column = 0; column < size; column++)
        sum += (double)elements[column] * (double)values[column];
    return sum;
}

static void make_system(void) {
    float *known = allocate((size_t)size * sizeof *known);
    make_known(known);
    for (int index = 0; index < own_rows; index++) {
        float *row = own_row(index);
        make_elements(row, system_row(index));
        row[size] = (float)left_side(row, known);
        pivot_column[index] = NO_COLUMN;
    }
    free(known);
}

/* Elimination */

/* Of two of these the larger one is the better pivot: the element with the larger absolute value,
 * and of two equal ones that in the upper row. */
static int64_t pivot_merit(float element, int row) {
    float magnitude = fabsf(element);
    uint32_t bits; /* of numbers that are not negative, the larger one has the larger bits */
    memcpy(&bits, &magnitude, sizeof bits);
    return (int64_t)((uint64_t)bits << 32 | (uint32_t)~row);
}

static int find_pivot_row(int column) {
    int64_t best = 0;
    for (int index = 0; index < own_rows; index++)
        if (pivot_column[index] == NO_COLUMN) {
            int64_t merit = pivot_merit(own_row(index)[column], system_row(index));
            best = merit > best ? merit : best;
        }
    narthex_all_reduce(&best, 1, NARTHEX_INT64, NARTHEX_MAXIMUM);
    narthex_check(best >> 32 != 0, "the system of %d equations is singular at column %d", size,
                  column);
    return (int)~(uint32_t)best;
}

static void on_row(int source, const void *payload, size_t bytes) {
    (void)source;
    memcpy(arrived_row, payload, bytes);
    rows_arrived += 1;
}

/* A broadcast without a tree. There is never a second row on its way: its owner is found by a
 * reduction that this node joins when it has done with the first. */
static void send_to_each(int owner, const float *row, size_t bytes) {
    if (owner == node)
        for (int distance = 1; distance < nodes; distance++)
            narthex_send((node + distance) % nodes, ROW, row, bytes);
    else
        for (int before = rows_used++; rows_arrived == before;)
            narthex_poll();
}

/* The pivot row of this column, which its owner sends to all. */
static const float *spread_pivot_row(int column) {
    int row = pivot_row[column], owner = row % nodes;
    float *data = owner == node ? own_row(row / nodes) : arrived_row;
    if (owner == node)
        pivot_column[row / nodes] = column;
    size_t bytes = (size_t)(size + 1) * sizeof *data;
    if (is_direct)
        send_to_each(owner, data, bytes);
    else
        narthex_broadcast(owner, data, bytes);
    return data;
}

static void subtract(float *restrict row, const float *restrict pivot, int column) {
    float factor = row[column] / pivot[column];
#pragma GCC unroll 4
    for (int place = column + 1; place <= size; place++)
        row[place] -= factor * pivot[place];
}

static void eliminate(int column) {
    pivot_row[column] = find_pivot_row(column);
    const float *pivot = spread_pivot_row(column);
    for (int index = 0; index < own_rows; index++)
        if (pivot_column[index] == NO_COLUMN) {
            subtract(own_row(index), pivot, column);
            narthex_poll();
        }
}

/* Back substitution */

static void find_unknown(int column) {
    int row = pivot_row[column], owner = row % nodes;
    if (owner == node) {
        const float *equation = own_row(row / nodes);
        solution[column] = equation[size] / equation[column];
    }
    narthex_broadcast(owner, &solution[column], sizeof *solution);
    for (int index = 0; index < own_rows; index++)
        if (pivot_column[index] < column)
            own_row(index)[size] -= own_row(index)[column] * solution[column];
}

static void solve(void) {
    for (int column = 0; column < size; column++)
        eliminate(column);
    for (int column = size - 1; column >= 0; column--)
        find_unknown(column);
}

/* Checks */

/* The largest difference between the two sides of an equation of this node, in units of what one
 * rounding of every product could come to. The rows are made again: they have been changed. */
static double own_residual(void) {
    float *known = allocate((size_t)size * sizeof *known);
    double worst = 0;
    make_known(known);
    for (int index = 0; index < own_rows; index++) {
        float *row = own_row(index);
        make_elements(row, system_row(index));
        double roundings = 0;
        for (int column = 0; column < size; column++)
            roundings += fabs((double)row[column] * (double)solution[column]) * FLT_EPSILON;
        double right_side = (double)(float)left_side(row, known);
        double residual = fabs(left_side(row, solution) - right_side) / roundings;
        worst = residual > worst ? residual : worst;
    }
    free(known);
    return worst;
}

/* The largest difference between an unknown and its known value. */
static double solution_error(void) {
    float *known = allocate((size_t)size * sizeof *known);
    double worst = 0;
    make_known(known);
    for (int column = 0; column < size; column++) {
        double error = fabs((double)solution[column] - (double)known[column]);
        worst = error > worst ? error : worst;
    }
    free(known);
    return worst;
}

static double checksum(void) {
    double sum = 0;
    for (int column = 0; column < size; column++)
        sum += (double)solution[column] * (column + 1);
    return sum;
}

static void check(void) {
    double residual = own_residual();
    narthex_all_reduce(&residual, 1, NARTHEX_DOUBLE, NARTHEX_MAXIMUM);
    narthex_check(residual <= size,
                  "the solution of %d equations is wrong: an equation's sides differ by %g "
                  "roundings, and no element went through more than %d",
                  size, residual, size);
    if (node == 0) {
        narthex_report("residual", residual, "roundings");
        narthex_report("solution error", solution_error(), "");
        narthex_report("checksum", checksum(), "");
    }
}

static void prepare(void) {
    node = narthex_node();
    nodes = narthex_nodes();
    own_rows = (size - node + nodes - 1) / nodes;
    own_rows = own_rows < 0 ? 0 : own_rows;
    row_floats = (size_t)(size + LINE_FLOATS) / LINE_FLOATS * LINE_FLOATS;
    rows = allocate((size_t)own_rows * row_floats * sizeof *rows);
    arrived_row = allocate(row_floats * sizeof *arrived_row);
    pivot_column = allocate((size_t)own_rows * sizeof *pivot_column);
    pivot_row = allocate((size_t)size * sizeof *pivot_row);
    solution = allocate((size_t)size * sizeof *solution);
    narthex_register_handler(ROW, on_row);
}

int main(int count, char **values) {
    size = (int)argument(count, values, 1, "size", 1, 4096, 512);
    is_direct = argument(count, values, 2, "direct", 0, 1, 0) != 0;
    prepare();
    make_system();
    measure_begin();
    solve();
    measure_end();
    check();
    return 0;
}
