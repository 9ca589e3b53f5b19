/* The sparse lower triangular matrix L of spsolve, whole on every node: rows in compressed form.
 *
 * L is the incomplete Cholesky factor (no fill-in) of a finite-difference operator, one implicit
 * step of heat conduction in a box: 12 on the diagonal, -1 for each of the six neighbours. In that
 * graph no two neighbours of an element are neighbours of each other, so the factor is
 *
 *     l(i,j) = a(i,j) / l(j,j)        l(i,i) = sqrt(a(i,i) - sum over j < i of l(i,j)^2)
 *
 * Its graph, an edge from j to i for every l(i,j) below the diagonal, is the DAG of the solution:
 *
 *      z         the box is LINE x LINES elements a plane, filled plane by plane;
 *     /          an element needs its neighbours before it in x, y and z
 *    +-- x
 *    |           * -> * -> *      at a distance of d edges from the corner are
 *    y           |    |    |      all elements with x + y + z = d: they can be
 *                v    v    v      solved at the same time
 *                * -> * -> *
 */
#ifndef NARTHEX_PROGRAMS_SPSOLVE_MATRIX_H
#define NARTHEX_PROGRAMS_SPSOLVE_MATRIX_H

enum { LINE = 10, LINES = 12, PLANE = LINE * LINES };

struct matrix {
    int elements;
    int *start;       /* of an element's row in column and value; one more than elements */
    int *column;      /* in front of the diagonal, ascending */
    double *value;    /* beside column */
    double *diagonal; /* one an element */
};

/* The matrix with this many elements. */
struct matrix matrix_make(int elements);

/* Solves L x = b, one element after the other. */
void matrix_solve(const struct matrix *matrix, double *solution, const double *right_hand_side);

/* The product of L and a vector. */
void matrix_multiply(const struct matrix *matrix, double *product, const double *vector);

#endif
