#include "cube.h"

#include <stdlib.h>
#include <string.h>

#include "narthex.h"
#include "shared_memory/shared_memory.h"

struct cube cube;

static const size_t point_bytes = FIELDS * sizeof(double);

/* The layout of a node's part of shared memory, the same for all: room for the largest subcube. */
static char *parts;                         /* of node 0, then node 1, ... */
static size_t part_bytes;                   /* of one node */
static size_t passages[DIRECTIONS][SENSES]; /* where in a part: the count, then the rows */
static size_t row_bytes[DIRECTIONS][SENSES];
static size_t block_bytes;

/* The addresses of this node's points with one layer of neighbours around them. */
static double **addresses;
static int layer_stride[DIRECTIONS];

/* Division */

static int part_begin(int direction, int part) {
    return 1 + cube.size * part / cube.parts[direction];
}

static int part_count(int direction, int part) {
    return part_begin(direction, part + 1) - part_begin(direction, part);
}

static int largest_count(int direction) {
    return (cube.size + cube.parts[direction] - 1) / cube.parts[direction];
}

static int node_at(const int part[DIRECTIONS]) {
    return (part[0] * cube.parts[1] + part[1]) * cube.parts[2] + part[2];
}

/* Divides the nodes into three factors whose sum, and so the surface of the subcubes, is least; the
 * largest comes first, since a surface across x is contiguous in memory. */
static void choose_parts(int nodes) {
    int least = 3 * nodes + 1;
    for (int z = 1; z <= nodes; z++)
        for (int y = z; y * z <= nodes; y++) {
            int x = nodes / (y * z);
            if (x * y * z == nodes && x >= y && x <= cube.size && x + y + z < least) {
                least = x + y + z;
                cube.parts[0] = x, cube.parts[1] = y, cube.parts[2] = z;
            }
        }
    narthex_check(least <= 3 * nodes,
                  "appbt cannot divide %d points along each edge among %d nodes: their number must "
                  "be the product of three whole numbers up to %d",
                  cube.size, nodes, cube.size);
}

static void find_own_part(int node) {
    for (int direction = DIRECTIONS - 1; direction >= 0; direction--) {
        int part = cube.part[direction] = node % cube.parts[direction];
        node /= cube.parts[direction];
        cube.begin[direction] = part_begin(direction, part);
        cube.count[direction] = part_count(direction, part);
    }
    cube.stride[2] = 1;
    cube.stride[1] = cube.count[2];
    cube.stride[0] = cube.count[2] * cube.count[1];
    cube.points = cube.stride[0] * cube.count[0];
}

/* Shared memory */

static size_t whole_blocks(size_t bytes) {
    return (bytes + block_bytes - 1) / block_bytes * block_bytes;
}

static void lay_out_passages(int direction) {
    size_t lines = (size_t)largest_count((direction + 1) % DIRECTIONS);
    size_t rows = (size_t)largest_count((direction + 2) % DIRECTIONS);
    row_bytes[direction][FORWARD] = whole_blocks(lines * FORWARD_DOUBLES * sizeof(double));
    row_bytes[direction][BACKWARD] = whole_blocks(lines * BACKWARD_DOUBLES * sizeof(double));
    for (int sense = 0; sense < SENSES; sense++) {
        passages[direction][sense] = part_bytes;
        part_bytes += whole_blocks(sizeof(atomic_long)) + rows * row_bytes[direction][sense];
    }
}

static void lay_out(void) {
    size_t points = 1;
    for (int direction = 0; direction < DIRECTIONS; direction++)
        points *= (size_t)largest_count(direction);
    part_bytes = whole_blocks(points * point_bytes);
    for (int direction = 0; direction < DIRECTIONS; direction++)
        lay_out_passages(direction);
    size_t all_bytes = part_bytes * (size_t)narthex_nodes();
    narthex_shared_start(all_bytes, block_bytes);
    parts = narthex_shared_allocate(all_bytes, 0, NARTHEX_SHARED_PAGE_BYTES);
}

