/* The Plummer model, without functions of the C library that differ between libraries.
 *
 * The mass within radius r is r^3 / (1 + r^2)^(3/2). So t = r / sqrt(1 + r^2), the cube root of a
 * uniform number, is the largest of three uniform numbers, and r = t / sqrt(1 - t^2). Speeds follow
 * by rejection (Aarseth, Henon and Wielen 1974). Every body has a random stream of its own: each
 * node makes all positions, to find its zone, and the velocities of its own bodies. */
#include "../exact.h"

#include "bodies.h"

#include <stdlib.h>

#include "../random_numbers.h"
#include "shared_memory/shared_memory.h"

#define SEED UINT64_C(1998)
#define INNER_MASS 0.999 /* the outermost thousandth, which reaches to infinity, is left out */
#define LENGTH_SCALE 0.58904862254808621  /* 3 pi / 16: virial units */
#define VELOCITY_SCALE 1.3029400317411197 /* 1 / sqrt(length scale) */
#define LARGEST_COORDINATE 32.0           /* beyond the outermost radius, 38.7 length scales */

enum { KEY_LEVELS = 10, KEY_DIGIT_BITS = 15, SPREAD_BODIES = 512 };

struct bodies bodies;

/* Positions and velocities */

/* The largest of three uniform numbers. */
static double cube_root_of_mass(uint64_t *state) {
    double largest = 0;
    for (int draw = 0; draw < 3; draw++) {
        double number = random_uniform(state);
        largest = number > largest ? number : largest;
    }
    return largest;
}

/* Returns the radius, in the model's own units. */
static double draw_position(uint64_t *state, double position[3]) {
    double root;
    do
        root = cube_root_of_mass(state);
    while (root * root * root > INNER_MASS);
    double radius = root / sqrt(1 - root * root);
    random_direction(state, radius * LENGTH_SCALE, position);
    return radius;
}

/* A speed in units of the escape speed: density q^2 (1 - q^2)^(7/2), which is below 0.1. */
static double draw_speed(uint64_t *state) {
    for (;;) {
        double speed = random_uniform(state), left = 1 - speed * speed;
        if (0.1 * random_uniform(state) < speed * speed * left * left * left * sqrt(left))
            return speed;
    }
}

static void draw_velocity(uint64_t *state, double radius, double velocity[3]) {
    double escape = sqrt(2 / sqrt(1 + radius * radius));
    random_direction(state, draw_speed(state) * escape * VELOCITY_SCALE, velocity);
}

/* The first zones */

/* Octants from the whole space down: bodies in this order are bodies near each other. */
static uint32_t key_of(const double position[3]) {
    uint32_t key = 0, coordinate[3];
    for (int axis = 0; axis < 3; axis++)
        coordinate[axis] =
            (uint32_t)((position[axis] / LARGEST_COORDINATE + 1) * (double)(1 << (KEY_LEVELS - 1)));
    for (int level = KEY_LEVELS - 1; level >= 0; level--)
        for (int axis = 2; axis >= 0; axis--)
            key = key << 1 | (coordinate[axis] >> level & 1);
    return key;
}

/* One pass of a radix sort: `to` gets the names in `from` by the digit of their keys. */
static void sort_by_digit(const uint32_t *keys, const uint32_t *from, uint32_t *to, int shift) {
    uint32_t *place = calloc((1 << KEY_DIGIT_BITS) + 1, sizeof *place);
    uint32_t mask = (1 << KEY_DIGIT_BITS) - 1;
    narthex_check(place, "node %d has no memory to sort bodies", narthex_node());
    for (uint32_t body = 0; body < bodies.total; body++)
        place[(keys[body] >> shift & mask) + 1]++;
    for (uint32_t digit = 0; digit < mask; digit++)
        place[digit + 1] += place[digit];
    for (uint32_t index = 0; index < bodies.total; index++)
        to[place[keys[from[index]] >> shift & mask]++] = from[index];
    free(place);
}

/* The names of all bodies, by key. */
static uint32_t *sorted_names(void) {
    uint32_t *keys = malloc(3 * (size_t)bodies.total * sizeof *keys);
    narthex_check(keys, "node %d has no memory for %u bodies", narthex_node(), bodies.total);
    uint32_t *names = keys + bodies.total, *other = names + bodies.total;
    for (uint32_t body = 0; body < bodies.total; body++) {
        uint64_t state = random_start(SEED, (int)body);
        double position[3];
        draw_position(&state, position);
        keys[body] = key_of(position);
        names[body] = body;
    }
    sort_by_digit(keys, names, other, 0);
    sort_by_digit(keys, other, names, KEY_DIGIT_BITS);
    return keys;
}

static void create_body(uint32_t index, uint32_t name) {
    uint64_t state = random_start(SEED, (int)name);
    struct point *point = &bodies.current.points[index];
    struct motion *motion = &bodies.current.motions[index];
    point->mass = 1.0 / bodies.total;
    double radius = draw_position(&state, point->position);
    draw_velocity(&state, radius, motion->velocity);
    motion->cost = 1;
    motion->name = (int32_t)name;
}

uint32_t bodies_capacity(uint32_t total) {
    uint32_t fair = total / (uint32_t)narthex_nodes() + 1, room = fair + fair / 4;
    return ((room + SPREAD_BODIES - 1) / SPREAD_BODIES | 1) * SPREAD_BODIES;
}

static struct generation allocate(void) {
    size_t points = (size_t)bodies.capacity * sizeof(struct point);
    size_t motions = (size_t)bodies.capacity * sizeof(struct motion);
    size_t nodes = (size_t)narthex_nodes();
    return (struct generation){
        narthex_shared_allocate(points * nodes, 0, NARTHEX_SHARED_PAGE_BYTES),
        narthex_shared_allocate(motions * nodes, 0, NARTHEX_SHARED_PAGE_BYTES), 0};
}

uint64_t bodies_shared_bytes(uint32_t total) {
    uint64_t places = (uint64_t)bodies_capacity(total) * (uint64_t)narthex_nodes();
    return 2 * places * (sizeof(struct point) + sizeof(struct motion));
}

void bodies_create(uint32_t total) {
    uint64_t node = (uint64_t)narthex_node(), nodes = (uint64_t)narthex_nodes();
    bodies.total = total;
    bodies.capacity = bodies_capacity(total);
    bodies.first = (uint32_t)node * bodies.capacity;
    bodies.current = allocate();
    bodies.following = allocate();
    uint32_t *memory = sorted_names(), *names = memory + total;
    uint32_t begin = (uint32_t)(total * node / nodes), end = (uint32_t)(total * (node + 1) / nodes);
    for (uint32_t index = begin; index < end; index++)
        create_body(bodies.first + bodies.current.count++, names[index]);
    free(memory);
}

void bodies_turn(void) {
    struct generation written = bodies.following;
    bodies.following = bodies.current;
    bodies.current = written;
}
