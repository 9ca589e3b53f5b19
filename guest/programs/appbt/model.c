#include "model.h"

#include <string.h>

enum { DENSITY, VELOCITY, TEMPERATURE = VELOCITY + DIRECTIONS };

/* Of the equations, in units of the cube's edge and of a flow that crosses it in one unit of time
 * or so. The step is one in which diffusion comes several points far: much longer than an explicit
 * method could take, short enough that the three directions can be solved one after the other. */
static const double coupling = 0.5, viscosity = 0.1, step = 0.1, bump = 0.5;

static double distance;             /* from one point to the next */
static double per_two_distances;    /* of a central first difference */
static double viscosity_per_square; /* of a central second difference */

void model_start(int size) {
    distance = 1.0 / (size + 1);
    per_two_distances = 0.5 * (size + 1);
    viscosity_per_square = viscosity * (size + 1) * (size + 1);
}

double model_step(void) {
    return step;
}

/* The solution */

void model_solution(const int place[DIRECTIONS], double *fields) {
    /* of 1; x, y, z; xy, yz, zx; xx, yy, zz */
    enum { TERMS = 10 };
    static const double factors[FIELDS][TERMS] = {
        {2.0, 0.3, -0.2, 0.1, 0.2, -0.1, 0.3, 0.1, -0.2, 0.2},
        {1.0, -0.2, 0.4, 0.1, -0.3, 0.2, 0.1, 0.2, 0.1, -0.1},
        {0.8, 0.1, 0.2, -0.3, 0.1, 0.3, -0.2, -0.1, 0.2, 0.1},
        {0.6, 0.2, -0.1, 0.2, 0.2, -0.2, 0.1, 0.1, 0.1, 0.2},
        {3.0, -0.1, 0.3, 0.2, 0.1, 0.1, -0.3, 0.2, -0.1, 0.3},
    };
    double x = place[0] * distance, y = place[1] * distance, z = place[2] * distance;
    double terms[TERMS] = {1, x, y, z, x * y, y * z, z * x, x * x, y * y, z * z};
    for (int field = 0; field < FIELDS; field++) {
        fields[field] = 0;
        for (int term = 0; term < TERMS; term++)
            fields[field] += factors[field][term] * terms[term];
    }
}

void model_first_guess(const int place[DIRECTIONS], double *fields) {
    double height = bump;
    for (int direction = 0; direction < DIRECTIONS; direction++)
        height *= 4 * place[direction] * distance * (1 - place[direction] * distance);
    model_solution(place, fields);
    for (int field = 0; field < FIELDS; field++)
        fields[field] += height;
}

/* The equations */

/* change -= A * slope, with the matrix A of the direction */
static void subtract_flow(double *change, int direction, double velocity, const double *slope) {
    int along = VELOCITY + direction;
    for (int field = 0; field < FIELDS; field++)
        change[field] -= velocity * slope[field];
    change[DENSITY] -= coupling * slope[along];
    change[along] -= coupling * (slope[DENSITY] + slope[TEMPERATURE]);
    change[TEMPERATURE] -= coupling * slope[along];
}

void model_change(const double *fields, const struct neighbours *neighbours, double *change) {
    memset(change, 0, FIELDS * sizeof *change);
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        const double *before = neighbours->before[direction];
        const double *behind = neighbours->behind[direction];
        double slope[FIELDS];
        for (int field = 0; field < FIELDS; field++) {
            slope[field] = (behind[field] - before[field]) * per_two_distances;
            change[field] +=
                (behind[field] - 2 * fields[field] + before[field]) * viscosity_per_square;
        }
        subtract_flow(change, direction, fields[VELOCITY + direction], slope);
    }
}

void model_blocks(int direction, const double *fields, block before, block own, block behind) {
    int along = VELOCITY + direction;
    double flow = step * per_two_distances, spread = step * viscosity_per_square;
    memset(before, 0, sizeof(block));
    memset(own, 0, sizeof(block));
    memset(behind, 0, sizeof(block));
    for (int field = 0; field < FIELDS; field++) {
        double carried = flow * fields[along];
        int diagonal = field * (FIELDS + 1);
        before[diagonal] = -carried - spread;
        own[diagonal] = 1 + 2 * spread;
        behind[diagonal] = carried - spread;
    }
    const int coupled[] = {DENSITY * FIELDS + along, along * FIELDS + DENSITY,
                           along * FIELDS + TEMPERATURE, TEMPERATURE * FIELDS + along};
    for (int index = 0; index < 4; index++) {
        before[coupled[index]] = -flow * coupling;
        behind[coupled[index]] = flow * coupling;
    }
}
