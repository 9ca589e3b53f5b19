/* The product of two matrices of doubles, 96 x 96, column by column.
 *
 *     product TURNS */
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 96 };

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

int main(int count, char **values) {
    long turns = count > 1 ? atol(values[1]) : 1;
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            a[row][column] = row + 0.1 * column;
            b[row][column] = column - 0.3 * row;
        }
    for (long turn = 0; turn < turns; turn++) {
        for (int row = 0; row < SIDE; row++)
            for (int column = 0; column < SIDE; column++) {
                double sum = 0;
                for (int i = 0; i < SIDE; i++)
                    sum += a[row][i] * b[i][column];
                c[row][column] = sum;
            }
        a[turn % SIDE][0] = c[SIDE - 1][turn % SIDE] * 1e-6;
    }
    printf("%g\n", c[SIDE / 2][SIDE / 3]);
    return 0;
}
