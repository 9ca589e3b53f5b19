/* The sparse lower triangular matrix L of spsolve, whole on every node: rows in compressed form.
 *
 * L is the triangle of an incomplete factor without fill-in of a stiffness matrix: a plate of
 * finite elements in bending, LINE nodes wide, with three unknowns a node (its deflection and two
 * rotations). Two unknowns are coupled if their nodes are the same or belong to one element:
 *
 *     * - * - *      a node and its eight neighbours; the nodes are numbered in a random order, as
 *     | . | . |      irregular meshes are, the unknowns of a node one after the other. An unknown
 *     * - @ - *      depends on those of the nodes before its own, and on those before it in its
 *     | . | . |      own node.
 *     * - * - *
 *
 * The graph, an edge from j to i for every l(i,j) below the diagonal, is the DAG of the solution.
 * The values are made up: off the diagonal from -1/4 to -1, and on it so much that a row's sum off
 * it is a quarter of it at most. */
#ifndef NARTHEX_PROGRAMS_SPSOLVE_MATRIX_H
#define NARTHEX_PROGRAMS_SPSOLVE_MATRIX_H

enum { LINE = 31, UNKNOWNS = 3 };

struct matrix {
    int elements;
    int *start;       /* of an element's row in column and value; one more than elements */
    int *column;      /* in front of the diagonal, ascending */
    double *value;    /* beside column */
    double *diagonal; /* one an element */
};

/* The matrix with this many elements, the unknowns. */
struct matrix matrix_make(int elements);

/* Solves L x = b, one element after the other. */
void matrix_solve(const struct matrix *matrix, double *solution, const double *right_hand_side);

/* The product of L and a vector. */
void matrix_multiply(const struct matrix *matrix, double *product, const double *vector);

#endif
