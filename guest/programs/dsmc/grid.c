/* Dividing the box: every factorisation of the number of nodes is tried. */
#include "grid.h"

#include <limits.h>
#include <stdlib.h>

#include "narthex.h"

struct grid grid;

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count, bytes);
    narthex_check(memory, "node %d has no memory for %zu cells", narthex_node(), count);
    return memory;
}

/* Cells' faces between blocks. Along x the box is closed to a ring. */
static long surface(const int parts[3]) {
    const int *cells = grid.cells;
    return (long)(parts[0] > 1 ? parts[0] : 0) * cells[1] * cells[2] +
           (long)(parts[1] - 1) * cells[0] * cells[2] + (long)(parts[2] - 1) * cells[0] * cells[1];
}

static void choose_parts(void) {
    int nodes = narthex_nodes();
    long least = LONG_MAX;
    for (int x = 1; x <= nodes; x++)
        for (int y = 1; y <= nodes / x; y++) {
            int parts[3] = {x, y, nodes / x / y};
            if (x * y * parts[2] != nodes || surface(parts) >= least)
                continue;
            least = surface(parts);
            for (int axis = 0; axis < 3; axis++)
                grid.parts[axis] = parts[axis];
        }
}

/* The block, along one axis, that a coordinate lies in: block b begins at cells * b / parts. */
static int part_of(int axis, int coordinate) {
    return ((coordinate + 1) * grid.parts[axis] - 1) / grid.cells[axis];
}

static void number_cells(void) {
    uint32_t cell = 0, *count = allocate((size_t)narthex_nodes(), sizeof *count);
    for (int x = 0; x < grid.cells[0]; x++)
        for (int y = 0; y < grid.cells[1]; y++)
            for (int z = 0; z < grid.cells[2]; z++, cell++) {
                int node =
                    (part_of(0, x) * grid.parts[1] + part_of(1, y)) * grid.parts[2] + part_of(2, z);
                if (node == narthex_node())
                    grid.own[grid.own_count++] = cell;
                grid.node[cell] = (uint16_t)node;
                grid.node_place[cell] = (uint16_t)count[node]++;
                grid.most = count[node] > grid.most ? count[node] : grid.most;
            }
    free(count);
}

void grid_create(const int cells[3]) {
    grid.total = 1;
    for (int axis = 0; axis < 3; axis++) {
        grid.cells[axis] = cells[axis];
        grid.edge[axis] = cells[axis];
        grid.total *= (uint32_t)cells[axis];
    }
    for (int axis = 0; axis < 2; axis++) {
        int stride = axis == 0 ? cells[1] * cells[2] : cells[2];
        grid.offset[axis] = allocate((size_t)cells[axis], sizeof(int));
        for (int coordinate = 0; coordinate < cells[axis]; coordinate++)
            grid.offset[axis][coordinate] = coordinate * stride;
    }
    grid.node = allocate(grid.total, sizeof *grid.node);
    grid.node_place = allocate(grid.total, sizeof *grid.node_place);
    grid.own = allocate(grid.total, sizeof *grid.own);
    choose_parts();
    number_cells();
}
