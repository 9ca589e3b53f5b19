/* Block tridiagonal systems, one for each line of points, by the algorithm of Thomas: forward
 *
 *     (own_i - before_i * upper_i-1) * (upper_i, right_i) = (behind_i, right_i - before_i *
 * right_i-1)
 *
 * and backward  change_i = right_i - upper_i * change_i+1.
 *
 * A line crosses several subcubes. Each goes on where the one before stopped, with the last upper_i
 * and right_i that it finds in that one's passage, and back with the first change_i. The lines are
 * handed on row by row, so that all subcubes of a direction are at work, at different rows:
 *
 *     subcube 0   row 0  row 1  row 2  ...
 *     subcube 1          row 0  row 1  ...
 *
 * The writer of a passage raises its count behind each row; the reader looks at the count until it
 * is high enough, and polls, so that the requests of other nodes are answered. For the same reason
 * all work on points is interspersed with polls: a node that asks for a block waits for the next.
 */
#include "lines.h"

#include <stdlib.h>
#include <string.h>

#include "narthex.h"
#include "runtime/marker.h"

/* A direction, and the two across it: lines lie side by side in a row, rows on top of each other.
 */
struct sweep {
    int direction;
    int points, lines, rows;
    int point_stride, line_stride, row_stride; /* between points' numbers */
};

static block *uppers;                /* of all points of this node */
static long rows_passed[DIRECTIONS]; /* in the sweeps before the present one */

void lines_start(void) {
    uppers = malloc((size_t)cube.points * sizeof *uppers);
    narthex_check(uppers, "node %d has no memory for %d blocks", narthex_node(), cube.points);
}

static struct sweep sweep_along(int direction) {
    int across = (direction + 1) % DIRECTIONS, up = (direction + 2) % DIRECTIONS;
    return (struct sweep){
        .direction = direction,
        .points = cube.count[direction],
        .lines = cube.count[across],
        .rows = cube.count[up],
        .point_stride = cube.stride[direction],
        .line_stride = cube.stride[across],
        .row_stride = cube.stride[up],
    };
}

/* Passing on */

static void await_row(int node, const struct sweep *sweep, enum sense sense, int row) {
    atomic_long *count = passage_count(node, sweep->direction, sense);
    long least = rows_passed[sweep->direction] + row + 1;
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (atomic_load_explicit(count, memory_order_acquire) < least)
        narthex_poll();
    LEAVE();
}

static void complete_row(const struct sweep *sweep, enum sense sense, int row) {
    atomic_store_explicit(passage_count(narthex_node(), sweep->direction, sense),
                          rows_passed[sweep->direction] + row + 1, memory_order_release);
}

/* Forward */

/* What a point leaves for the next of its line. */
struct eliminated {
    const double *upper, *right;
};

/* One point; `last` is what the point before has left, with no upper block at the surface. */
static struct eliminated eliminate_point(const struct sweep *sweep, int number,
                                         struct eliminated last, double *right) {
    block before, own;
    double *upper = uppers[number];
    model_blocks(sweep->direction, fields_of(number), before, own, upper);
    narthex_poll();
    if (last.upper) {
        subtract_product(own, before, last.upper);
        subtract_vector(right, before, last.right);
        narthex_poll();
    }
    solve_block(own, upper, right);
    narthex_poll();
    return (struct eliminated){upper, right};
}

static struct eliminated eliminate_line(const struct sweep *sweep, int number,
                                        struct eliminated last, double *changes) {
    for (int point = 0; point < sweep->points; point++) {
        last = eliminate_point(sweep, number, last, &changes[number * FIELDS]);
        number += sweep->point_stride;
    }
    return last;
}

static void pass_eliminated(double *passage, struct eliminated last) {
    memcpy(passage, last.upper, sizeof(block));
    memcpy(passage + BLOCK_ELEMENTS, last.right, FIELDS * sizeof(double));
}

static void eliminate_row(const struct sweep *sweep, int row, double *changes) {
    int from = next_node(sweep->direction, BACKWARD), to = next_node(sweep->direction, FORWARD);
    for (int line = 0; line < sweep->lines; line++) {
        struct eliminated last = {NULL, NULL};
        if (from != NOBODY) {
            last.upper = passage_row(from, sweep->direction, FORWARD, row) + line * FORWARD_DOUBLES;
            last.right = last.upper + BLOCK_ELEMENTS;
        }
        int number = row * sweep->row_stride + line * sweep->line_stride;
        last = eliminate_line(sweep, number, last, changes);
        if (to != NOBODY)
            pass_eliminated(passage_row(narthex_node(), sweep->direction, FORWARD, row) +
                                line * FORWARD_DOUBLES,
                            last);
    }
}

/* Backward */

static void substitute_line(const struct sweep *sweep, int number, const double *next,
                            double *changes) {
    for (int point = sweep->points - 1; point >= 0; point--) {
        int at = number + point * sweep->point_stride;
        double *change = &changes[at * FIELDS];
        if (next)
            subtract_vector(change, uppers[at], next);
        next = change;
        narthex_poll();
    }
}

static void substitute_row(const struct sweep *sweep, int row, double *changes) {
    int from = next_node(sweep->direction, FORWARD), to = next_node(sweep->direction, BACKWARD);
    for (int line = 0; line < sweep->lines; line++) {
        const double *next = NULL;
        if (from != NOBODY)
            next = passage_row(from, sweep->direction, BACKWARD, row) + line * BACKWARD_DOUBLES;
        int number = row * sweep->row_stride + line * sweep->line_stride;
        substitute_line(sweep, number, next, changes);
        if (to != NOBODY)
            memcpy(passage_row(narthex_node(), sweep->direction, BACKWARD, row) +
                       line * BACKWARD_DOUBLES,
                   &changes[number * FIELDS], FIELDS * sizeof(double));
    }
}

/* Both */

typedef void row_function(const struct sweep *sweep, int row, double *changes);

/* All rows, each as soon as the subcube it comes from has passed it on. */
static void run(const struct sweep *sweep, enum sense sense, row_function *function,
                double *changes) {
    int from = next_node(sweep->direction, sense == FORWARD ? BACKWARD : FORWARD);
    int to = next_node(sweep->direction, sense);
    for (int row = 0; row < sweep->rows; row++) {
        if (from != NOBODY)
            await_row(from, sweep, sense, row);
        function(sweep, row, changes);
        if (to != NOBODY)
            complete_row(sweep, sense, row);
    }
}

void lines_solve(int direction, double *changes) {
    struct sweep sweep = sweep_along(direction);
    run(&sweep, FORWARD, eliminate_row, changes);
    run(&sweep, BACKWARD, substitute_row, changes);
    rows_passed[direction] += sweep.rows;
}
