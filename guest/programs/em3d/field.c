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

static void scale(struct edge *edges, int degree) {
    double sum = 0;
    for (int edge = 0; edge < degree; edge++)
        sum += edges[edge].weight;
    for (int edge = 0; edge < degree; edge++)
        edges[edge].weight *= (1 - OWN_WEIGHT) / sum;
}

/* Makes the edges of one value. */
static void add_edges(struct part *part, struct copying *copying, struct edge *edges, int processor,
                      uint64_t *state) {
    struct side *other = &part->sides[copying->kind];
    for (int edge = 0; edge < part->graph.degree; edge++) {
        size_t value = pick_end(&part->graph, processor, state), own = value - part->first;
        edges[edge].value =
            own < part->count ? &other->values[own] : copy_of(other, copying, value);
        edges[edge].weight = random_uniform(state);
    }
    scale(edges, part->graph.degree);
}

static void add_values(struct part *part, int kind) {
    part->sides[kind].values = allocate(part->count, sizeof(double));
    for (size_t value = 0; value < part->count; value++)
        part->sides[kind].values[value] = first_value(kind, part->first + value);
}

static void connect(struct part *part, int kind, int first, int last, need *need) {
    const struct graph *graph = &part->graph;
    size_t degree = (size_t)graph->degree, edge_count = part->count * degree;
    struct copying copying = {.kind = (kind + 1) % KINDS, .need = need};
    copying.copies = allocate((size_t)graph->processors * graph->values, sizeof *copying.copies);
    part->sides[copying.kind].copies = allocate(edge_count, sizeof(double));
    struct edge *edges = allocate(edge_count, sizeof *edges);
    part->sides[kind].edges = edges;
    for (int processor = first; processor < last; processor++) {
        uint64_t state = random_start(SEED_EDGES, processor * KINDS + kind);
        for (size_t value = 0; value < graph->values; value++, edges += degree)
            add_edges(part, &copying, edges, processor, &state);
    }
    free(copying.copies);
}

struct part part_make(struct graph graph, int first, int last, need *need) {
    struct part part = {.graph = graph,
                        .first = (size_t)first * graph.values,
                        .count = (size_t)(last - first) * graph.values};
    for (int kind = 0; kind < KINDS; kind++)
        add_values(&part, kind);
    for (int kind = 0; kind < KINDS; kind++)
        connect(&part, kind, first, last, need);
    return part;
}

void part_compute(struct part *part, int kind, size_t first, size_t count) {
    struct side *side = &part->sides[kind];
    int degree = part->graph.degree;
    const struct edge *edge = side->edges + first * (size_t)degree;
    for (double *value = side->values + first; count > 0; count--, value++) {
        double sum = OWN_WEIGHT * *value;
        for (const struct edge *end = edge + degree; edge != end; edge++)
            sum += edge->weight * *edge->value;
        *value = sum;
    }
}

double part_energy(const struct part *part, int kind) {
    double sum = 0;
    for (size_t value = 0; value < part->count; value++)
        sum += part->sides[kind].values[value] * part->sides[kind].values[value];
    return sum;
}
