#include "matrix.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../exact.h"
#include "../random_numbers.h"
#include "narthex.h"

enum { NEIGHBOURS = 8, ENTRIES = NEIGHBOURS * UNKNOWNS + UNKNOWNS - 1 /* of a row, at most */ };

static const uint64_t SEED_NODES = 620;
static const double DIAGONAL = 4 * ENTRIES;

static void *allocate(size_t count, size_t bytes) {
    void *memory = malloc(count * bytes);
    narthex_check(memory, "node %d has no memory left for a matrix", narthex_node());
    return memory;
}

/* The mesh: its nodes line by line, and the number of each in the matrix. */
struct mesh {
    int nodes;
    int *number;  /* of a node */
    int *node_of; /* a number: the other way */
};

static struct mesh make_mesh(int nodes) {
    struct mesh mesh = {nodes, allocate((size_t)nodes, sizeof(int)),
                        allocate((size_t)nodes, sizeof(int))};
    uint64_t state = random_start(SEED_NODES, 0);
    for (int node = 0; node < nodes; node++) {
        int other = (int)(random_next(&state) % (uint64_t)(node + 1));
        mesh.node_of[node] = mesh.node_of[other];
        mesh.node_of[other] = node;
    }
    for (int number = 0; number < nodes; number++)
        mesh.number[mesh.node_of[number]] = number;
    return mesh;
}

/* Puts a number into its place among `count` ascending ones. */
static void insert(int *numbers, int count, int number) {
    for (; count > 0 && numbers[count - 1] > number; count--)
        numbers[count] = numbers[count - 1];
    numbers[count] = number;
}

/* The numbers of a node's neighbours that are below its own, ascending; returns how many. */
static int neighbours_before(const struct mesh *mesh, int number, int *numbers) {
    int node = mesh->node_of[number], x = node % LINE, count = 0;
    for (int down = -1; down <= 1; down++)
        for (int right = -1; right <= 1; right++) {
            int other = node + down * LINE + right;
            bool exists = x + right >= 0 && x + right < LINE && other >= 0 && other < mesh->nodes;
            if (exists && mesh->number[other] < number)
                insert(numbers, count++, mesh->number[other]);
        }
    return count;
}

/* Neighbouring values differ, so that a confused edge shows. */
static double off_diagonal(int row, int column) {
    return -0.25 * (1 + (row + column) % 4);
}

/* Appends the unknowns `first` .. `end` - 1 to a row that ends at `entry`; returns its new end. */
static int add_entries(struct matrix *matrix, int row, int entry, int first, int end) {
    for (int column = first; column < end; column++, entry++) {
        matrix->column[entry] = column;
        matrix->value[entry] = off_diagonal(row, column);
    }
    return entry;
}

/* Appends the row of the next element. */
static void add_row(struct matrix *matrix, const struct mesh *mesh, int element) {
    int numbers[NEIGHBOURS], number = element / UNKNOWNS;
    int count = neighbours_before(mesh, number, numbers), entry = matrix->start[element];
    for (int index = 0; index < count; index++)
        entry = add_entries(matrix, element, entry, numbers[index] * UNKNOWNS,
                            (numbers[index] + 1) * UNKNOWNS);
    entry = add_entries(matrix, element, entry, number * UNKNOWNS, element);
    matrix->diagonal[element] = DIAGONAL;
    matrix->start[element + 1] = entry;
}

struct matrix matrix_make(int elements) {
    size_t rows = (size_t)elements, entries = rows * ENTRIES;
    struct matrix matrix = {.elements = elements,
                            .start = allocate(rows + 1, sizeof *matrix.start),
                            .column = allocate(entries, sizeof *matrix.column),
                            .value = allocate(entries, sizeof *matrix.value),
                            .diagonal = allocate(rows, sizeof *matrix.diagonal)};
    struct mesh mesh = make_mesh((elements + UNKNOWNS - 1) / UNKNOWNS);
    matrix.start[0] = 0;
    for (int element = 0; element < elements; element++)
        add_row(&matrix, &mesh, element);
    free(mesh.number);
    free(mesh.node_of);
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
