/* Propagates electromagnetic waves over a bipartite graph, with a protocol of updates.
 *
 *     em3d [NODES [ITERATIONS [PROCESSORS [DEGREE [REMOTE [SPAN [POLL]]]]]]]
 *         by default 16384 graph nodes (half of them electric, half magnetic), 10 iterations, a
 *         graph for 16 processors, degree 5, 10 % remote, span 6, a poll after 32 updates
 *
 * Algorithm. In turn, all electric values are computed from the magnetic ones, then all magnetic
 * from the electric: each becomes the weighted sum of itself and its neighbours (field.h).
 *
 * Distribution. The graph is made for a number of processors; node n of m has those processors p
 * with p m / PROCESSORS = n, rounded down. So one graph runs on any number of nodes.
 *
 * Messages. Before the first iteration each node asks the owners of the values that it reads for
 * updates. In each half of an iteration
 *
 *     compute the values  ->  send each to the nodes that read it  ->  wait for the updates of
 *     what is read here  ->  barrier
 *
 * where an update is 12 bytes: the value, as two integers, and the number of its copy. The updates
 * leave one after the other, with a poll after every POLL of them (0: none).
 *
 * Checks. Node 0 computes everything again by itself: every value must be the same to the last
 * bit, and, as a weighted mean of what was, lie between the least and the greatest. */
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../measure.h"
#include "field.h"
#include "messaging/collectives.h"
#include "narthex.h"

enum { HANDLER_REQUEST = 1, HANDLER_ELECTRIC_UPDATE, HANDLER_MAGNETIC_UPDATE, HANDLER_VALUES };

static const int HANDLER_UPDATE[KINDS] = {HANDLER_ELECTRIC_UPDATE, HANDLER_MAGNETIC_UPDATE};

/* Asks for updates of a value. */
struct request {
    uint32_t kind, value, copy;
};

/* A message: what is sent is 12 bytes, without the padding. */
struct update {
    double value;
    uint32_t copy;
};
enum { UPDATE_BYTES = 12 };

/* A node that reads a value of this one, and the number of its copy there. */
struct reader {
    const double *value;
    uint32_t number, copy; /* the number of the value */
    int node;
};

struct readers {
    struct reader *all; /* in the order of the values */
    size_t count, capacity;
};

static struct part part; /* this node's */
static struct readers readers[KINDS];
static size_t arrived[KINDS]; /* updates, since the start */
static int64_t *asked;        /* requests to each node */
static int64_t requests;      /* from others, so far */
static double *whole[KINDS];  /* on node 0: all nodes' values, to be checked */
static int parts;             /* of them that have come */

/* The node that has a processor of the graph. */
static int node_of(const struct graph *graph, int processor) {
    return (int)((long)processor * narthex_nodes() / graph->processors);
}

/* The first processor of a node: the least whose product above reaches the node's number. */
static int first_processor(const struct graph *graph, int node) {
    return (int)(((long)node * graph->processors + narthex_nodes() - 1) / narthex_nodes());
}

/* The main part */

static void on_electric_update(int source, const void *payload, size_t bytes) {
    const struct update *update = payload;
    (void)source, (void)bytes;
    part.sides[ELECTRIC].copies[update->copy] = update->value;
    arrived[ELECTRIC] += 1;
}

static void on_magnetic_update(int source, const void *payload, size_t bytes) {
    const struct update *update = payload;
    (void)source, (void)bytes;
    part.sides[MAGNETIC].copies[update->copy] = update->value;
    arrived[MAGNETIC] += 1;
}

static void send_updates(int kind, size_t poll_every) {
    size_t until_poll = poll_every; /* 0: is never reached */
    for (size_t index = 0; index < readers[kind].count; index++) {
        const struct reader *reader = &readers[kind].all[index];
        struct update update = {*reader->value, reader->copy};
        narthex_send(reader->node, HANDLER_UPDATE[kind], &update, UPDATE_BYTES);
        if (--until_poll == 0) {
            narthex_poll();
            until_poll = poll_every;
        }
    }
}

/* The barrier keeps a fast node from updating a copy again before it has been read. */
static void iterate(long iterations, size_t poll_every) {
    for (long iteration = 1; iteration <= iterations; iteration++)
        for (int kind = 0; kind < KINDS; kind++) {
            part_compute(&part, kind);
            send_updates(kind, poll_every);
            while (arrived[kind] < part.sides[kind].copy_count * (size_t)iteration)
                narthex_poll();
            narthex_barrier();
        }
}

/* Preparing */

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count ? count : 1, bytes);
    narthex_check(memory, "node %d has no memory left", narthex_node());
    return memory;
}

static void on_request(int source, const void *payload, size_t bytes) {
    const struct request *request = payload;
    (void)bytes;
    struct readers *list = &readers[request->kind];
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 64;
        list->all = realloc(list->all, list->capacity * sizeof *list->all);
        narthex_check(list->all, "node %d has no memory left for its readers", narthex_node());
    }
    list->all[list->count++] =
        (struct reader){.number = request->value, .copy = request->copy, .node = source};
    requests += 1;
}

static void ask(int kind, size_t value, size_t copy) {
    const struct graph *graph = &part.graph;
    int node = node_of(graph, (int)(value / graph->values));
    size_t first = (size_t)first_processor(graph, node) * graph->values;
    struct request request = {(uint32_t)kind, (uint32_t)(value - first), (uint32_t)copy};
    asked[node] += 1;
    narthex_send(node, HANDLER_REQUEST, &request, sizeof request);
    narthex_poll();
}

static int by_value(const void *one, const void *other) {
    const struct reader *left = one, *right = other;
    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    return left->node - right->node;
}

