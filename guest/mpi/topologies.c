#include "mpi/topologies.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/errors.h"
#include "mpi/splitting.h"

/* A grid: ranks are numbered with the last dimension first. */
struct topology {
    int dimensions;
    int *sizes, *periods, *own; /* own: this rank's coordinates */
    int memory[];
};

static struct topology *new_topology(int dimensions) {
    size_t bytes = 3 * (size_t)dimensions * sizeof(int);
    struct topology *grid = mpi_allocate(sizeof *grid + bytes);
    grid->dimensions = dimensions;
    grid->sizes = grid->memory;
    grid->periods = grid->memory + dimensions;
    grid->own = grid->memory + 2 * dimensions;
    return grid;
}

static void coordinates_of(const struct topology *grid, int rank, int coordinates[]) {
    for (int dimension = grid->dimensions - 1; dimension >= 0; dimension--) {
        coordinates[dimension] = rank % grid->sizes[dimension];
        rank /= grid->sizes[dimension];
    }
}

/* The rank at coordinates; MPI_PROC_NULL beyond an end. */
static int rank_at(const struct topology *grid, const int coordinates[]) {
    int rank = 0;
    for (int dimension = 0; dimension < grid->dimensions; dimension++) {
        int size = grid->sizes[dimension], place = coordinates[dimension];
        if (grid->periods[dimension])
            place = (place % size + size) % size;
        else if (place < 0 || place >= size)
            return MPI_PROC_NULL;
        rank = rank * size + place;
    }
    return rank;
}

void topology_release(struct communicator *comm) {
    free(comm->topology);
    comm->topology = NULL;
}

void topology_copy(const struct communicator *from, struct communicator *to) {
    const struct topology *grid = from->topology;
    if (!grid)
        return;
    to->topology = new_topology(grid->dimensions);
    memcpy(to->topology->memory, grid->memory, 3 * (size_t)grid->dimensions * sizeof(int));
}

/* Gives the ranks of a communicator that has them all their places. */
static void set_grid(struct communicator *comm, int dimensions, const int sizes[],
                     const int periods[]) {
    struct topology *grid = new_topology(dimensions);
    for (int dimension = 0; dimension < dimensions; dimension++) {
        grid->sizes[dimension] = sizes[dimension];
        grid->periods[dimension] = periods[dimension] != 0;
    }
    coordinates_of(grid, comm->rank, grid->own);
    comm->topology = grid;
}

int PMPI_Cart_create(MPI_Comm handle, int dimensions, const int sizes[], const int periods[],
                     int reorder, MPI_Comm *newcomm) {
    (void)reorder; /* ranks stay where they are */
    FIND_COMMUNICATOR(comm, handle);
    CHECK(dimensions >= 0, MPI_ERR_DIMS, "the grid has %d dimensions", dimensions);
    int64_t places = 1;
    for (int dimension = 0; dimension < dimensions; dimension++) {
        CHECK(sizes[dimension] > 0, MPI_ERR_DIMS, "dimension %d has %d places", dimension,
              sizes[dimension]);
        places *= sizes[dimension];
        CHECK(places <= comm->size, MPI_ERR_DIMS, "the grid has %lld places and more, for %d ranks",
              (long long)places, comm->size);
    }
    struct group *group = NULL;
    if (comm->rank < places) {
        group = new_group((int)places);
        for (int rank = 0; rank < places; rank++)
            group->world[rank] = world_rank(comm, rank);
        finish_group(group);
    }
    struct communicator *made;
    int error = make_communicator(comm, group, &made, FUNCTION);
    if (made)
        set_grid(made, dimensions, sizes, periods);
    *newcomm = made ? communicator_handle(made) : MPI_COMM_NULL;
    return error;
}
MPI_NAME(Cart_create);

/* Spreads a number over the dimensions that are 0: its largest prime factors first, each to the
 * smallest dimension so far; the larger ones stand first. */
static void spread(int number, int free_dimensions, int found[]) {
    for (int index = 0; index < free_dimensions; index++)
        found[index] = 1;
    for (int factor = number; factor > 1; factor--) {
        bool is_prime = true;
        for (int divisor = 2; divisor * divisor <= factor && is_prime; divisor++)
            is_prime = factor % divisor != 0;
        while (is_prime && number % factor == 0) {
            int smallest = 0;
            for (int index = 1; index < free_dimensions; index++)
                if (found[index] < found[smallest])
                    smallest = index;
            found[smallest] *= factor;
            number /= factor;
        }
    }
    for (int index = 1; index < free_dimensions; index++)
        for (int place = index; place > 0 && found[place] > found[place - 1]; place--) {
            int larger = found[place];
            found[place] = found[place - 1];
            found[place - 1] = larger;
        }
}

