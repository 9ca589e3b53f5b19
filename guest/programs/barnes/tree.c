/* Building the tree: alone, then together, then its masses.
 *
 *   1. Every node builds a tree of its own bodies, of cells in its own part of the shared memory,
 *      and computes their masses. No other node looks, so this takes no messages and no locks.
 *   2. The trees are merged into one. A subtree whose place is empty is hung in as a whole; since a
 *      node's bodies are neighbours, this is most of it. Where two nodes meet, cells are entered
 *      and bodies pushed down. Writing a cell takes its lock.
 *   3. Cells that the merging changed are stale. Each node computes its own ones anew, the deepest
 *      level first, with a barrier after each. Sums run over the octants in order, so that they do
 *      not depend on who was first. */
#include "../exact.h"

#include "tree.h"

#include <string.h>

#include "messaging/collectives.h"
#include "narthex.h"
#include "shared_memory/shared_memory.h"

enum { LOCKS = 65536, POLL_CELLS = 4 };

struct tree tree;

static uint32_t first_cell, used_cells; /* of this node's */

uint64_t tree_shared_bytes(uint32_t total) {
    return (uint64_t)bodies_capacity(total) * sizeof(struct cell) * (uint64_t)narthex_nodes();
}

void tree_create(void) {
    size_t part = bodies.capacity * sizeof(struct cell);
    tree.cells =
        narthex_shared_allocate(part * (size_t)narthex_nodes(), 0, NARTHEX_SHARED_PAGE_BYTES);
    first_cell = (uint32_t)narthex_node() * bodies.capacity;
}

static int owner_of(uint32_t cell) {
    return (int)(cell / bodies.capacity);
}

/* Cubes */

static int octant_of(const struct cube *cube, const double position[3]) {
    return (position[0] >= cube->centre[0] ? 4 : 0) | (position[1] >= cube->centre[1] ? 2 : 0) |
           (position[2] >= cube->centre[2] ? 1 : 0);
}

static struct cube octant_cube(const struct cube *cube, int octant) {
    struct cube result = {.half = cube->half / 2};
    for (int axis = 0; axis < 3; axis++)
        result.centre[axis] =
            cube->centre[axis] + (octant >> (2 - axis) & 1 ? result.half : -result.half);
    return result;
}

/* The smallest cube around the origin with an edge of a power of two that holds all bodies. */
static struct cube enclosing_cube(void) {
    double largest = 0;
    for (uint32_t index = 0; index < bodies.current.count; index++)
        for (int axis = 0; axis < 3; axis++) {
            double place = bodies.current.points[bodies.first + index].position[axis];
            place = place < 0 ? -place : place;
            largest = place > largest ? place : largest;
        }
    narthex_all_reduce(&largest, 1, NARTHEX_DOUBLE, NARTHEX_MAXIMUM);
    narthex_check(largest < 0x1p30, "node %d: a body has gone to %g", narthex_node(), largest);
    struct cube cube = {.half = 0x1p-10};
    while (cube.half <= largest)
        cube.half *= 2;
    return cube;
}

/* Alone */

static uint32_t new_cell(int level) {
    narthex_check(used_cells < bodies.capacity,
                  "node %d: its bodies take more than %u cells: too many lie close together",
                  narthex_node(), bodies.capacity);
    uint32_t cell = first_cell + used_cells++;
    tree.cells[cell] = (struct cell){.level = level, .stale = true};
    return cell;
}

static child *slot_for(uint32_t cell, const struct cube *cube, child body) {
    return &tree.cells[cell].children[octant_of(cube, point_of(body)->position)];
}

/* Puts a body below a cell that no other node sees yet. */
static void insert(uint32_t cell, struct cube cube, child body) {
    for (;;) {
        int octant = octant_of(&cube, point_of(body)->position);
        child *slot = &tree.cells[cell].children[octant];
        tree.cells[cell].stale = true;
        if (*slot == NOTHING) {
            *slot = body;
            return;
        }
        cube = octant_cube(&cube, octant);
        if (is_body(*slot)) {
            child other = *slot;
            *slot = new_cell(tree.cells[cell].level + 1);
            *slot_for(*slot, &cube, other) = other;
        }
        cell = *slot;
    }
}

