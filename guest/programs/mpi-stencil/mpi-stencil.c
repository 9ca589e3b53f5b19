/* A halo exchange in MPI on a grid of ranks. Heat spreads over a square whose places the ranks
 * divide among them in two dimensions; in every step each rank exchanges the edges of its part with
 * four neighbours, and now and then all ranks agree on how much has changed.
 *
 *     mpi-stencil [PLACES [STEPS]]
 *                        by default 32 places a side, 20 steps
 *
 * At the end rank 0 computes the same alone, and every value must be the same to the bit. Compiles
 * with any mpi.h. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECK_EVERY = 5 };

/* A part of the square, with the edges of its neighbours around it. */
struct part {
    int rows, columns;
    double *now, *next;
};

static double *at(const struct part *part, double *values, int row, int column) {
    return &values[(row + 1) * (part->columns + 2) + column + 1];
}

static struct part new_part(int rows, int columns) {
    size_t places = (size_t)(rows + 2) * (size_t)(columns + 2);
    struct part part = {rows, columns, calloc(places, sizeof(double)),
                        calloc(places, sizeof(double))};
    if (!part.now || !part.next)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return part;
}

/* The heat at the start, by the place in the whole square. */
static double initial(int row, int column) {
    return (row * 7 + column * 13) % 11 + (row == column ? 50 : 0);
}

static void fill(struct part *part, int first_row, int first_column) {
    for (int row = 0; row < part->rows; row++)
        for (int column = 0; column < part->columns; column++)
            *at(part, part->now, row, column) = initial(first_row + row, first_column + column);
}

/* One step; returns by how much the values have changed at most. */
static double step(struct part *part) {
    double most = 0, *values = part->now;
    for (int row = 0; row < part->rows; row++)
        for (int column = 0; column < part->columns; column++) {
            double around = *at(part, values, row - 1, column) + *at(part, values, row + 1, column);
            around += *at(part, values, row, column - 1) + *at(part, values, row, column + 1);
            double old = *at(part, values, row, column), new = 0.5 * old + 0.125 * around;
            *at(part, part->next, row, column) = new;
            most = fabs(new - old) > most ? fabs(new - old) : most;
        }
    part->now = part->next;
    part->next = values;
    return most;
}

/* The edges: sent to each neighbour, and received behind the opposite edge. */
static void exchange(struct part *part, MPI_Comm grid, MPI_Datatype column_type) {
    double *values = part->now;
    int last_row = part->rows - 1, last_column = part->columns - 1;
    int up, down, left, right;
    MPI_Request requests[8];
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    double *places[4][2] = {
        {at(part, values, -1, 0), at(part, values, 0, 0)},
        {at(part, values, last_row + 1, 0), at(part, values, last_row, 0)},
        {at(part, values, 0, -1), at(part, values, 0, 0)},
        {at(part, values, 0, last_column + 1), at(part, values, 0, last_column)}};
    const int neighbours[] = {up, down, left, right}, opposite[] = {1, 0, 3, 2};
    for (int side = 0; side < 4; side++) {
        MPI_Datatype type = side < 2 ? MPI_DOUBLE : column_type;
        int count = side < 2 ? part->columns : 1;
        MPI_Irecv(places[side][0], count, type, neighbours[side], opposite[side], grid,
                  &requests[side]);
        MPI_Isend(places[side][1], count, type, neighbours[side], side, grid, &requests[4 + side]);
    }
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

/* The first of so many places that belongs to the part of this number. */
static int first_of(int part, int parts, int places) {
    return (int)((long)places * part / parts);
}

/* Rank 0 computes alone and compares; each rank's part comes row by row. */
static void check(struct part *part, MPI_Comm grid, const int sizes[2], int places, int steps) {
    int rank, ranks;
    MPI_Comm_rank(grid, &rank);
    MPI_Comm_size(grid, &ranks);
    if (rank != 0) {
        for (int row = 0; row < part->rows; row++)
            MPI_Send(at(part, part->now, row, 0), part->columns, MPI_DOUBLE, 0, row, grid);
        return;
    }
    struct part whole = new_part(places, places);
    double *received = malloc((size_t)places * sizeof *received), sum = 0;
    fill(&whole, 0, 0);
    for (int number = 0; number < steps; number++)
        step(&whole);
    for (int other = 0; other < ranks; other++) {
        int place[2];
        MPI_Cart_coords(grid, other, 2, place);
        int first_row = first_of(place[0], sizes[0], places);
        int first_column = first_of(place[1], sizes[1], places);
        int columns = first_of(place[1] + 1, sizes[1], places) - first_column;
        for (int row = first_row; row < first_of(place[0] + 1, sizes[0], places); row++) {
            double *own = at(part, part->now, row, 0);
            if (other != 0)
                MPI_Recv(received, columns, MPI_DOUBLE, other, row - first_row, grid,
                         MPI_STATUS_IGNORE);
            const double *found = other == 0 ? own : received;
            const double *right = at(&whole, whole.now, row, first_column);
            if (memcmp(found, right, (size_t)columns * sizeof *found) != 0) {
                fprintf(stderr, "row %d of rank %d is wrong\n", row, other);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
            for (int column = 0; column < columns; column++)
                sum += found[column];
        }
    }
    printf("%d x %d places, %d steps: heat %.6f, every value right\n", places, places, steps, sum);
    free(received);
    free(whole.now);
    free(whole.next);
}

int main(int count, char **values) {
    int ranks, rank, sizes[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    MPI_Comm grid;
    MPI_Datatype column_type;
    MPI_Init(&count, &values);
    int places = count > 1 ? atoi(values[1]) : 32, steps = count > 2 ? atoi(values[2]) : 20;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, sizes);
    if (places < sizes[0]) {
        fprintf(stderr, "%d places a side are too few for %d ranks\n", places, ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, place);
    int first_row = first_of(place[0], sizes[0], places);
    int first_column = first_of(place[1], sizes[1], places);
    struct part part = new_part(first_of(place[0] + 1, sizes[0], places) - first_row,
                                first_of(place[1] + 1, sizes[1], places) - first_column);
    MPI_Type_vector(part.rows, 1, part.columns + 2, MPI_DOUBLE, &column_type);
    MPI_Type_commit(&column_type);
    fill(&part, first_row, first_column);
    for (int number = 0; number < steps; number++) {
        exchange(&part, grid, column_type);
        double change = step(&part);
        if (number % CHECK_EVERY == 0)
            MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
    }
    check(&part, grid, sizes, places, steps);
    MPI_Type_free(&column_type);
    MPI_Comm_free(&grid);
    free(part.now);
    free(part.next);
    MPI_Finalize();
    return 0;
}
