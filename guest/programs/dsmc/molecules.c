/* Motion and exchange.
 *
 * A molecule that has moved to a cell of another node is sent there at once, as a message of 36
 * bytes; the handler appends it to the arrivals. Then the nodes tell each other how many they sent,
 * and each waits until that many have come. Since a barrier follows before the next motion, nothing
 * of the next iteration can be among them.
 *
 *     all       | stay, stay, (leaves), stay ... |      closes up in place
 *     arrivals  | from other nodes               |
 *     sorted    | cell 0 | cell 1 | ...          |      becomes `all` */
#include "../exact.h"

#include "molecules.h"

#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "messaging/collectives.h"
#include "narthex.h"

enum { ARRIVE = 1, POLL_MOLECULES = 16, POLL_CELLS = 16, SPARE_MOLECULES = 512 };

struct molecules molecules;

static struct molecule *arrivals, *sorted;
static uint32_t arrived, capacity;
static int32_t *outgoing, *incoming; /* molecules to and from each node */

static void arrive(int source, const void *payload, size_t bytes) {
    narthex_check(bytes == MOLECULE_BYTES && arrived < capacity,
                  "node %d: node %d sent %zu bytes as molecule %u of at most %u", narthex_node(),
                  source, bytes, arrived + 1, capacity);
    memcpy(&arrivals[arrived++], payload, MOLECULE_BYTES);
}

static void *check_memory(void *memory) {
    narthex_check(memory, "node %d has no memory for %u molecules", narthex_node(), capacity);
    return memory;
}

/* Room for half as many again as a node has on average. The three lists are used up to two thirds.
 */
static void allocate_lists(int per_cell) {
    capacity = grid.most * (uint32_t)per_cell * 3 / 2 + SPARE_MOLECULES;
    molecules.all = check_memory(malloc(3 * capacity * sizeof(struct molecule)));
    sorted = molecules.all + capacity;
    arrivals = sorted + capacity;
}

static void *allocate_counts(size_t count) {
    return check_memory(calloc(count, sizeof(uint32_t)));
}

void molecules_create(int per_cell) {
    size_t nodes = (size_t)narthex_nodes();
    allocate_lists(per_cell);
    molecules.start = allocate_counts(grid.own_count + 1);
    outgoing = allocate_counts(nodes);
    incoming = allocate_counts(nodes);
    for (uint32_t place = 0; place < grid.own_count; place++) {
        for (int index = 0; index < per_cell; index++) {
            uint32_t name = grid.own[place] * (uint32_t)per_cell + (uint32_t)index;
            molecules.all[molecules.count++] = gas_create(name, grid.own[place]);
        }
        molecules.start[place + 1] = molecules.count;
    }
    narthex_register_handler(ARRIVE, arrive);
}

/* Motion */

/* Along x, what leaves at one end comes in at the other. */
static void wrap(float *position, float edge) {
    if (*position < 0)
        *position += edge;
    else if (*position >= edge)
        *position -= edge;
}

static void reflect(float *position, float *velocity, float edge) {
    if (*position < 0)
        *position = -*position;
    else if (*position > edge)
        *position = 2 * edge - *position;
    else
        return;
    *velocity = -*velocity;
}

/* Rounding may put a molecule exactly on the far end of the box. */
static int coordinate(const struct molecule *molecule, int axis) {
    int result = (int)molecule->position[axis];
    return result < grid.cells[axis] ? result : grid.cells[axis] - 1;
}

static void move(struct molecule *molecule) {
    for (int axis = 0; axis < 3; axis++)
        molecule->position[axis] += molecule->velocity[axis] * (float)TIME_STEP;
    wrap(&molecule->position[0], (float)grid.edge[0]);
    for (int axis = 1; axis < 3; axis++)
        reflect(&molecule->position[axis], &molecule->velocity[axis], (float)grid.edge[axis]);
    molecule->cell =
        grid_cell(coordinate(molecule, 0), coordinate(molecule, 1), coordinate(molecule, 2));
}

static void move_all(void) {
    int self = narthex_node();
    uint32_t kept = 0;
    for (uint32_t index = 0; index < molecules.count; index++) {
        struct molecule *molecule = &molecules.all[index];
        move(molecule);
        int node = grid.node[molecule->cell];
        if (node == self) {
            molecules.all[kept++] = *molecule;
        } else {
            narthex_send(node, ARRIVE, molecule, MOLECULE_BYTES);
            outgoing[node]++;
        }
        if (index % POLL_MOLECULES == 0)
            narthex_poll();
    }
    molecules.sent += molecules.count - kept;
    molecules.count = kept;
}

static void await_arrivals(void) {
    int64_t expected = 0;
    narthex_all_to_all(outgoing, incoming, sizeof *outgoing);
    for (int node = 0; node < narthex_nodes(); node++) {
        expected += incoming[node];
        outgoing[node] = 0;
    }
    while (arrived < expected)
        narthex_poll();
}

/* Sorting */

static void count_cells(const struct molecule *list, uint32_t count) {
    for (uint32_t index = 0; index < count; index++)
        molecules.start[grid.node_place[list[index].cell]]++;
}

/* Puts each molecule in front of those of its cell that are there already. */
static void place(const struct molecule *list, uint32_t count) {
    for (uint32_t index = 0; index < count; index++)
        sorted[--molecules.start[grid.node_place[list[index].cell]]] = list[index];
}

/* A cell's few molecules by name, so that their order tells nothing of where they came from. */
static void sort_names(struct molecule *list, uint32_t count) {
    for (uint32_t index = 1; index < count; index++) {
        struct molecule molecule = list[index];
        uint32_t hole = index;
        for (; hole > 0 && list[hole - 1].name > molecule.name; hole--)
            list[hole] = list[hole - 1];
        list[hole] = molecule;
    }
}

static void sort(void) {
    uint32_t end = 0;
    narthex_check(molecules.count + arrived <= capacity,
                  "node %d: %u molecules have gathered here; there is room for %u", narthex_node(),
                  molecules.count + arrived, capacity);
    for (uint32_t cell = 0; cell <= grid.own_count; cell++)
        molecules.start[cell] = 0;
    count_cells(molecules.all, molecules.count);
    count_cells(arrivals, arrived);
    for (uint32_t cell = 0; cell <= grid.own_count; cell++)
        molecules.start[cell] = end += molecules.start[cell];
    place(molecules.all, molecules.count);
    place(arrivals, arrived);
    for (uint32_t cell = 0; cell < grid.own_count; cell++) {
        sort_names(sorted + molecules.start[cell],
                   molecules.start[cell + 1] - molecules.start[cell]);
        if (cell % POLL_CELLS == 0)
            narthex_poll();
    }
}

void molecules_move(void) {
    move_all();
    await_arrivals();
    sort();
    struct molecule *old = molecules.all;
    molecules.all = sorted;
    sorted = old;
    molecules.count += arrived;
    arrived = 0;
}