static void summarise(uint32_t index) {
    struct cell *cell = &tree.cells[index];
    struct point sum = {0};
    int64_t cost = 0;
    for (int octant = 0; octant < 8; octant++) {
        child item = cell->children[octant];
        if (item == NOTHING)
            continue;
        const struct point *part = point_of(item);
        sum.mass += part->mass;
        for (int axis = 0; axis < 3; axis++)
            sum.position[axis] += part->mass * part->position[axis];
        cost += cost_of(item);
    }
    for (int axis = 0; axis < 3; axis++)
        sum.position[axis] /= sum.mass;
    cell->centre = sum;
    cell->cost = cost;
    cell->stale = false;
}

/* Returns the root of this node's own tree. Children are made after their parents, so the way back
 * meets every cell after its children. */
static uint32_t build_alone(void) {
    used_cells = narthex_node() == 0 ? 1 : 0; /* the common root comes first */
    uint32_t root = new_cell(0);
    for (uint32_t index = 0; index < bodies.current.count; index++) {
        insert(root, tree.space, BODY | (bodies.first + index));
        if (index % POLL_CELLS == 0)
            narthex_poll();
    }
    for (uint32_t cell = first_cell + used_cells; cell-- > root;) {
        summarise(cell);
        if (cell % POLL_CELLS == 0)
            narthex_poll();
    }
    return root;
}

/* Together */

static int lock_of(uint32_t cell) {
    uint32_t nodes = (uint32_t)narthex_nodes(), index = cell % bodies.capacity;
    return (int)(index % (LOCKS / nodes) * nodes + (uint32_t)owner_of(cell)); /* at its owner */
}

/* A cell for the octant `cube` on `level`, with the body that stands there and what comes. */
static child join(const struct cube *cube, int level, child there, child item) {
    if (is_body(item)) {
        child body = item;
        item = new_cell(level);
        insert(item, *cube, body);
    }
    insert(item, *cube, there);
    return item;
}

/* Puts `item` into an octant unless a cell is there; returns what is there then, if it is a cell.
 */
static child settle(uint32_t cell, int octant, const struct cube *inner, child item) {
    child *slot = &tree.cells[cell].children[octant];
    if (*slot != NOTHING && !is_body(*slot))
        return *slot;
    narthex_lock(lock_of(cell));
    child there = *slot;
    if (there == NOTHING)
        *slot = item;
    else if (is_body(there))
        *slot = join(inner, tree.cells[cell].level + 1, there, item);
    narthex_unlock(lock_of(cell));
    return there == NOTHING || is_body(there) ? NOTHING : there;
}

/* Merges a body, or a tree of this node's, into an octant of a common cell. */
static void merge(uint32_t cell, const struct cube *cube, int octant, child item) {
    struct cube inner = octant_cube(cube, octant);
    if (!tree.cells[cell].stale)
        tree.cells[cell].stale = true;
    child there = settle(cell, octant, &inner, item);
    narthex_poll();
    if (there == NOTHING)
        return;
    if (is_body(item)) {
        merge(there, &inner, octant_of(&inner, point_of(item)->position), item);
        return;
    }
    for (int part = 0; part < 8; part++)
        if (tree.cells[item].children[part] != NOTHING)
            merge(there, &inner, part, tree.cells[item].children[part]);
}

static void merge_trees(uint32_t own) {
    for (int octant = 0; octant < 8; octant++)
        if (tree.cells[own].children[octant] != NOTHING)
            merge(ROOT, &tree.space, octant, tree.cells[own].children[octant]);
}

/* Masses of what the merging changed */

static int64_t deepest_stale_level(void) {
    int64_t deepest = 0;
    for (uint32_t cell = first_cell; cell < first_cell + used_cells; cell++)
        if (tree.cells[cell].stale && tree.cells[cell].level > deepest)
            deepest = tree.cells[cell].level;
    narthex_all_reduce(&deepest, 1, NARTHEX_INT64, NARTHEX_MAXIMUM);
    return deepest;
}

static void refresh(int64_t level) {
    for (uint32_t cell = first_cell; cell < first_cell + used_cells; cell++)
        if (tree.cells[cell].stale && tree.cells[cell].level == level) {
            summarise(cell);
            narthex_poll();
        }
}

void tree_build(void) {
    tree.space = enclosing_cube(); /* no node looks at the old tree any more */
    if (narthex_node() == 0)
        tree.cells[ROOT] = (struct cell){.stale = true};
    uint32_t own = build_alone();
    narthex_barrier();
    merge_trees(own);
    narthex_barrier();
    for (int64_t level = deepest_stale_level(); level >= 0; level--) {
        refresh(level);
        narthex_barrier();
    }
}
