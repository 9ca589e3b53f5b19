/* Computational fluid dynamics on an unstructured mesh: smoke in a wind (ni-design-hpca98 Section
 * 5.2).
 *
 *     unstructured [ITERATIONS [X [Y [Z]]]]            by default 10, and 13 x 13 x 56 vertices
 *
 * Smoke is carried by a steady wind through a box that tetrahedra fill, and spreads by diffusion.
 * Each vertex of the mesh has a density, the mean over its cell (finite volumes); smoke leaves a
 * cell for another over the area that an edge of the mesh crosses, and the box over the triangles
 * of its surface. The mesh is divided by recursive coordinate bisection (mesh.h). An iteration is
 * two stages (the method of Heun); a stage:
 *
 *     exchange        each node sends the densities of its vertices to the nodes that have them as
 *                     ghosts: one message a consumer, over a virtual channel
 *     loop over edges what flows from one end to the other, from both ends' densities; an edge
 *                     between two nodes' vertices is computed by both, so nothing is sent back
 *     loop over faces what leaves the box
 *     update          of own vertices
 *
 * A vertex's flows are added in the order of the edges in the whole mesh, so its density has the
 * same bits on any number of nodes. Checked are that the cells are closed and fill the box; that
 * smoke is conserved, but for what leaves the box; that densities stay between zero and their first
 * maximum; and that the sum of their squares falls, as flow from a cell's windward side has it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../exact.h"
#include "../measure.h"
#include "mesh.h"
#include "messaging/channels.h"
#include "messaging/collectives.h"

/* The flow; README.md says why these. */
static const vector wind = {0.4, 0.3, 1.0}; /* lattice units a unit of time */
#define DIFFUSIVITY 0.02
#define BACKGROUND 0.1     /* smoke everywhere at first, beside the puff */
#define COURANT_NUMBER 0.8 /* share of the step that empties some cell */
#define TOLERANCE 1e-11

enum {
    MOST_SIDE = 200,
    MOST_VERTICES = 1000000,
    MOST_NODES = 64, /* a vertex's consumers are 64 bits */
    POLL_EDGES = 64, /* between polls, about two microseconds */
    POLL_VERTICES = 128,
    CHANNEL = 1
};

/* An edge, as the loop needs it: what leaves its two ends' cells per density there and time. */
struct flow {
    int a, b;
    double from_a, from_b;
};

/* A face: what leaves each vertex's cell through it, likewise. */
struct outlet {
    int vertices[3];
    double outflow;
};

/* A neighbour's channels. */
struct link {
    const struct neighbour *neighbour;
    struct narthex_channel *out, *in;
    double *outgoing; /* the densities to send */
};

/* What is summed over all vertices. */
struct sums {
    double mass, squares, volume, lost;
};

static struct mesh mesh;
static struct flow *flows;
static struct outlet *outlets;
static struct link *links;
static double time_step;
static double *density;       /* of own vertices, then of ghosts */
static double *gain;          /* into the vertices' cells per time; ghosts' are of no use */
static double *lost;          /* smoke through the surface per time, summed over the stages */
static double *step;          /* of own vertices: time step over volume */
static double *first_density; /* of own vertices, at the iteration's start */

/* Preparing */

static void *allocate(int count, size_t bytes) {
    void *memory = calloc((size_t)count + 1, bytes);
    narthex_check(memory, "node %d has no memory for %d times %zu bytes", narthex_node(), count,
                  bytes);
    return memory;
}