/* By value; the values that they name have a place by now. */
static void sort_readers(struct readers *list, struct vertex *const *vertices) {
    if (list->count > 0)
        qsort(list->all, list->count, sizeof *list->all, by_value);
    for (size_t index = 0; index < list->count; index++)
        list->all[index].value = &vertices[list->all[index].number]->value;
}

/* Requests may still be on their way: each node is told how many come to it. */
static void await_requests(void) {
    int64_t expected = 0, *incoming = allocate((size_t)narthex_nodes(), sizeof *incoming);
    narthex_all_to_all(asked, incoming, sizeof *incoming);
    for (int node = 0; node < narthex_nodes(); node++)
        expected += incoming[node];
    while (requests < expected)
        narthex_poll();
    free(incoming);
}

static void prepare(struct graph graph) {
    asked = allocate((size_t)narthex_nodes(), sizeof *asked);
    part.graph = graph;
    part = part_make(graph, first_processor(&graph, narthex_node()),
                     first_processor(&graph, narthex_node() + 1), ask);
    await_requests();
    for (int kind = 0; kind < KINDS; kind++)
        sort_readers(&readers[kind], part.sides[kind].vertices);
}

/* Checking */

static void make_room_for_values(void) {
    for (int kind = 0; kind < KINDS; kind++)
        whole[kind] = allocate(part.graph.values * (size_t)part.graph.processors, sizeof(double));
}

static void on_values(int source, const void *payload, size_t bytes) {
    const double *values = payload;
    size_t first = (size_t)first_processor(&part.graph, source) * part.graph.values;
    size_t count = bytes / sizeof *values / KINDS;
    for (int kind = 0; kind < KINDS; kind++)
        memcpy(whole[kind] + first, values + (size_t)kind * count, count * sizeof *values);
    parts += 1;
}

static void copy_values(double *to, const struct part *from, int kind) {
    for (size_t number = 0; number < from->count; number++)
        to[number] = from->sides[kind].vertices[number]->value;
}

/* Sends this node's values to node 0. */
static void send_values(void) {
    double *values = allocate(KINDS * part.count, sizeof *values);
    for (int kind = 0; kind < KINDS; kind++)
        copy_values(values + (size_t)kind * part.count, &part, kind);
    size_t bytes = KINDS * part.count * sizeof *values;
    if (narthex_node() == 0)
        on_values(0, values, bytes); /* a send would wait while others fill its queue */
    else
        narthex_send(0, HANDLER_VALUES, values, bytes);
    free(values);
}

static void need_nothing(int kind, size_t value, size_t copy) {
    narthex_fail("em3d: the whole graph copies its %s value %zu to %zu",
                 kind == ELECTRIC ? "electric" : "magnetic", value, copy);
}

static void check_kind(const struct part *right, int kind) {
    static const double SLACK = 1e-12; /* the weights add up to 1, but for rounding */
    for (size_t value = 0; value < right->count; value++) {
        double found = whole[kind][value], expected = right->sides[kind].vertices[value]->value;
        narthex_check(found == expected,
                      "em3d: %s value %zu is %.17g, but %.17g computed by one node",
                      kind == ELECTRIC ? "electric" : "magnetic", value, found, expected);
        narthex_check(found >= 0 && found < 1 + SLACK,
                      "em3d: a mean of values between 0 and 1 is %g", found);
    }
}

/* On node 0. */
static void check(long iterations) {
    while (parts < narthex_nodes())
        narthex_poll();
    struct part right = part_make(part.graph, 0, part.graph.processors, need_nothing);
    for (long iteration = 0; iteration < iterations; iteration++)
        for (int kind = 0; kind < KINDS; kind++)
            part_compute(&right, kind);
    for (int kind = 0; kind < KINDS; kind++)
        check_kind(&right, kind);
    narthex_report("electric energy", part_energy(&right, ELECTRIC), "");
    narthex_report("magnetic energy", part_energy(&right, MAGNETIC), "");
}

static struct graph read_arguments(int count, char **values) {
    long nodes = argument(count, values, 1, "nodes", 2, 1L << 24, 16384);
    long processors = argument(count, values, 3, "processors", 1, 4096, 16);
    struct graph graph = {.values = (size_t)(nodes / processors / KINDS),
                          .processors = (int)processors,
                          .degree = (int)argument(count, values, 4, "degree", 1, 1000, 5),
                          .remote_percent = (int)argument(count, values, 5, "remote", 0, 100, 10),
                          .span = (int)argument(count, values, 6, "span", 1, 4095, 6)};
    narthex_check(
        nodes % (processors * KINDS) == 0,
        "em3d: %ld graph nodes do not divide into two kinds on %ld processors; allowed are "
        "multiples of %ld",
        nodes, processors, processors * KINDS);
    narthex_check(graph.remote_percent == 0 || graph.span < processors,
                  "em3d: a span of %d on %ld processors; allowed are spans up to %ld", graph.span,
                  processors, processors - 1);
    return graph;
}

static void register_handlers(void) {
    narthex_register_handler(HANDLER_REQUEST, on_request);
    narthex_register_handler(HANDLER_ELECTRIC_UPDATE, on_electric_update);
    narthex_register_handler(HANDLER_MAGNETIC_UPDATE, on_magnetic_update);
    narthex_register_handler(HANDLER_VALUES, on_values);
    narthex_barrier();
}

int main(int count, char **values) {
    struct graph graph = read_arguments(count, values);
    long iterations = argument(count, values, 2, "iterations", 1, 1000000, 10);
    long poll_every = argument(count, values, 7, "poll", 0, 1000000, 32);
    register_handlers();
    prepare(graph);
    if (narthex_node() == 0)
        make_room_for_values();
    measure_begin();
    iterate(iterations, (size_t)poll_every);
    measure_end();
    send_values();
    if (narthex_node() == 0)
        check(iterations);
    return 0;
}
