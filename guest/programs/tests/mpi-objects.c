/* Communicators, groups, grids, attributes and error handlers of MPI: what every library must
 * print. */
#include "mpi_test.h"

static void show(const char *what, MPI_Comm comm) {
    if (comm == MPI_COMM_NULL) {
        say("%s: none", what);
        return;
    }
    int own, all, sum;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    say("%s: %d of %d, sum %d", what, own, all, sum);
}

static void test_communicators(void) {
    MPI_Comm split, dup, created, shared;
    MPI_Group all, some, rest, both;
    int comparison[4], members, own, first = 0, translated;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &split);
    show("split", split);
    MPI_Comm_dup(split, &dup);
    show("dup", dup);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_set_name(split, "half");
    MPI_Comm_get_name(split, name, &length);
    say("named %s, %d", name, length);
    MPI_Comm_get_name(dup, name, &length);
    say("not named: %d", length);
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    say("named %s, %d", name, length);
    MPI_Comm_compare(split, dup, &comparison[0]);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &comparison[1]);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int range[1][3] = {{0, size - 1, 2}};
    MPI_Group_range_incl(all, 1, range, &some);
    MPI_Group_difference(all, some, &rest);
    MPI_Group_union(rest, some, &both);
    MPI_Group_compare(both, all, &comparison[2]);
    MPI_Group_size(rest, &members);
    MPI_Group_rank(both, &own);
    MPI_Group_translate_ranks(all, 1, &first, both, &translated);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &comparison[3]);
    say("compared %d %d %d %d, rest %d, own %d, first %d", comparison[0] == MPI_CONGRUENT,
        comparison[1] == MPI_IDENT, comparison[2] == (size > 1 ? MPI_SIMILAR : MPI_IDENT),
        comparison[3] == (size > 1 ? MPI_UNEQUAL : MPI_CONGRUENT), members, own, translated);
    MPI_Comm_create(MPI_COMM_WORLD, some, &created);
    show("created", created);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &shared);
    show("without the first", shared);
    if (shared != MPI_COMM_NULL)
        MPI_Comm_free(&shared);
    if (created != MPI_COMM_NULL)
        MPI_Comm_free(&created);
    MPI_Comm_free(&dup);
    MPI_Comm_free(&split);
    MPI_Group_free(&some);
    MPI_Group_free(&rest);
    MPI_Group_free(&both);
    MPI_Group_free(&all);
    for (int round = 0; round < 40; round++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        MPI_Comm_free(&dup);
    }
    show("world", MPI_COMM_WORLD);
}

static void test_grid(void) {
    int sizes[3] = {0, 0, 0}, flat[2] = {0, 0}, periods[2] = {1, 0}, got[2], around[2], own[2];
    MPI_Comm grid, row;
    MPI_Dims_create(360, 3, sizes);
    MPI_Dims_create(size, 2, flat);
    say("dims %d %d %d", sizes[0], sizes[1], sizes[2]);
    MPI_Cart_create(MPI_COMM_WORLD, 2, flat, periods, 0, &grid);
    MPI_Cart_get(grid, 2, got, around, own);
    say("grid %d x %d, at %d %d", got[0], got[1], own[0], own[1]);
    for (int direction = 0; direction < 2; direction++) {
        int source, destination, value = -1;
        MPI_Cart_shift(grid, direction, 1, &source, &destination);
        MPI_Sendrecv(&rank, 1, MPI_INT, destination, 1, &value, 1, MPI_INT, source, 1, grid,
                     MPI_STATUS_IGNORE);
        say("shift %d: %d %d, got %d", direction, source == MPI_PROC_NULL ? -1 : source,
            destination == MPI_PROC_NULL ? -1 : destination, value);
    }
    int remain[2] = {0, 1}, dimensions, back, kind;
    MPI_Cart_sub(grid, remain, &row);
    MPI_Cartdim_get(row, &dimensions);
    MPI_Cart_rank(grid, own, &back);
    MPI_Topo_test(row, &kind);
    show("row", row);
    say("row has %d, back %d, %d", dimensions, back, kind == MPI_CART);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);
}

static int copied, deleted;

