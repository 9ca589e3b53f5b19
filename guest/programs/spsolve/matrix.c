#include "matrix.h"

#include <math.h>
#include <stdlib.h>

#include "../exact.h"
#include "narthex.h"

enum { NEIGHBOURS_BEFORE = 3 };

static const double OPERATOR_DIAGONAL = 12, OPERATOR_NEIGHBOUR = -1;

static void *allocate(size_t count, size_t bytes) {
    void *memory = malloc(count * bytes);
    narthex_check(memory, "node %d has no memory left for a matrix", narthex_node());
    return memory;
}

/* The neighbours of an element that stand in front of it, ascending; returns how many. */
static int neighbours_before(int element, int *neighbours) {
    int count = 0;
    if (element >= PLANE)
        neighbours[count++] = element - PLANE;
    if (element / LINE % LINES > 0)
        neighbours[count++] = element - LINE;
    if (element % LINE > 0)
        neighbours[count++] = element - 1;
    return count;
}

/* Appends the row of the next element. */
static void add_row(struct matrix *matrix, int element) {
    int first = matrix->start[element];
    int count = neighbours_before(element, matrix->column + first);
    double square = OPERATOR_DIAGONAL;
    for (int entry = first; entry < first + count; entry++) {
        double value = OPERATOR_NEIGHBOUR / matrix->diagonal[matrix->column[entry]];
        matrix->value[entry] = value;
        square -= value * value;
    }
    matrix->diagonal[element] = sqrt(square);
    matrix->start[element + 1] = first + count;
}

struct matrix matrix_make(int elements) {
    size_t rows = (size_t)elements, entries = rows * NEIGHBOURS_BEFORE;
    struct matrix matrix = {.elements = elements,
                            .start = allocate(rows + 1, sizeof *matrix.start),
                            .column = allocate(entries, sizeof *matrix.column),
                            .value = allocate(entries, sizeof *matrix.value),
                            .diagonal = allocate(rows, sizeof *matrix.diagonal)};
    matrix.start[0] = 0;
    for (int element = 0; element < elements; element++)
        add_row(&matrix, element);
    return matrix;
}

/* The sum of a row's entries in front of the diagonal, times a vector. */
static double row_product(const struct matrix *matrix, int element, const double *vector) {
    double sum = 0;
    for (int entry = matrix->start[element]; entry < matrix->start[element + 1]; entry++)
        sum += matrix->value[entry] * vector[matrix->column[entry]];
    return sum;
}

void matrix_solve(const struct matrix *matrix, double *solution, const double *right_hand_side) {
    for (int element = 0; element < matrix->elements; element++)
        solution[element] = (right_hand_side[element] - row_product(matrix, element, solution)) /
                            matrix->diagonal[element];
}

void matrix_multiply(const struct matrix *matrix, double *product, const double *vector) {
    for (int element = 0; element < matrix->elements; element++)
        product[element] =
            row_product(matrix, element, vector) + matrix->diagonal[element] * vector[element];
}
