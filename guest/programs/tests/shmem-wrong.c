/* Mistakes with OpenSHMEM, each of which must end the run, and exits of one PE for all.
 *
 *     shmem-wrong WHAT    one of the names in main, or before: a call before shmem_init */
#include "shmem_test.h"

static void wrong_address(void) {
    int local = 0;
    shmem_put(&local, &local, 1, next);
}

static void wrong_end(void) {
    char *memory = shmem_malloc(64);
    shmem_putmem(memory, memory, (size_t)1 << 30, next);
}

static void wrong_pe(void) {
    static long variable;
    shmem_atomic_inc(&variable, pes);
}

static void wrong_team_pe(void) {
    static long variable;
    shmem_broadcast(SHMEM_TEAM_WORLD, &variable, &variable, 1, -1);
}

static void wrong_free(void) {
    static char memory[8];
    shmem_free(memory);
}

static void wrong_size(void) {
    shmem_malloc((size_t)(me + 1) * 64);
}

static void wrong_count(void) {
    static long variable[MOST_PES * 4];
    shmem_fcollect(SHMEM_TEAM_WORLD, variable, variable, me == 0 ? 2 : 1);
}

static void wrong_collective(void) {
    static long variable[MOST_PES];
    if (me == 0)
        shmem_sum_reduce(SHMEM_TEAM_WORLD, variable, variable, 1);
    else
        shmem_fcollect(SHMEM_TEAM_WORLD, variable, variable, 1);
    shmem_barrier_all();
}

static void wrong_lock(void) {
    static long lock;
    shmem_clear_lock(&lock);
    shmem_barrier_all();
}

static void wrong_team(void) {
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes + 1, NULL, 0, &team);
}

static void wrong_stride(void) {
    static long variable[4];
    shmem_iput(variable, variable, 0, 1, 2, next);
}

static void wrong_comparison(void) {
    static long variable;
    shmem_wait_until(&variable, 9, 0);
}

static void after_end(void) {
    shmem_finalize();
    shmem_barrier_all();
}

static void global_exit(void) {
    shmem_global_exit(3);
}

/* The others wait, and are ended too. */
static void good_exit(void) {
    static long never;
    if (me == pes - 1)
        shmem_global_exit(0);
    shmem_wait_until(&never, SHMEM_CMP_NE, 0);
}

int main(int count, char **values) {
    static const struct part mistakes[] = {
        {"address", wrong_address, true},
        {"end", wrong_end, true},
        {"pe", wrong_pe, true},
        {"root", wrong_team_pe, true},
        {"free", wrong_free, true},
        {"size", wrong_size, true},
        {"collective", wrong_collective, true},
        {"count", wrong_count, true},
        {"lock", wrong_lock, true},
        {"team", wrong_team, true},
        {"stride", wrong_stride, true},
        {"comparison", wrong_comparison, true},
        {"after", after_end, true},
        {"exit", global_exit, true},
        {"good-exit", good_exit, true},
    };
    const char *wanted = count > 1 ? values[1] : "none";
    if (strcmp(wanted, "before") == 0)
        shmem_barrier_all();
    begin();
    run_parts(mistakes, sizeof mistakes / sizeof *mistakes, wanted);
    end(wanted);
    return 0;
}
