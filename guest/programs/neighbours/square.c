/* A step of the stencil, and the exchange of edges that it needs.
 *
 *     send the four edges -> compute the points inside -> receive the border -> compute the edges
 *
 * so that messages are under way while the node computes. An edge's channel bears the number of the
 * direction in which it goes: what comes from the north was sent to the south. */
#include "../exact.h"

#include "square.h"

#include <stdlib.h>

#include "messaging/channels.h"

/* Points in a line: the first one's place, and from each to the next. */
struct line {
    size_t first, stride;
};

static struct narthex_channel *outgoing[DIRECTIONS], *incoming[DIRECTIONS];
static double *packed; /* an edge */

static double *allocate(size_t count) {
    double *memory = calloc(count, sizeof *memory);
    narthex_check(memory, "node %d has no memory left for %zu temperatures", narthex_node(), count);
    return memory;
}

struct square square_make(size_t side) {
    size_t pitch = side + 2;
    return (struct square){side, pitch, allocate(pitch * pitch), allocate(pitch * pitch)};
}

void square_connect(const struct square *square, const struct torus *torus) {
    size_t bytes = square->side * sizeof *packed;
    for (enum direction direction = 0; direction < DIRECTIONS; direction++) {
        int neighbour = torus_neighbour(torus, direction);
        outgoing[direction] = narthex_channel_to(neighbour, (int)direction, bytes);
        incoming[direction] = narthex_channel_from(neighbour, (int)opposite(direction), bytes);
    }
    packed = allocate(square->side);
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
    for (size_t index = 0; index < square->side; index++)
        packed[index] = square->now[line.first + index * line.stride];
    narthex_channel_send(outgoing[direction], packed, square->side * sizeof *packed);
}

static void receive_border(const struct square *square, enum direction direction) {
    struct line line = border(square, direction);
    const double *theirs = narthex_channel_receive(incoming[direction], NULL);
    for (size_t index = 0; index < square->side; index++)
        square->now[line.first + index * line.stride] = theirs[index];
    narthex_channel_release(incoming[direction]);
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
    for (enum direction direction = 0; direction < DIRECTIONS; direction++)
        receive_border(square, direction);
    for (enum direction direction = 0; direction < DIRECTIONS; direction++)
        compute(square, edge(square, direction), square->side);
    double *old = square->now;
    square->now = square->new;
    square->new = old;
}
