/* The mesh: points of a lattice, moved a little at random, joined to tetrahedra.
 *
 * Each cube of the lattice is cut into six tetrahedra along the paths from its lowest corner to
 * its highest one (Kuhn's triangulation), one path for each order of the three axes:
 *
 *            111         000 - 100 - 110 - 111
 *           /            000 - 100 - 101 - 111
 *     110 -+             000 - 010 - 110 - 111    ...
 *      |
 *     100                so the mesh's edges lead in 7 directions, a set bit for each axis
 *      |
 *     000
 *
 * The cell of a vertex is its part of the median dual: bounded, in each tetrahedron, by surfaces
 * through the middles of edges, triangles and tetrahedron. Between the cells of a and b, the ends
 * of an edge, lies in a tetrahedron a b c d of positive volume the area (c + d - a - b) x (d - c)
 * / 24. The areas around a vertex, with thirds of its faces if it lies on the surface, close: they
 * add up to zero, and what leaves one cell enters another.
 *
 * Every node computes all points and owners, and of everything else its own part. */
#include "mesh.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../exact.h"
#include "../pattern.h"

enum { SEED = 9428, DIRECTIONS = 7, CORNERS = 8, TETRAHEDRA = 6, NONE = -1 };

/* How far points move along an axis, of the lattice's unit: so little that no tetrahedron is
 * turned inside out. */
#define JITTER 0.15

/* While the mesh is made: the whole mesh, numbered as its points are. */
static struct {
    int sides[3], count;
    int strides[3];       /* from a vertex to the next along an axis */
    int offsets[CORNERS]; /* from a vertex to the corners of the cube above it: a bit an axis */
    uint8_t *last_axes;   /* along which a vertex is the last, as bits */
    vector *points;
    int *owners;
    int *local;          /* a vertex's number in this node's part, or NONE */
    int *edge;           /* [vertex * 8 + direction], likewise */
    uint64_t *consumers; /* of own vertices: a bit for each node that has it as a ghost */
    int node;
} whole;

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count + 1, bytes); /* a node may have no part */
    narthex_check(memory, "node %d has no memory for %zu times %zu bytes", narthex_node(), count,
                  bytes);
    return memory;
}

/* Vectors */

static void subtract(vector result, const vector a, const vector b) {
    for (int axis = 0; axis < 3; axis++)
        result[axis] = a[axis] - b[axis];
}

static void add_scaled(vector sum, const vector a, double factor) {
    for (int axis = 0; axis < 3; axis++)
        sum[axis] += a[axis] * factor;
}

static void cross(vector result, const vector a, const vector b) {
    result[0] = a[1] * b[2] - a[2] * b[1];
    result[1] = a[2] * b[0] - a[0] * b[2];
    result[2] = a[0] * b[1] - a[1] * b[0];
}

