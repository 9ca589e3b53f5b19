/* Bodies that attract each other: a square root and divisions for each pair.
 *
 *     bodies TURNS        steps of time */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 16 };

static struct body {
    double at[3], speed[3], mass;
} bodies[BODIES];

static void step(double time) {
    for (int one = 0; one < BODIES; one++)
        for (int other = one + 1; other < BODIES; other++) {
            struct body *a = &bodies[one], *b = &bodies[other];
            double way[3], square = 1e-3;
            for (int axis = 0; axis < 3; axis++) {
                way[axis] = a->at[axis] - b->at[axis];
                square += way[axis] * way[axis];
            }
            double pull = time / (square * sqrt(square));
            for (int axis = 0; axis < 3; axis++) {
                a->speed[axis] -= way[axis] * b->mass * pull;
                b->speed[axis] += way[axis] * a->mass * pull;
            }
        }
    for (int one = 0; one < BODIES; one++)
        for (int axis = 0; axis < 3; axis++)
            bodies[one].at[axis] += time * bodies[one].speed[axis];
}

int main(int count, char **values) {
    long turns = count > 1 ? atol(values[1]) : 1;
    for (int one = 0; one < BODIES; one++) {
        bodies[one].mass = 1.0 / (1 + one);
        for (int axis = 0; axis < 3; axis++)
            bodies[one].at[axis] = (one * 7 + axis * 5) % 11 - 5 + 0.25 * axis;
    }
    for (long turn = 0; turn < turns; turn++)
        step(0.01);
    printf("%.9f\n", bodies[0].at[0]);
    return 0;
}