static char *part_of(int node) {
    return parts + part_bytes * (size_t)node;
}

double *fields_of(int number) {
    return (double *)(void *)part_of(narthex_node()) + (size_t)number * FIELDS;
}

double *passage_row(int node, int direction, enum sense sense, int row) {
    char *passage = part_of(node) + passages[direction][sense] + whole_blocks(sizeof(atomic_long));
    return (double *)(void *)(passage + row_bytes[direction][sense] * (size_t)row);
}

atomic_long *passage_count(int node, int direction, enum sense sense) {
    return (atomic_long *)(void *)(part_of(node) + passages[direction][sense]);
}

/* Neighbours */

/* Where the fields of a point of any node are. */
static double *shared_fields(const int place[DIRECTIONS]) {
    int part[DIRECTIONS], number = 0;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        part[direction] = cube.part[direction];
        while (place[direction] < part_begin(direction, part[direction]))
            part[direction] -= 1;
        while (place[direction] >= part_begin(direction, part[direction] + 1))
            part[direction] += 1;
        number = number * part_count(direction, part[direction]) + place[direction] -
                 part_begin(direction, part[direction]);
    }
    return (double *)(void *)part_of(node_at(part)) + (size_t)number * FIELDS;
}

/* The fields on the surface, which never change, so every node has its own. */
static double *surface_fields(const int place[DIRECTIONS]) {
    double *fields = malloc(point_bytes);
    narthex_check(fields, "node %d has no memory for the surface of the cube", narthex_node());
    model_solution(place, fields);
    return fields;
}

static double *address_of(const int place[DIRECTIONS]) {
    for (int direction = 0; direction < DIRECTIONS; direction++)
        if (place[direction] == 0 || place[direction] > cube.size)
            return surface_fields(place);
    return shared_fields(place);
}

/* Whether at most one of three coordinates lies outside of the subcube: no other point is the
 * neighbour of one inside. */
static int is_near(const int at[DIRECTIONS]) {
    int outside = 0;
    for (int direction = 0; direction < DIRECTIONS; direction++)
        outside += at[direction] == 0 || at[direction] > cube.count[direction];
    return outside <= 1;
}

static int layer_number(int x, int y, int z) {
    return x * layer_stride[0] + y * layer_stride[1] + z;
}

static void find_addresses(void) {
    layer_stride[2] = 1;
    layer_stride[1] = cube.count[2] + 2;
    layer_stride[0] = layer_stride[1] * (cube.count[1] + 2);
    addresses = calloc((size_t)layer_stride[0] * (size_t)(cube.count[0] + 2), sizeof *addresses);
    narthex_check(addresses, "node %d has no memory for the addresses of its points",
                  narthex_node());
    for (int x = 0; x < cube.count[0] + 2; x++)
        for (int y = 0; y < cube.count[1] + 2; y++)
            for (int z = 0; z < cube.count[2] + 2; z++)
                if (is_near((const int[]){x, y, z}))
                    addresses[layer_number(x, y, z)] = address_of((const int[]){
                        cube.begin[0] + x - 1, cube.begin[1] + y - 1, cube.begin[2] + z - 1});
}

struct neighbours neighbours_of(int x, int y, int z) {
    double *const *point = &addresses[layer_number(x + 1, y + 1, z + 1)];
    struct neighbours neighbours;
    for (int direction = 0; direction < DIRECTIONS; direction++) {
        neighbours.before[direction] = point[-layer_stride[direction]];
        neighbours.behind[direction] = point[layer_stride[direction]];
    }
    return neighbours;
}

int next_node(int direction, enum sense sense) {
    int part[DIRECTIONS];
    memcpy(part, cube.part, sizeof part);
    part[direction] += sense == FORWARD ? 1 : -1;
    return part[direction] < 0 || part[direction] == cube.parts[direction] ? NOBODY : node_at(part);
}

void cube_start(int size, size_t bytes) {
    cube.size = size;
    block_bytes = bytes;
    choose_parts(narthex_nodes());
    find_own_part(narthex_node());
    lay_out();
    find_addresses();
}