static double dot(const vector a, const vector b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Points */

static int place_on(int vertex, int axis) {
    return vertex / whole.strides[axis] % whole.sides[axis];
}

static bool is_on_surface(int vertex, int axis) {
    int place = place_on(vertex, axis);
    return place == 0 || place == whole.sides[axis] - 1;
}

/* Points on the surface stay on it. */
static double jitter(int vertex, int axis) {
    uint64_t drawn = pattern_word(SEED, (size_t)(vertex * 3 + axis)) >> 11;
    return is_on_surface(vertex, axis) ? 0 : JITTER * ((double)drawn * 0x1p-52 - 1);
}

/* The axes along which a vertex is the last, as bits. */
static uint8_t last_axes(int vertex) {
    int axes = 0;
    for (int axis = 0; axis < 3; axis++)
        axes |= (place_on(vertex, axis) == whole.sides[axis] - 1) << axis;
    return (uint8_t)axes;
}

/* From a vertex to the corner of a cube above it: a bit for each axis. */
static int offset_to(int corner) {
    return (corner & 1) * whole.strides[0] + (corner >> 1 & 1) * whole.strides[1] +
           (corner >> 2 & 1) * whole.strides[2];
}

static void place_points(const int sides[3]) {
    memcpy(whole.sides, sides, sizeof whole.sides);
    whole.strides[2] = 1;
    whole.strides[1] = sides[2];
    whole.strides[0] = sides[1] * sides[2];
    whole.count = sides[0] * whole.strides[0];
    whole.points = allocate((size_t)whole.count, sizeof *whole.points);
    whole.last_axes = allocate((size_t)whole.count, sizeof *whole.last_axes);
    for (int corner = 0; corner < CORNERS; corner++)
        whole.offsets[corner] = offset_to(corner);
    for (int vertex = 0; vertex < whole.count; vertex++) {
        whole.last_axes[vertex] = last_axes(vertex);
        for (int axis = 0; axis < 3; axis++)
            whole.points[vertex][axis] = place_on(vertex, axis) + jitter(vertex, axis);
    }
}

/* The vertex an edge leads to, or NONE. */
static int other_end(int vertex, int direction) {
    return whole.last_axes[vertex] & direction ? NONE : vertex + whole.offsets[direction];
}

/* Who has what */

static bool is_own(int vertex) {
    return whole.owners[vertex] == whole.node;
}

/* Calls `visit` for every edge that has an own vertex, in the whole mesh's order. */
static void for_edges(struct mesh *mesh, void (*visit)(struct mesh *, int, int, int)) {
    for (int vertex = 0; vertex < whole.count; vertex++)
        for (int direction = 1; direction <= DIRECTIONS; direction++) {
            int other = other_end(vertex, direction);
            if (other != NONE && (is_own(vertex) || is_own(other)))
                visit(mesh, vertex, other, direction);
        }
}

/* An own vertex is a ghost where the edge's other end is owned, and the other way. */
static void note_edge(struct mesh *mesh, int a, int b, int direction) {
    (void)direction;
    whole.consumers[a] |= UINT64_C(1) << whole.owners[b];
    whole.consumers[b] |= UINT64_C(1) << whole.owners[a];
    mesh->edges += 1;
}

static void number_own(struct mesh *mesh) {
    for (int vertex = 0; vertex < whole.count; vertex++) {
        whole.local[vertex] = is_own(vertex) ? mesh->own++ : NONE;
        mesh->vertices = mesh->own;
    }
}

static bool is_consumed(int vertex, int owner, int consumer) {
    return whole.owners[vertex] == owner && whole.consumers[vertex] >> consumer & 1;
}

/* The vertices shared with one other node, in both directions, if there are any. */
static void share_with(struct mesh *mesh, int other) {
    struct neighbour neighbour = {.node = other, .first_ghost = mesh->vertices};
    neighbour.sent = allocate((size_t)mesh->own, sizeof *neighbour.sent);
    for (int vertex = 0; vertex < whole.count; vertex++) {
        if (is_consumed(vertex, whole.node, other))
            neighbour.sent[neighbour.sends++] = whole.local[vertex];
        if (is_consumed(vertex, other, whole.node)) {
            whole.local[vertex] = mesh->vertices++;
            neighbour.receives += 1;
        }
    }
    if (neighbour.sends > 0)
        mesh->neighbour[mesh->neighbours++] = neighbour;
    else
        free(neighbour.sent);
}

static void divide(struct mesh *mesh) {
    size_t count = (size_t)whole.count;
    int nodes = narthex_nodes();
    whole.node = narthex_node();
    whole.owners = allocate(count, sizeof *whole.owners);
    whole.local = allocate(count, sizeof *whole.local);
    whole.consumers = allocate(count, sizeof *whole.consumers);
    partition(whole.points, whole.count, nodes, whole.owners);
    number_own(mesh);
    for_edges(mesh, note_edge);
    mesh->neighbour = allocate((size_t)nodes, sizeof *mesh->neighbour);
    for (int other = 0; other < nodes; other++)
        if (other != whole.node)
            share_with(mesh, other);
}

/* Geometry */

static void list_edge(struct mesh *mesh, int a, int b, int direction) {
    struct edge *edge = &mesh->edge[mesh->edges];
    *edge = (struct edge){.a = whole.local[a], .b = whole.local[b]};
    subtract(edge->reach, whole.points[b], whole.points[a]);
    whole.edge[a * CORNERS + direction] = mesh->edges++;
}

/* Adds a tetrahedron's part to the area of its edge from corner `a` to `b`; `sign` is that of the
 * volume of a b c d. */
static void add_area(struct mesh *mesh, int lowest, const int *corners, const int *vertices,
                     const int *abcd, double sign) {
    int a = abcd[0], b = abcd[1], c = abcd[2], d = abcd[3];
    int edge =
        whole.edge[(lowest + whole.offsets[corners[a]]) * CORNERS + (corners[b] ^ corners[a])];
    if (edge == NONE)
        return;
    vector middle, along, area;
    for (int axis = 0; axis < 3; axis++)
        middle[axis] = whole.points[vertices[c]][axis] + whole.points[vertices[d]][axis] -
                       whole.points[vertices[a]][axis] - whole.points[vertices[b]][axis];
    subtract(along, whole.points[vertices[d]], whole.points[vertices[c]]);
    cross(area, middle, along);
    add_scaled(mesh->edge[edge].area, area, sign / 24);
}

/* Adds the triangle of a tetrahedron that is opposite to `vertices[apex]`, if it is part of the
 * surface and has an own vertex. */
static void add_face(struct mesh *mesh, const int *vertices, int apex) {
    int a = vertices[(apex + 1) % 4], b = vertices[(apex + 2) % 4], c = vertices[(apex + 3) % 4];
    bool on_surface = false;
    for (int axis = 0; axis < 3; axis++)
        on_surface |= is_on_surface(a, axis) && place_on(a, axis) == place_on(b, axis) &&
                      place_on(a, axis) == place_on(c, axis);
    if (!on_surface || !(is_own(a) || is_own(b) || is_own(c)))
        return;
    struct face *face = &mesh->face[mesh->faces++];
    *face = (struct face){.vertices = {whole.local[a], whole.local[b], whole.local[c]}};
    vector ab, ac, area, inward;
    subtract(ab, whole.points[b], whole.points[a]);
    subtract(ac, whole.points[c], whole.points[a]);
    cross(area, ab, ac);
    subtract(inward, whole.points[vertices[apex]], whole.points[a]);
    add_scaled(face->third, area, dot(area, inward) > 0 ? -1. / 6 : 1. / 6);
}

static double volume_of(const int *vertices) {
    vector sides[3], area;
    for (int side = 0; side < 3; side++)
        subtract(sides[side], whole.points[vertices[side + 1]], whole.points[vertices[0]]);
    cross(area, sides[0], sides[1]);
    return dot(area, sides[2]) / 6;
}

/* A tetrahedron of the cube above vertex `lowest`, whose path takes the axes in this order. */
static void add_tetrahedron(struct mesh *mesh, int lowest, const int *axes) {
    static const int pairs[][4] = {{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2},
                                   {1, 2, 0, 3}, {1, 3, 2, 0}, {2, 3, 0, 1}};
    int corners[4] = {0}, vertices[4] = {lowest};
    for (int step = 0; step < 3; step++) {
        corners[step + 1] = corners[step] | 1 << axes[step];
        vertices[step + 1] = lowest + whole.offsets[corners[step + 1]];
    }
    double volume = volume_of(vertices);
    for (int pair = 0; pair < 6; pair++)
        add_area(mesh, lowest, corners, vertices, pairs[pair], volume > 0 ? 1 : -1);
    for (int corner = 0; corner < 4; corner++) {
        if (is_own(vertices[corner]))
            mesh->volumes[whole.local[vertices[corner]]] += (volume > 0 ? volume : -volume) / 4;
        add_face(mesh, vertices, corner);
    }
}

/* Whether a cube stands above the vertex that has an own vertex among its corners. */
static bool has_own_corner(int lowest) {
    if (other_end(lowest, DIRECTIONS) == NONE)
        return false;
    for (int corner = 0; corner < CORNERS; corner++)
        if (is_own(lowest + whole.offsets[corner]))
            return true;
    return false;
}

static void measure_geometry(struct mesh *mesh) {
    static const int orders[TETRAHEDRA][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                              {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int lowest = 0; lowest < whole.count; lowest++)
        if (has_own_corner(lowest))
            for (int order = 0; order < TETRAHEDRA; order++)
                add_tetrahedron(mesh, lowest, orders[order]);
}

/* The numbers of the whole mesh, as Kuhn's triangulation gives them. */
static void count_whole(struct mesh *mesh) {
    int x = whole.sides[0] - 1, y = whole.sides[1] - 1, z = whole.sides[2] - 1;
    mesh->whole_vertices = whole.count;
    mesh->whole_faces = 4 * (x * y + y * z + z * x);
    mesh->whole_edges =
        whole.count + 6 * x * y * z + mesh->whole_faces / 2 - 1; /* Euler's formula */
}

static void keep_points(struct mesh *mesh) {
    mesh->points = allocate((size_t)mesh->vertices, sizeof *mesh->points);
    for (int vertex = 0; vertex < whole.count; vertex++)
        if (whole.local[vertex] != NONE)
            memcpy(mesh->points[whole.local[vertex]], whole.points[vertex], sizeof(vector));
}

static void allocate_geometry(struct mesh *mesh) {
    size_t edge_places = (size_t)whole.count * CORNERS;
    count_whole(mesh);
    whole.edge = allocate(edge_places, sizeof *whole.edge);
    for (size_t place = 0; place < edge_places; place++)
        whole.edge[place] = NONE;
    mesh->volumes = allocate((size_t)mesh->own, sizeof *mesh->volumes);
    mesh->edge = allocate((size_t)mesh->edges, sizeof *mesh->edge);
    mesh->face = allocate((size_t)mesh->whole_faces, sizeof *mesh->face);
}

struct mesh mesh_make(const int sides[3]) {
    struct mesh mesh = {0};
    place_points(sides);
    divide(&mesh);
    allocate_geometry(&mesh);
    keep_points(&mesh);
    mesh.edges = 0;
    for_edges(&mesh, list_edge);
    measure_geometry(&mesh);
    free(whole.last_axes);
    free(whole.points);
    free(whole.owners);
    free(whole.local);
    free(whole.consumers);
    free(whole.edge);
    return mesh;
}
