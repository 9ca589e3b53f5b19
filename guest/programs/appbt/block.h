/* Blocks of 5 x 5 and vectors of 5: what a block tridiagonal solver needs of linear algebra. */
#ifndef NARTHEX_PROGRAMS_APPBT_BLOCK_H
#define NARTHEX_PROGRAMS_APPBT_BLOCK_H

#include "../exact.h"

/* Loops over the rows of a block, or their places, are unrolled. */
#define UNROLLED _Pragma("GCC unroll 5")

enum { FIELDS = 5, BLOCK_ELEMENTS = FIELDS * FIELDS };

typedef double block[BLOCK_ELEMENTS]; /* row after row */

/* vector -= matrix * other */
static inline void subtract_vector(double *restrict vector, const double *restrict matrix,
                                   const double *restrict other) {
    for (int row = 0; row < FIELDS; row++) {
        double sum = vector[row];
        UNROLLED for (int place = 0; place < FIELDS; place++) sum -=
            matrix[row * FIELDS + place] * other[place];
        vector[row] = sum;
    }
}

/* result -= matrix * other */
static inline void subtract_product(double *restrict result, const double *restrict matrix,
                                    const double *restrict other) {
    for (int row = 0; row < FIELDS; row++)
        for (int column = 0; column < FIELDS; column++) {
            double sum = result[row * FIELDS + column];
            UNROLLED for (int place = 0; place < FIELDS; place++) sum -=
                matrix[row * FIELDS + place] * other[place * FIELDS + column];
            result[row * FIELDS + column] = sum;
        }
}

/* `row` -= factor * `pivot`, of `length` elements. */
static inline void subtract_row(double *row, const double *pivot, double factor, int length) {
    for (int place = 0; place < length; place++)
        row[place] -= factor * pivot[place];
}

static inline void scale_row(double *row, double factor, int length) {
    for (int place = 0; place < length; place++)
        row[place] *= factor;
}

/* Solves matrix * x = other and matrix * y = vector in place, by elimination of everything beside
 * the diagonal; the matrix is lost. No pivots are looked for: its diagonal is large. */
static inline void solve_block(double *restrict matrix, double *restrict other,
                               double *restrict vector) {
    UNROLLED for (int pivot = 0; pivot < FIELDS; pivot++) {
        int at = pivot * FIELDS;
        double inverse = 1 / matrix[at + pivot];
        scale_row(&matrix[at + pivot], inverse, FIELDS - pivot);
        scale_row(&other[at], inverse, FIELDS);
        vector[pivot] *= inverse;
        for (int row = 0; row < FIELDS; row++)
            if (row != pivot) {
                int to = row * FIELDS;
                double factor = matrix[to + pivot];
                subtract_row(&matrix[to + pivot], &matrix[at + pivot], factor, FIELDS - pivot);
                subtract_row(&other[to], &other[at], factor, FIELDS);
                vector[row] -= factor * vector[pivot];
            }
    }
}

#endif
