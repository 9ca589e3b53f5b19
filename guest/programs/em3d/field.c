#include "field.h"

#include <stdlib.h>

#include "../exact.h"
#include "../random_numbers.h"

static const uint64_t SEED_VALUES = 1, SEED_EDGES = 2;
static const double OWN_WEIGHT = 0.5; /* of the value so far; the edges' weights have the rest */

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count ? count : 1, bytes);
    narthex_check(memory, "node %d has no memory left for its fields", narthex_node());
    return memory;
}

/* Depends only on the value's place in the whole, so that copies need no message. */
static double first_value(int kind, size_t value) {
    uint64_t state = random_start(SEED_VALUES, (int)(value * KINDS) + kind);
    random_next(&state);
    return random_uniform(&state);
}

/* A processor 1 .. span away, up or down. */
static int neighbour(const struct graph *graph, int processor, uint64_t *state) {
    uint64_t choice = random_next(state) % (2 * (uint64_t)graph->span);
    int distance = (int)choice / 2 + 1;
    int shift = choice % 2 ? distance : graph->processors - distance;
    return (processor + shift) % graph->processors;
}

/* The far end of an edge, counted in the whole. */
static size_t pick_end(const struct graph *graph, int processor, uint64_t *state) {
    if (random_next(state) % 100 < (uint64_t)graph->remote_percent)
        processor = neighbour(graph, processor, state);
    return (size_t)processor * graph->values + random_next(state) % graph->values;
}

/* Where the other parts' values of a kind are copied to, while the edges are made. */
struct copying {
    int kind;
    size_t *copies; /* of each value of the whole, plus 1; 0: none */
    need *need;
};

static const double *copy_of(struct side *side, struct copying *copying, size_t value) {
    if (copying->copies[value] == 0) {
        size_t copy = side->copy_count++;
        copying->copies[value] = side->copy_count;
        side->copies[copy] = first_value(copying->kind, value);
        copying->need(copying->kind, value, copy);
    }
    return &side->copies[copying->copies[value] - 1];
}

static void scale(double *weights, int degree) {
    double sum = 0;
    for (int edge = 0; edge < degree; edge++)
        sum += weights[edge];
    for (int edge = 0; edge < degree; edge++)
        weights[edge] *= (1 - OWN_WEIGHT) / sum;
}

/* Makes the edges of one vertex. */
static void add_edges(struct part *part, struct copying *copying, struct vertex *vertex,
                      int processor, uint64_t *state) {
    struct side *other = &part->sides[copying->kind];
    vertex->degree = part->graph.degree;
    vertex->neighbours = allocate((size_t)vertex->degree, sizeof *vertex->neighbours);
    vertex->weights = allocate((size_t)vertex->degree, sizeof *vertex->weights);
    for (int edge = 0; edge < vertex->degree; edge++) {
        size_t value = pick_end(&part->graph, processor, state), own = value - part->first;
        vertex->neighbours[edge] =
            own < part->count ? &other->vertices[own]->value : copy_of(other, copying, value);
        vertex->weights[edge] = random_uniform(state);
    }
    scale(vertex->weights, vertex->degree);
}

static void add_vertices(struct part *part, int kind) {
    struct vertex **vertices = allocate(part->count + 1, sizeof *vertices);
    part->sides[kind].vertices = vertices; /* behind the last one stands NULL */
    for (size_t number = 0; number < part->count; number++) {
        vertices[number] = allocate(1, sizeof **vertices);
        vertices[number]->value = first_value(kind, part->first + number);
        if (number > 0)
            vertices[number - 1]->next = vertices[number];
    }
}

static void connect(struct part *part, int kind, int first, int last, need *need) {
    const struct graph *graph = &part->graph;
    size_t edge_count = part->count * (size_t)graph->degree;
    struct copying copying = {.kind = (kind + 1) % KINDS, .need = need};
    copying.copies = allocate((size_t)graph->processors * graph->values, sizeof *copying.copies);
    part->sides[copying.kind].copies = allocate(edge_count, sizeof(double));
    struct vertex *vertex = part->sides[kind].vertices[0];
    for (int processor = first; processor < last; processor++) {
        uint64_t state = random_start(SEED_EDGES, processor * KINDS + kind);
        for (size_t left = graph->values; left > 0; left--, vertex = vertex->next)
            add_edges(part, &copying, vertex, processor, &state);
    }
    free(copying.copies);
}

struct part part_make(struct graph graph, int first, int last, need *need) {
    struct part part = {.graph = graph,
                        .first = (size_t)first * graph.values,
                        .count = (size_t)(last - first) * graph.values};
    for (int kind = 0; kind < KINDS; kind++)
        add_vertices(&part, kind);
    for (int kind = 0; kind < KINDS; kind++)
        connect(&part, kind, first, last, need);
    return part;
}

void part_compute(struct part *part, int kind) {
    for (struct vertex *vertex = part->sides[kind].vertices[0]; vertex; vertex = vertex->next) {
        double sum = OWN_WEIGHT * vertex->value;
        for (int edge = 0; edge < vertex->degree; edge++)
            sum += vertex->weights[edge] * *vertex->neighbours[edge];
        vertex->value = sum;
    }
}

double part_energy(const struct part *part, int kind) {
    double sum = 0;
    for (struct vertex *vertex = part->sides[kind].vertices[0]; vertex; vertex = vertex->next)
        sum += vertex->value * vertex->value;
    return sum;
}
