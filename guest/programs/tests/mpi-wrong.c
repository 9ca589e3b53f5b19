/* Wrong calls of MPI, each chosen by its name: what a run says of them. */
#include "mpi_test.h"

static int value[4];

static void cycle(void) {
    MPI_Recv(value, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wrong_tag(void) {
    if (rank == 0)
        MPI_Ssend(value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void any_source(void) {
    MPI_Recv(value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void truncated(void) {
    if (rank == 0)
        MPI_Send(value, 4, MPI_INT, 1, 3, MPI_COMM_WORLD);
    else
        MPI_Recv(value, 2, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void rank_out_of_range(void) {
    MPI_Send(value, 1, MPI_INT, size + 4, 0, MPI_COMM_WORLD);
}

static void freed_communicator(void) {
    MPI_Comm comm, kept;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    kept = comm;
    MPI_Comm_free(&comm);
    MPI_Barrier(kept);
}

static void not_committed(void) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Send(value, 1, pair, 0, 0, MPI_COMM_WORLD);
}

static void other_collective(void) {
    if (rank == 0)
        MPI_Scan(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void other_root(void) {
    MPI_Bcast(value, 1, MPI_INT, rank, MPI_COMM_WORLD);
}

static void barrier_for_broadcast(void) {
    if (rank == 0)
        MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void left_out(void) {
    if (rank != 0)
        MPI_Allreduce(MPI_IN_PLACE, value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Recv(value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void other_header(void) {
    MPI_Barrier((MPI_Comm)0x44000000);
}

static void after_finalize(void) {
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD);
}

static void aborts(void) {
    MPI_Abort(MPI_COMM_WORLD, 7);
}

#define CASE(name) {#name, name}
static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {CASE(cycle),
             CASE(wrong_tag),
             CASE(any_source),
             CASE(truncated),
             CASE(rank_out_of_range),
             CASE(freed_communicator),
             CASE(not_committed),
             CASE(other_collective),
             CASE(other_root),
             CASE(barrier_for_broadcast),
             CASE(left_out),
             CASE(other_header),
             CASE(after_finalize),
             CASE(aborts)};

int main(int argc, char **argv) {
    const char *wanted = argc > 1 ? argv[1] : "";
    if (strcmp(wanted, "before_init") == 0)
        MPI_Send(value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    begin(&argc, &argv);
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++)
        if (strcmp(cases[index].name, wanted) == 0)
            cases[index].run();
    MPI_Finalize();
}