static int copy_one_more(MPI_Comm comm, int key, void *state, void *value, void *result,
                         int *flag) {
    (void)comm, (void)key;
    *(void **)result = (char *)value + *(int *)state;
    *flag = 1;
    copied += 1;
    return MPI_SUCCESS;
}

static int count_deleted(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)value, (void)state;
    deleted += 1;
    return MPI_SUCCESS;
}

static void test_attributes(void) {
    static char values[8];
    int step = 2, counted, plain, flag, *largest_tag;
    void *value;
    MPI_Comm dup;
    MPI_Comm_create_keyval(copy_one_more, count_deleted, &counted, &step);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, counted, values);
    MPI_Comm_set_attr(MPI_COMM_WORLD, plain, values);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_get_attr(dup, counted, &value, &flag);
    say("copied %d to %d, %d", copied, (int)((char *)value - values), flag);
    MPI_Comm_get_attr(dup, plain, &value, &flag);
    MPI_Comm_free(&dup);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, counted);
    say("plain %d, deleted %d", flag, deleted);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, plain);
    MPI_Comm_free_keyval(&counted);
    MPI_Comm_free_keyval(&plain);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest_tag, &flag);
    say("tags %d %d", flag, *largest_tag >= 32767);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    MPI_Error_class(*code, &handled);
}

static void say_class(const char *what, int expected, int code) {
    int class;
    MPI_Error_class(code, &class);
    say("%s: %d", what, class == expected);
}

static void test_errors(void) {
    int value = 0, got[1], last = (rank - 1 + size) % size;
    MPI_Comm comm, null = MPI_COMM_NULL;
    MPI_Errhandler own, before;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_get_errhandler(comm, &before);
    say("returns %d", before == MPI_ERRORS_RETURN);
    say_class("rank", MPI_ERR_RANK, MPI_Send(&value, 1, MPI_INT, size, 0, comm));
    say_class("tag", MPI_ERR_TAG, MPI_Send(&value, 1, MPI_INT, 0, -5, comm));
    say_class("count", MPI_ERR_COUNT, MPI_Send(&value, -1, MPI_INT, 0, 0, comm));
    say_class("type", MPI_ERR_TYPE, MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, comm));
    say_class("root", MPI_ERR_ROOT, MPI_Bcast(&value, 1, MPI_INT, size, comm));
    say_class("op", MPI_ERR_OP, MPI_Allreduce(&value, got, 1, MPI_INT, MPI_OP_NULL, comm));
    say_class("comm", MPI_ERR_COMM, MPI_Send(&value, 1, MPI_INT, 0, 0, null));
    int pair[2] = {1, 2};
    MPI_Request request;
    MPI_Isend(pair, 2, MPI_INT, (rank + 1) % size, 9, comm, &request);
    say_class("truncated", MPI_ERR_TRUNCATE,
              MPI_Recv(got, 1, MPI_INT, last, 9, comm, MPI_STATUS_IGNORE));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_create_errhandler(handle, &own);
    MPI_Comm_set_errhandler(comm, own);
    MPI_Send(&value, 1, MPI_INT, -7, 0, comm);
    say("handled %d", handled == MPI_ERR_RANK);
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&comm);
}

/* Time is that of each library: what all have in common is that it goes on. */
static void test_time(void) {
    double start = MPI_Wtime(), tick = MPI_Wtick();
    MPI_Barrier(MPI_COMM_WORLD);
    while (MPI_Wtime() < start + tick)
        ;
    say("time %d %d", tick > 0 && tick <= 1e-3, MPI_Wtime() - start < 3600);
}

int main(int argc, char **argv) {
    int before, after, given, queried, is_main;
    MPI_Initialized(&before);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Initialized(&after);
    MPI_Query_thread(&queried);
    MPI_Is_thread_main(&is_main);
    say("initialized %d %d, threads %d %d, main %d", before, after, given >= MPI_THREAD_FUNNELED,
        queried == given, is_main);
    test_time();
    test_communicators();
    test_grid();
    test_attributes();
    test_errors();
    MPI_Finalize();
    MPI_Finalized(&after);
    say("finalized %d", after);
}
