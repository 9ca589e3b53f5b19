/* One-sided communication of MPI: what every library must print. */
#include "mpi_test.h"

enum { MANY = 5000, ROUNDS = 20 };

static int next(void) {
    return (rank + 1) % size;
}

static void test_fence(void) {
    int *memory, *got = malloc(MANY * sizeof(int)), *out;
    int base[64], blocks[12];
    MPI_Win window, small;
    MPI_Datatype every_third;
    MPI_Alloc_mem(MANY * sizeof(int), MPI_INFO_NULL, &out);
    MPI_Win_allocate(MANY * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    memset(base, 0, sizeof base);
    MPI_Win_create(base, sizeof base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &small);
    fill(memory, MANY, rank);
    fill(out, MANY, rank + 20);
    MPI_Win_fence(0, window);
    MPI_Get(got, MANY, MPI_INT, next(), 0, MANY, MPI_INT, window);
    MPI_Win_fence(0, window);
    say("got %u", digest(got, MANY * sizeof(int)));
    MPI_Put(out, MANY - 7, MPI_INT, next(), 7, MANY - 7, MPI_INT, window);
    MPI_Win_fence(0, window);
    say("put %u", digest(memory, MANY * sizeof(int)));
    MPI_Type_vector(4, 1, 3, MPI_INT, &every_third);
    MPI_Type_commit(&every_third);
    MPI_Win_fence(0, small);
    MPI_Put(out, 4, MPI_INT, next(), 8, 1, every_third, small);
    MPI_Win_fence(0, small);
    memset(blocks, 0, sizeof blocks);
    MPI_Get(blocks, 1, every_third, next(), 4, 4, MPI_INT, small);
    MPI_Win_fence(0, small);
    say("types %u %u", digest(base, sizeof base), digest(blocks, sizeof blocks));
    MPI_Win_fence(0, small);
    for (int other = 0; other < size; other++)
        MPI_Accumulate(out, 10, MPI_INT, other, 0, 10, MPI_INT, MPI_SUM, small);
    MPI_Win_fence(0, small);
    say("accumulated %u", digest(base, sizeof base));
    MPI_Put(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, small);
    MPI_Type_free(&every_third);
    MPI_Win_free(&small);
    MPI_Win_free(&window);
    free(got);
    MPI_Free_mem(out);
}

/* Counters on rank 0 that all change at once. */
static void test_locks(void) {
    long *counters, one = 1, old, taken = 0, sum = 0, seen = 0;
    double *values, minimum = rank + 0.5, before;
    MPI_Win window, doubles;
    MPI_Win_allocate(4 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counters,
                     &window);
    MPI_Win_allocate(2 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &values,
                     &doubles);
    memset(counters, 0, 4 * sizeof(long));
    values[0] = 1000;
    values[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        old += 1;
        MPI_Put(&old, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_lock_all(0, window);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 1, MPI_SUM, window);
        MPI_Win_flush(0, window);
        taken += old;
    }
    long wanted = rank, mine = rank + 1;
    do {
        MPI_Compare_and_swap(&mine, &wanted, &old, MPI_LONG, 0, 2, window);
        MPI_Win_flush(0, window);
    } while (old != wanted);
    MPI_Win_unlock_all(window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, doubles);
    MPI_Accumulate(&minimum, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_MIN, doubles);
    MPI_Get_accumulate(&minimum, 1, MPI_DOUBLE, &before, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE,
                       MPI_SUM, doubles);
    MPI_Win_unlock(0, doubles);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Reduce(&taken, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(NULL, &seen, MPI_LONG, 0, 2, MPI_NO_OP, window);
    MPI_Win_unlock(0, window);
    say("swapped to %ld", seen);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        say("counted %ld %ld, sum %ld, least %g, all %g", counters[0], counters[1], sum, values[0],
            values[1]);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&doubles);
    MPI_Win_free(&window);
}

/* Each rank reaches for the window of the next one, and nobody else's. */
static void test_epochs(void) {
    int memory[8] = {0}, fetched = -1, before = -1, value = 10 * rank, is_over = 0;
    int origin = (rank + size - 1) % size, target = next();
    MPI_Group all, from, to;
    MPI_Win window;
    MPI_Request requests[4];
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &origin, &from);
    MPI_Group_incl(all, 1, &target, &to);
    for (int round = 0; round < 3; round++) {
        MPI_Win_post(from, 0, window);
        MPI_Win_start(to, 0, window);
        MPI_Put(&value, 1, MPI_INT, target, round, 1, MPI_INT, window);
        MPI_Accumulate(&value, 1, MPI_INT, target, 3, 1, MPI_INT, MPI_SUM, window);
        MPI_Win_complete(window);
        if (round < 2)
            MPI_Win_wait(window);
        while (round == 2 && !is_over)
            MPI_Win_test(window, &is_over);
    }
    say("epochs %u", digest(memory, sizeof memory));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    MPI_Rput(&value, 1, MPI_INT, target, 4, 1, MPI_INT, window, &requests[0]);
    MPI_Raccumulate(&value, 1, MPI_INT, target, 5, 1, MPI_INT, MPI_SUM, window, &requests[1]);
    MPI_Rget(&fetched, 1, MPI_INT, target, 3, 1, MPI_INT, window, &requests[2]);
    MPI_Rget_accumulate(&value, 1, MPI_INT, &before, 1, MPI_INT, target, 6, 1, MPI_INT, MPI_SUM,
                        window, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    say("requests %d %d, %u", fetched, before, digest(memory, sizeof memory));
    MPI_Win_unlock(rank, window);
    MPI_Group_free(&all);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
    MPI_Win_free(&window);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    test_fence();
    test_epochs();
    test_locks();
    MPI_Finalize();
}
