/* The list of pairs (Verlet's), and Lennard-Jones forces.
 *
 * Every pair of particles is looked at when the list is made; a pair is listed if it is nearer than
 * the cut-off and a skin, so the list holds until a particle has moved by half of the skin. */
#include "pairs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../exact.h"
#include "narthex.h"

enum {
    PAIRS_PER_PARTICLE = 64, /* room in the list; about 43 are used */
    POLL_CANDIDATES = 128    /* looked at between polls, about a microsecond */
};

static const vector *positions;
static int particles, own_first, own_end;
static double box, half_box, cut_off, reach;
static vector *listed_positions; /* of own particles, when the list was made */
static int *pair_start;          /* own particle i's are pair_start[i] .. [i + 1] - 1 */
static uint16_t *pair_other;     /* short, so that a small cache has room for the list */

size_t pairs_room_bytes(size_t own) {
    return own * PAIRS_PER_PARTICLE * sizeof *pair_other;
}

void pairs_start(const vector *all, int count, int first, int end, double side, void *room) {
    size_t own = (size_t)(end - first);
    narthex_check(count <= UINT16_MAX + 1, "%d particles are more than the list can number", count);
    positions = all;
    particles = count;
    own_first = first;
    own_end = end;
    box = side;
    half_box = side / 2;
    cut_off = half_box < CUT_OFF ? half_box : CUT_OFF;
    reach = REACH * cut_off;
    listed_positions = calloc(own + 1, sizeof *listed_positions);
    pair_start = calloc(own + 1, sizeof *pair_start);
    pair_other = room;
    narthex_check(listed_positions && pair_start,
                  "node %d has no memory for the pairs of %zu particles", narthex_node(), own);
}

/* A distance along an axis, to the nearest of a particle's periodic images. */
static inline double nearest(double distance) {
    if (distance > half_box)
        return distance - box;
    if (distance < -half_box)
        return distance + box;
    return distance;
}

static inline bool is_near(const vector a, const vector b) {
    double x = nearest(a[0] - b[0]);
    if (x > reach || x < -reach)
        return false;
    double y = nearest(a[1] - b[1]), z = nearest(a[2] - b[2]);
    return x * x + y * y + z * z < reach * reach;
}

static void list(int place, int other) {
    narthex_check(place < (own_end - own_first) * PAIRS_PER_PARTICLE,
                  "node %d: more than %d pairs a particle", narthex_node(), PAIRS_PER_PARTICLE);
    pair_other[place] = (uint16_t)other;
}

/* Lists the pairs of `i` with every other particle from `from` to before `end`, behind the `count`
 * listed so far; returns how many there are now. */
static int list_candidates(int i, int from, int end, int count) {
    const vector here = {positions[i][0], positions[i][1], positions[i][2]};
    for (int stretch = from; stretch < end; stretch += 2 * POLL_CANDIDATES) {
        int stretch_end = stretch + 2 * POLL_CANDIDATES < end ? stretch + 2 * POLL_CANDIDATES : end;
        for (int j = stretch; j < stretch_end; j += 2)
            if (is_near(here, positions[j]))
                list(count++, j);
        narthex_poll();
    }
    return count;
}

/* A pair belongs to its first particle if their numbers differ by an odd number, else to its
 * second: so all particles have about as many. Every node begins behind its own particles, so that
 * they do not all ask the first node for its positions at once. */
void pairs_list(void) {
    int count = 0;
    for (int i = own_first; i < own_end; i++) {
        pair_start[i - own_first] = count;
        count = list_candidates(i, i + 1, particles, count);
        count = list_candidates(i, i % 2, i, count);
    }
    pair_start[own_end - own_first] = count;
    memcpy(listed_positions, positions + own_first, (size_t)(own_end - own_first) * sizeof(vector));
}

int pairs_count(void) {
    return pair_start[own_end - own_first];
}

void pairs_check(int rebuild) {
    const double skin = reach - cut_off;
    for (int i = own_first; i < own_end; i++) {
        double moved = 0;
        for (int axis = 0; axis < 3; axis++) {
            double along = nearest(positions[i][axis] - listed_positions[i - own_first][axis]);
            moved += along * along;
        }
        narthex_check(moved <= skin * skin / 4,
                      "node %d: particle %d has moved by %g since the pairs were listed, more than "
                      "half the skin of %g: list them more often than every %d iterations",
                      narthex_node(), i, __builtin_sqrt(moved), skin, rebuild);
    }
}

/* Adds the forces between `i` and its listed partners; returns their potential energy. */
static fixed add_forces_of(fixed (*force)[3], int i, const uint16_t *other, const uint16_t *end) {
    const double cut_off_square = cut_off * cut_off;
    const double inverse_cut_off = 1 / (cut_off * cut_off);
    const double cut_off_6 = inverse_cut_off * inverse_cut_off * inverse_cut_off;
    const double shift = 4 * cut_off_6 * (cut_off_6 - 1);
    const double x_here = positions[i][0], y_here = positions[i][1], z_here = positions[i][2];
    fixed x_sum = 0, y_sum = 0, z_sum = 0, potential = 0;
    for (; other != end; other++) {
        const double *there = positions[*other];
        double x = nearest(x_here - there[0]);
        double y = nearest(y_here - there[1]);
        double z = nearest(z_here - there[2]);
        double square = x * x + y * y + z * z;
        if (square >= cut_off_square)
            continue;
        double inverse = 1 / square;
        double inverse_6 = inverse * inverse * inverse;
        double strength = 48 * inverse * inverse_6 * (inverse_6 - 0.5) * FIXED_ONE;
        fixed x_force = (fixed)(strength * x);
        fixed y_force = (fixed)(strength * y);
        fixed z_force = (fixed)(strength * z);
        fixed *reaction = force[*other];
        x_sum += x_force;
        y_sum += y_force;
        z_sum += z_force;
        reaction[0] -= x_force;
        reaction[1] -= y_force;
        reaction[2] -= z_force;
        potential += to_fixed(4 * inverse_6 * (inverse_6 - 1) - shift);
    }
    force[i][0] += x_sum;
    force[i][1] += y_sum;
    force[i][2] += z_sum;
    return potential;
}

fixed pairs_add_forces(fixed (*force)[3]) {
    fixed potential = 0;
    for (int i = own_first; i < own_end; i++) {
        const int *start = pair_start + (i - own_first);
        potential += add_forces_of(force, i, pair_other + start[0], pair_other + start[1]);
        narthex_poll();
    }
    return potential;
}
