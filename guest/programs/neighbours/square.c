/* A step of the stencil, and the exchange of edges that it needs.
 *
 *     send the four edges -> compute the points inside -> receive the border -> compute the edges
 *
 * so that messages are under way while the node computes. */
#include "../exact.h"

#include "square.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { HANDLER_EDGE = 1 };

/* Points in a line: the first one's place, and from each to the next. */
struct line {
    size_t first, stride;
};

/* A message. */
struct edge {
    uint32_t direction; /* in which it goes */
    uint32_t step;
    double points[];
};

/* What has come from the neighbours, by the direction in which it went. A neighbour can be a step
 * ahead, and no more, because then it needs what this node has not sent: the slots are used in
 * turn. */
enum { SLOTS = 2 };
static double *arrived[SLOTS][DIRECTIONS];
static int arrivals[SLOTS]; /* edges in a slot */

static int neighbours[DIRECTIONS];
static struct edge *packed;
static size_t edge_bytes; /* of its points */
static uint32_t steps;    /* this node's, so far */

static double *allocate(size_t count) {
    double *memory = calloc(count, sizeof *memory);
    narthex_check(memory, "node %d has no memory left for %zu temperatures", narthex_node(), count);
    return memory;
}

struct square square_make(size_t side) {
    size_t pitch = side + 2;
    return (struct square){side, pitch, allocate(pitch * pitch), allocate(pitch * pitch)};
}

static void on_edge(int source, const void *payload, size_t bytes) {
    const struct edge *edge = payload;
    (void)source, (void)bytes;
    memcpy(arrived[edge->step % SLOTS][edge->direction], edge->points, edge_bytes);
    arrivals[edge->step % SLOTS] += 1;
}

void square_connect(const struct square *square, const struct torus *torus) {
    edge_bytes = square->side * sizeof(double);
    packed = (struct edge *)allocate(square->side + sizeof *packed / sizeof(double));
    for (enum direction direction = 0; direction < DIRECTIONS; direction++) {
        neighbours[direction] = torus_neighbour(torus, direction);
        for (int slot = 0; slot < SLOTS; slot++)
            arrived[slot][direction] = allocate(square->side);
    }
    narthex_register_handler(HANDLER_EDGE, on_edge);
}

/* The node's outermost points in a direction. */
static struct line edge(const struct square *square, enum direction direction) {
    size_t corner = square->pitch + 1, across = square->side - 1;
    switch (direction) {
    case NORTH:
        return (struct line){corner, 1};
    case SOUTH:
        return (struct line){corner + across * square->pitch, 1};
    case WEST:
        return (struct line){corner, square->pitch};
    default:
        return (struct line){corner + across, square->pitch};
    }
}

/* The neighbour's points beyond them. */
static struct line border(const struct square *square, enum direction direction) {
    struct line line = edge(square, direction);
    size_t outward = direction == NORTH || direction == SOUTH ? square->pitch : 1;
    line.first += direction == SOUTH || direction == EAST ? outward : -outward;
    return line;
}

static void send_edge(const struct square *square, enum direction direction) {
    struct line line = edge(square, direction);
    packed->direction = direction;
    packed->step = steps;
    for (size_t index = 0; index < square->side; index++)
        packed->points[index] = square->now[line.first + index * line.stride];
    narthex_send(neighbours[direction], HANDLER_EDGE, packed, sizeof *packed + edge_bytes);
}

/* What comes from the north was sent to the south. */
static void fill_border(const struct square *square, enum direction direction) {
    struct line line = border(square, direction);
    const double *theirs = arrived[steps % SLOTS][opposite(direction)];
    for (size_t index = 0; index < square->side; index++)
        square->now[line.first + index * line.stride] = theirs[index];
}

static void receive_border(const struct square *square) {
    int *count = &arrivals[steps % SLOTS];
    while (*count < DIRECTIONS)
        narthex_poll();
    *count = 0;
    for (enum direction direction = 0; direction < DIRECTIONS; direction++)
        fill_border(square, direction);
}

/* Computes `count` points from `first` on, `stride` apart. */
static void compute(const struct square *square, struct line line, size_t count) {
    const double *now = square->now;
    size_t pitch = square->pitch;
    for (size_t index = 0; index < count; index++) {
        size_t here = line.first + index * line.stride;
        double around = now[here - pitch] + now[here + pitch] + now[here - 1] + now[here + 1];
        square->new[here] = now[here] * 0.5 + around * 0.125;
    }
}

static void compute_inside(const struct square *square) {
    for (size_t row = 2; row < square->side; row++) {
        compute(square, (struct line){row * square->pitch + 2, 1}, square->side - 2);
        narthex_poll();
    }
}

void square_step(struct square *square) {
    for (enum direction direction = 0; direction < DIRECTIONS; direction++)
        send_edge(square, direction);
    compute_inside(square);
    receive_border(square);
    for (enum direction direction = 0; direction < DIRECTIONS; direction++)
        compute(square, edge(square, direction), square->side);
    double *old = square->now;
    square->now = square->new;
    square->new = old;
    steps += 1;
}
