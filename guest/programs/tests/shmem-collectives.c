/* OpenSHMEM's collectives, over all PEs, active sets and teams: what each call leaves behind is
 * compared with what plain C computes.
 *
 *     shmem-collectives [PART]    collectives, teams, or all of them */
#include "shmem_test.h"

/* Of a team of `size`, in which PE `rank` has number(rank, ...). */

static long into[MOST_PES * COUNT];
static double sums[400];

static void check_gathered(shmem_team_t team, int count) {
    for (int pe = 0; pe < shmem_team_n_pes(team); pe++)
        for (int index = 0; index < count; index++)
            CHECK(into[pe * count + index] == number(pe, index));
}

static void reductions(shmem_team_t team, int rank, int size) {
    double own[400], sum = 0, most = 0;
    unsigned bits = 1u << rank % 32, all = 0;
    static unsigned united;
    static long product;
    long factor = rank % 3 + 1, expected = 1;
    static double _Complex turned;
    double _Complex quarter = __builtin_complex(0.0, 1.0);
    for (int index = 0; index < 400; index++)
        own[index] = number(rank, index);
    CHECK(shmem_sum_reduce(team, sums, own, 400) == 0);
    for (int index = 0; index < 400; index++, sum = 0) {
        for (int pe = 0; pe < size; pe++)
            sum += number(pe, index);
        CHECK(sums[index] == sum);
    }
    memcpy(sums, own, sizeof own);
    shmem_max_reduce(team, sums, sums, 400); /* in its place */
    for (int pe = 0; pe < size; pe++) {
        most = number(pe, 399) > most ? number(pe, 399) : most;
        all ^= 1u << pe % 32;
        expected *= pe % 3 + 1;
    }
    CHECK(sums[399] == most);
    shmem_xor_reduce(team, &united, &bits, 1);
    CHECK(united == all);
    if (size <= 16) {
        shmem_prod_reduce(team, &product, &factor, 1);
        CHECK(product == expected);
    }
    shmem_prod_reduce(team, &turned, &quarter, 1);
    CHECK(__real__ turned == (size % 2 ? 0 : size % 4 ? -1 : 1));
}

static void collectives_of(shmem_team_t team) {
    int rank = shmem_team_my_pe(team), size = shmem_team_n_pes(team), own_count = rank % 3 + 1;
    long own[MOST_PES * COUNT];
    for (int index = 0; index < COUNT; index++)
        own[index] = number(rank, index);
    for (int root = 0; root < size; root += 1 + size / 3) {
        memset(into, 0, sizeof into);
        shmem_team_sync(team);
        CHECK(shmem_broadcast(team, into, own, COUNT, root) == 0);
        for (int index = 0; index < COUNT; index++)
            CHECK(into[index] == number(root, index));
        shmem_team_sync(team);
    }
    CHECK(shmem_fcollect(team, into, own, COUNT) == 0);
    check_gathered(team, COUNT);
    shmem_team_sync(team);
    CHECK(shmem_collect(team, into, own, (size_t)own_count) == 0);
    for (int pe = 0, place = 0; pe < size; pe++)
        for (int index = 0; index < pe % 3 + 1; index++)
            CHECK(into[place++] == number(pe, index));
    shmem_team_sync(team);
    for (int pe = 0; pe < size; pe++)
        for (int index = 0; index < 6; index++)
            own[pe * 6 + index] = number(rank, pe * 6 + index);
    CHECK(shmem_alltoall(team, into, own, 6) == 0);
    for (int pe = 0; pe < size; pe++)
        for (int index = 0; index < 6; index++)
            CHECK(into[pe * 6 + index] == number(pe, rank * 6 + index));
    shmem_team_sync(team);
    CHECK(shmem_alltoalls(team, into, own, 3, 2, 3) == 0);
    for (int pe = 0; pe < size; pe++)
        for (int index = 0; index < 3; index++)
            CHECK(into[(pe * 3 + index) * 3] == number(pe, (rank * 3 + index) * 2));
    shmem_team_sync(team);
    reductions(team, rank, size);
    shmem_team_sync(team);
}

static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE], sync_work[SHMEM_REDUCE_SYNC_SIZE];

/* Every other PE, from the first. */
static void active_sets(void) {
    static long short_into[COUNT], one;
    long own[COUNT];
    int size = (pes + 1) / 2, rank = me / 2;
    if (me % 2 == 0) {
        for (int index = 0; index < COUNT; index++)
            own[index] = number(rank, index);
        memset(short_into, 0, sizeof short_into);
        shmem_barrier(0, 1, size, sync_work);
        shmem_broadcast64(short_into, own, COUNT, size - 1, 0, 1, size, sync_work);
        for (int index = 0; index < COUNT; index++)
            CHECK(short_into[index] == (rank == size - 1 ? 0 : number(size - 1, index)));
        shmem_sync(0, 1, size, sync_work);
        shmem_fcollect64(into, own, 2, 0, 1, size, sync_work);
        for (int pe = 0; pe < size; pe++)
            CHECK(into[2 * pe + 1] == number(pe, 1));
        own[0] = rank + 1;
        shmem_long_sum_to_all(&one, own, 1, 0, 1, size, work, sync_work);
        CHECK(one == size * (size + 1) / 2);
        shmem_long_or_to_all(&one, own, 1, 0, 1, size, work, sync_work);
        CHECK(one >= size);
    }
    shmem_barrier_all();
}

static void collectives(void) {
    collectives_of(SHMEM_TEAM_WORLD);
    active_sets();
}

/* Teams, and contexts of them. */

static void teams(void) {
    shmem_team_t even, again, row, column;
    shmem_ctx_t ctx;
    static int mark;
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) == 1 && shmem_team_my_pe(SHMEM_TEAM_SHARED) == 0);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, NULL, 0, &even);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, NULL, 0, &again);
    CHECK((even == SHMEM_TEAM_INVALID) == (me % 2 == 1));
    if (even != SHMEM_TEAM_INVALID) {
        int last = (pes + 1) / 2 - 1;
        CHECK(even != again && shmem_team_my_pe(even) == me / 2);
        CHECK(shmem_team_translate_pe(even, last, SHMEM_TEAM_WORLD) == 2 * last);
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 0, even) == 0);
        CHECK(pes == 1 || shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1, even) == -1);
        collectives_of(again);
        collectives_of(even);
        CHECK(shmem_team_create_ctx(even, 0, &ctx) == 0);
        shmem_p(ctx, &mark, me + 1, last - me / 2);
        shmem_ctx_quiet(ctx);
        shmem_ctx_destroy(ctx);
        shmem_team_sync(even);
        CHECK(mark == 2 * (last - me / 2) + 1);
    }
    shmem_team_destroy(even);
    shmem_team_destroy(again);
    shmem_team_split_2d(SHMEM_TEAM_WORLD, 3, NULL, 0, &row, NULL, 0, &column);
    CHECK(shmem_team_my_pe(row) == me % 3 && shmem_team_my_pe(column) == me / 3);
    collectives_of(row);
    collectives_of(column);
    shmem_team_destroy(row);
    shmem_team_destroy(column);
    shmem_barrier_all();
}

int main(int count, char **values) {
    static const struct part parts[] = {{"collectives", collectives, false},
                                        {"teams", teams, false}};
    const char *wanted = count > 1 ? values[1] : "all";
    begin();
    run_parts(parts, sizeof parts / sizeof *parts, wanted);
    end(wanted);
    return 0;
}