static double dot(const vector a, const vector b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The wind takes smoke from the cell it leaves; diffusion takes it from both, over the area and
 * the distance between the vertices. */
static void prepare_flows(void) {
    flows = allocate(mesh.edges, sizeof *flows);
    for (int index = 0; index < mesh.edges; index++) {
        const struct edge *edge = &mesh.edge[index];
        double carried = dot(wind, edge->area);
        double spread = DIFFUSIVITY *
                        __builtin_sqrt(dot(edge->area, edge->area) / dot(edge->reach, edge->reach));
        flows[index] = (struct flow){.a = edge->a,
                                     .b = edge->b,
                                     .from_a = (carried > 0 ? carried : 0) + spread,
                                     .from_b = (carried < 0 ? -carried : 0) + spread};
    }
}

/* Air that enters brings no smoke. */
static void prepare_outlets(void) {
    outlets = allocate(mesh.faces, sizeof *outlets);
    for (int index = 0; index < mesh.faces; index++) {
        double carried = dot(wind, mesh.face[index].third);
        outlets[index].outflow = carried > 0 ? carried : 0;
        memcpy(outlets[index].vertices, mesh.face[index].vertices, sizeof outlets->vertices);
    }
}

static void open_channels(void) {
    links = allocate(mesh.neighbours, sizeof *links);
    for (int index = 0; index < mesh.neighbours; index++) {
        const struct neighbour *other = &mesh.neighbour[index];
        size_t sent = (size_t)other->sends * sizeof(double);
        size_t received = (size_t)other->receives * sizeof(double);
        links[index] = (struct link){.neighbour = other,
                                     .out = narthex_channel_to(other->node, CHANNEL, sent),
                                     .in = narthex_channel_from(other->node, CHANNEL, received),
                                     .outgoing = allocate(other->sends, sizeof(double))};
    }
}

/* The longest step in which no cell can lose more than it has, and something to spare. */
static void choose_time_step(void) {
    double *leaving = allocate(mesh.vertices, sizeof *leaving);
    for (int index = 0; index < mesh.edges; index++) {
        leaving[flows[index].a] += flows[index].from_a;
        leaving[flows[index].b] += flows[index].from_b;
    }
    for (int index = 0; index < mesh.faces; index++)
        for (int corner = 0; corner < 3; corner++)
            leaving[outlets[index].vertices[corner]] += outlets[index].outflow;
    double least = 1e300;
    for (int vertex = 0; vertex < mesh.own; vertex++) {
        double emptying = mesh.volumes[vertex] / leaving[vertex];
        least = emptying < least ? emptying : least;
    }
    narthex_all_reduce(&least, 1, NARTHEX_DOUBLE, NARTHEX_MINIMUM);
    time_step = COURANT_NUMBER * least;
    for (int vertex = 0; vertex < mesh.own; vertex++)
        step[vertex] = time_step / mesh.volumes[vertex];
    free(leaving);
}

/* A round puff of smoke, a quarter along the box. */
static void release_smoke(const int sides[3]) {
    double radius = sides[0] / 3.;
    for (int vertex = 0; vertex < mesh.own; vertex++) {
        double square = 0;
        for (int axis = 0; axis < 3; axis++) {
            double centre = (sides[axis] - 1) / (axis == 2 ? 4. : 2.);
            double away = (mesh.points[vertex][axis] - centre) / radius;
            square += away * away;
        }
        density[vertex] = BACKGROUND + (square < 1 ? (1 - square) * (1 - square) : 0);
    }
}

static void prepare(const int sides[3]) {
    mesh = mesh_make(sides);
    density = allocate(mesh.vertices, sizeof *density);
    gain = allocate(mesh.vertices, sizeof *gain);
    lost = allocate(mesh.vertices, sizeof *lost);
    step = allocate(mesh.own, sizeof *step);
    first_density = allocate(mesh.own, sizeof *first_density);
    prepare_flows();
    prepare_outlets();
    open_channels();
    choose_time_step();
    release_smoke(sides);
}

/* Solving */

static void send_densities(const struct link *link) {
    const struct neighbour *consumer = link->neighbour;
    for (int index = 0; index < consumer->sends; index++)
        link->outgoing[index] = density[consumer->sent[index]];
    narthex_channel_send(link->out, link->outgoing, (size_t)consumer->sends * sizeof *density);
}

static void receive_densities(const struct link *link) {
    const struct neighbour *producer = link->neighbour;
    const double *received = narthex_channel_receive(link->in, NULL);
    for (int index = 0; index < producer->receives; index++)
        density[producer->first_ghost + index] = received[index];
    narthex_channel_release_later(link->in); /* with that of the iteration's other stage */
}

static void exchange(void) {
    for (int index = 0; index < mesh.neighbours; index++)
        send_densities(&links[index]);
    for (int index = 0; index < mesh.neighbours; index++)
        receive_densities(&links[index]);
}

static void flow_along_edges(void) {
    for (int begin = 0; begin < mesh.edges; begin += POLL_EDGES) {
        int end = begin + POLL_EDGES < mesh.edges ? begin + POLL_EDGES : mesh.edges;
        for (const struct flow *flow = flows + begin; flow != flows + end; flow++) {
            double moved = flow->from_a * density[flow->a] - flow->from_b * density[flow->b];
            gain[flow->a] -= moved;
            gain[flow->b] += moved;
        }
        narthex_poll();
    }
}

static void flow_out(void) {
    for (int index = 0; index < mesh.faces; index++) {
        const struct outlet *outlet = &outlets[index];
        for (int corner = 0; corner < 3; corner++) {
            int vertex = outlet->vertices[corner];
            double moved = outlet->outflow * density[vertex];
            gain[vertex] -= moved;
            lost[vertex] += moved;
        }
        if (index % POLL_EDGES == 0)
            narthex_poll();
    }
}

/* What every vertex gains at the present densities. */
static void compute_gains(void) {
    exchange();
    memset(gain, 0, (size_t)mesh.vertices * sizeof *gain);
    flow_along_edges();
    flow_out();
}

/* One step of Euler's method. */
static void advance(void) {
    compute_gains();
    for (int vertex = 0; vertex < mesh.own; vertex++) {
        density[vertex] += step[vertex] * gain[vertex];
        if (vertex % POLL_VERTICES == 0)
            narthex_poll();
    }
}

/* Heun's method: the mean of the start and of two steps of Euler's. */
static void solve(long iterations) {
    for (long iteration = 0; iteration < iterations; iteration++) {
        memcpy(first_density, density, (size_t)mesh.own * sizeof *density);
        advance();
        advance();
        for (int vertex = 0; vertex < mesh.own; vertex++)
            density[vertex] = (density[vertex] + first_density[vertex]) / 2;
    }
}

/* Checking */

static bool is_about(double value, double expected, double scale) {
    return __builtin_fabs(value - expected) <= TOLERANCE * scale;
}

static struct sums sum_up(void) {
    struct sums sums = {0};
    for (int vertex = 0; vertex < mesh.own; vertex++) {
        double volume = mesh.volumes[vertex];
        sums.mass += volume * density[vertex];
        sums.squares += volume * density[vertex] * density[vertex];
        sums.volume += volume;
        sums.lost += lost[vertex] * time_step / 2;
    }
    narthex_all_reduce(&sums, sizeof sums / sizeof(double), NARTHEX_DOUBLE, NARTHEX_SUM);
    return sums;
}

/* Fails unless the areas around each own vertex add up to zero. */
static void check_closed(void) {
    vector *around = allocate(mesh.vertices, sizeof *around);
    for (int axis = 0; axis < 3; axis++) {
        for (int index = 0; index < mesh.edges; index++) {
            around[mesh.edge[index].a][axis] += mesh.edge[index].area[axis];
            around[mesh.edge[index].b][axis] -= mesh.edge[index].area[axis];
        }
        for (int index = 0; index < mesh.faces; index++)
            for (int corner = 0; corner < 3; corner++)
                around[mesh.face[index].vertices[corner]][axis] += mesh.face[index].third[axis];
        for (int vertex = 0; vertex < mesh.own; vertex++)
            narthex_check(is_about(around[vertex][axis], 0, 1),
                          "node %d: the areas around vertex %d add up to %g along axis %d, not 0",
                          narthex_node(), vertex, around[vertex][axis], axis);
    }
    free(around);
}

static double find_maximum(void) {
    double maximum = 0;
    for (int vertex = 0; vertex < mesh.own; vertex++)
        maximum = density[vertex] > maximum ? density[vertex] : maximum;
    narthex_all_reduce(&maximum, 1, NARTHEX_DOUBLE, NARTHEX_MAXIMUM);
    return maximum;
}

static void check_volume(const struct sums *sums, const int sides[3]) {
    double box = (double)(sides[0] - 1) * (sides[1] - 1) * (sides[2] - 1);
    narthex_check(is_about(sums->volume, box, box), "the cells fill %.12g of a box of %g",
                  sums->volume, box);
}

static void check_smoke(const struct sums *before, const struct sums *after, double maximum) {
    for (int vertex = 0; vertex < mesh.own; vertex++)
        narthex_check(density[vertex] >= 0 && density[vertex] <= maximum * (1 + TOLERANCE),
                      "node %d: the density of vertex %d is %g; allowed are 0 to %g",
                      narthex_node(), vertex, density[vertex], maximum);
    narthex_check(is_about(after->mass + after->lost, before->mass, before->mass),
                  "of %.12g smoke there are %.12g in the box and %.12g outside", before->mass,
                  after->mass, after->lost);
    narthex_check(after->squares < before->squares,
                  "the sum of squares has risen from %.12g to %.12g", before->squares,
                  after->squares);
}

/* Each edge belongs to its first vertex's owner, and so does each face: all are there once. */
static void check_counts(void) {
    int64_t found[2] = {0, 0};
    for (int index = 0; index < mesh.edges; index++)
        found[0] += mesh.edge[index].a < mesh.own;
    for (int index = 0; index < mesh.faces; index++)
        found[1] += mesh.face[index].vertices[0] < mesh.own;
    narthex_all_reduce(found, 2, NARTHEX_INT64, NARTHEX_SUM);
    narthex_check(found[0] == mesh.whole_edges && found[1] == mesh.whole_faces,
                  "the nodes have %lld edges and %lld faces of %d and %d", (long long)found[0],
                  (long long)found[1], mesh.whole_edges, mesh.whole_faces);
}

static void report(const struct sums *sums, double maximum) {
    if (narthex_node() != 0)
        return;
    narthex_report("vertices", mesh.whole_vertices, "vertices");
    narthex_report("edges", mesh.whole_edges, "edges");
    narthex_report("faces", mesh.whole_faces, "faces");
    narthex_report("smoke in the box", sums->mass, "");
    narthex_report("smoke carried out", sums->lost, "");
    narthex_report("sum of squares", sums->squares, "");
    narthex_report("largest density", maximum, "");
}

int main(int count, char **values) {
    long iterations = argument(count, values, 1, "iterations", 1, 100000, 10);
    int sides[3];
    static const char *const names[] = {"x", "y", "z"};
    for (int axis = 0; axis < 3; axis++)
        sides[axis] =
            (int)argument(count, values, 2 + axis, names[axis], 2, MOST_SIDE, axis < 2 ? 13 : 56);
    narthex_check(sides[0] * sides[1] * sides[2] <= MOST_VERTICES,
                  "unstructured: %d x %d x %d vertices are more than %d", sides[0], sides[1],
                  sides[2], MOST_VERTICES);
    narthex_check(narthex_nodes() <= MOST_NODES, "unstructured runs on 1 to %d nodes, not %d",
                  MOST_NODES, narthex_nodes());
    prepare(sides);
    check_closed();
    check_counts();
    struct sums before = sum_up();
    double maximum = find_maximum();
    measure_begin();
    solve(iterations);
    measure_end();
    struct sums after = sum_up();
    check_volume(&after, sides);
    check_smoke(&before, &after, maximum);
    report(&after, find_maximum());
    return 0;
}