int PMPI_Dims_create(int nodes, int dimensions, int sizes[]) {
    struct communicator *comm = NULL;
    CHECK(nodes > 0 && dimensions >= 0, MPI_ERR_DIMS, "%d nodes in %d dimensions are no grid",
          nodes, dimensions);
    int left = nodes, free_dimensions = 0;
    for (int dimension = 0; dimension < dimensions; dimension++) {
        int size = sizes[dimension];
        CHECK(size >= 0, MPI_ERR_DIMS, "dimension %d has %d places", dimension, size);
        CHECK(size == 0 || left % size == 0, MPI_ERR_DIMS,
              "%d nodes cannot be divided by the %d places of dimension %d", nodes, size,
              dimension);
        free_dimensions += size == 0;
        left = size == 0 ? left : left / size;
    }
    CHECK(free_dimensions > 0 || left == 1, MPI_ERR_DIMS,
          "the dimensions are given, and have other places than %d", nodes);
    int *found = mpi_allocate((size_t)free_dimensions * sizeof *found), *next = found;
    spread(left, free_dimensions, found);
    for (int dimension = 0; dimension < dimensions; dimension++)
        if (sizes[dimension] == 0)
            sizes[dimension] = *next++;
    free(found);
    return MPI_SUCCESS;
}
MPI_NAME(Dims_create);

#define FIND_GRID(grid, handle)                                                                    \
    FIND_COMMUNICATOR(comm, handle);                                                               \
    const struct topology *grid = comm->topology;                                                  \
    CHECK(grid, MPI_ERR_TOPOLOGY, "the communicator has no Cartesian topology")

int PMPI_Cartdim_get(MPI_Comm handle, int *dimensions) {
    FIND_GRID(grid, handle);
    *dimensions = grid->dimensions;
    return MPI_SUCCESS;
}
MPI_NAME(Cartdim_get);

int PMPI_Cart_get(MPI_Comm handle, int most_dimensions, int sizes[], int periods[],
                  int coordinates[]) {
    FIND_GRID(grid, handle);
    CHECK(most_dimensions >= grid->dimensions, MPI_ERR_ARG,
          "there is room for %d dimensions, and the grid has %d", most_dimensions,
          grid->dimensions);
    size_t bytes = (size_t)grid->dimensions * sizeof(int);
    memcpy(sizes, grid->sizes, bytes);
    memcpy(periods, grid->periods, bytes);
    memcpy(coordinates, grid->own, bytes);
    return MPI_SUCCESS;
}
MPI_NAME(Cart_get);

int PMPI_Cart_rank(MPI_Comm handle, const int coordinates[], int *rank) {
    FIND_GRID(grid, handle);
    *rank = rank_at(grid, coordinates);
    CHECK(*rank != MPI_PROC_NULL, MPI_ERR_ARG, "the coordinates are beyond the grid");
    return MPI_SUCCESS;
}
MPI_NAME(Cart_rank);

int PMPI_Cart_coords(MPI_Comm handle, int rank, int most_dimensions, int coordinates[]) {
    FIND_GRID(grid, handle);
    CHECK((unsigned)rank < (unsigned)comm->size, MPI_ERR_RANK,
          "the rank is %d, and ranks are 0 to %d", rank, comm->size - 1);
    CHECK(most_dimensions >= grid->dimensions, MPI_ERR_ARG,
          "there is room for %d dimensions, and the grid has %d", most_dimensions,
          grid->dimensions);
    coordinates_of(grid, rank, coordinates);
    return MPI_SUCCESS;
}
MPI_NAME(Cart_coords);

int PMPI_Cart_shift(MPI_Comm handle, int direction, int distance, int *source, int *destination) {
    FIND_GRID(grid, handle);
    CHECK((unsigned)direction < (unsigned)grid->dimensions, MPI_ERR_ARG,
          "the direction is %d, and the grid has %d dimensions", direction, grid->dimensions);
    size_t bytes = (size_t)grid->dimensions * sizeof(int);
    int *place = mpi_allocate(bytes);
    memcpy(place, grid->own, bytes);
    place[direction] = grid->own[direction] + distance;
    *destination = rank_at(grid, place);
    place[direction] = grid->own[direction] - distance;
    *source = rank_at(grid, place);
    free(place);
    return MPI_SUCCESS;
}
MPI_NAME(Cart_shift);

/* Ranks with the same coordinates in the dimensions that go make a grid of those that remain. */
int PMPI_Cart_sub(MPI_Comm handle, const int remain[], MPI_Comm *newcomm) {
    FIND_GRID(grid, handle);
    struct topology *kept = new_topology(grid->dimensions);
    int color = 0, key = 0;
    kept->dimensions = 0;
    for (int dimension = 0; dimension < grid->dimensions; dimension++) {
        int size = grid->sizes[dimension], own = grid->own[dimension];
        if (!remain[dimension]) {
            color = color * size + own;
            continue;
        }
        key = key * size + own;
        kept->sizes[kept->dimensions] = size;
        kept->periods[kept->dimensions++] = grid->periods[dimension];
    }
    int error = PMPI_Comm_split(handle, color, key, newcomm);
    if (!error)
        set_grid(find_communicator(*newcomm), kept->dimensions, kept->sizes, kept->periods);
    free(kept);
    return error;
}
MPI_NAME(Cart_sub);

int PMPI_Topo_test(MPI_Comm handle, int *status) {
    FIND_COMMUNICATOR(comm, handle);
    *status = comm->topology ? MPI_CART : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_NAME(Topo_test);
