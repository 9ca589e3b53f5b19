/* OpenSHMEM checks itself: what each call leaves behind is compared with what plain C computes.
 *
 *     shmem [PART [ROUNDS]]    transfers, atomics, waits, collectives, teams, locks, heap, order,
 * crowd, or all of them; or a mistake, which must end the run (MISTAKES)
 *
 * Parts of all types are made of the table of types, as the library is. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random_numbers.h"

enum { COUNT = 24, LARGE_BYTES = 3000, MOST_PES = 64 };

static int me, pes, next, previous;
static long rounds;

#define CHECK(...) narthex_check((__VA_ARGS__), "PE %d finds wrong: %s", me, #__VA_ARGS__)

/* Transfers of all types: to the next PE, from the previous one's numbers. */

/* Of an element that PE `pe` has or puts. */
static int number(int pe, int index) {
    return (pe * 31 + index * 7) % 100 + 1;
}

#define TRANSFERS(FAMILY, T, NAME, ...)                                                            \
    static T NAME##_here[3 * COUNT];                                                               \
    static uint64_t NAME##_signal;                                                                 \
    static void NAME##_transfers(shmem_ctx_t ctx) {                                                \
        T own[COUNT], theirs[COUNT];                                                               \
        for (int index = 0; index < COUNT; index++)                                                \
            own[index] = (T)number(me, index);                                                     \
        memset(NAME##_here, 0, sizeof NAME##_here);                                                \
        shmem_barrier_all();                                                                       \
        shmem_##NAME##_put(NAME##_here, own, 5, next);                                             \
        shmem_ctx_##NAME##_put_nbi(ctx, &NAME##_here[5], &own[5], 5, next);                        \
        shmem_##NAME##_p(&NAME##_here[10], own[10], next);                                         \
        shmem_ctx_##NAME##_iput(ctx, &NAME##_here[12], &own[0], 3, 2, COUNT / 2, next);            \
        shmem_##NAME##_put_signal(&NAME##_here[48], own, 9, &NAME##_signal, 5, SHMEM_SIGNAL_ADD,   \
                                  next);                                                           \
        shmem_signal_wait_until(&NAME##_signal, SHMEM_CMP_GE, 5 * (uint64_t)rounds);               \
        for (int index = 0; index < 9; index++)                                                    \
            CHECK(NAME##_here[48 + index] == (T)number(previous, index));                          \
        shmem_barrier_all();                                                                       \
        for (int index = 0; index < 11; index++)                                                   \
            CHECK(NAME##_here[index] == (T)number(previous, index));                               \
        for (int index = 0; index < COUNT / 2; index++)                                            \
            CHECK(NAME##_here[12 + 3 * index] == (T)number(previous, 2 * index));                  \
        CHECK(NAME##_here[11] == 0 && NAME##_here[13] == 0 && NAME##_here[57] == 0);               \
        int writer = (next + pes - 1) % pes;                                                       \
        shmem_##NAME##_get(theirs, NAME##_here, 5, next);                                          \
        shmem_ctx_##NAME##_get_nbi(ctx, &theirs[5], &NAME##_here[5], 5, next);                     \
        theirs[10] = shmem_##NAME##_g(&NAME##_here[10], next);                                     \
        shmem_quiet();                                                                             \
        for (int index = 0; index < 11; index++)                                                   \
            CHECK(theirs[index] == (T)number(writer, index));                                      \
        memset(theirs, 0, sizeof theirs);                                                          \
        shmem_ctx_##NAME##_iget(ctx, theirs, &NAME##_here[12], 2, 3, COUNT / 2, next);             \
        for (int index = 0; index < COUNT / 2; index++)                                            \
            CHECK(theirs[2 * index] == (T)number(writer, 2 * index) && theirs[1] == 0);            \
    }

SHMEM_TYPES(TRANSFERS, )

/* Bytes of any length and alignment, between static memory, the heap and the stack. */
static void large_transfers(void) {
    static unsigned char fixed[LARGE_BYTES + 64];
    unsigned char *heap = shmem_malloc(LARGE_BYTES + 64), *far = shmem_malloc(LARGE_BYTES);
    unsigned char expected[LARGE_BYTES], near[LARGE_BYTES], back[LARGE_BYTES], *source = near;
    uint64_t random = random_start(5, me), common = random_start(5, 77);
    CHECK(heap && far);
    for (int turn = 0; turn < 8; turn++) {
        size_t bytes = (size_t)(random_next(&common) % LARGE_BYTES) + 1;
        size_t begin = (size_t)(random_next(&common) % 64);
        unsigned char *symmetric = turn % 2 ? fixed : heap, *into = turn % 3 ? far : back;
        source = turn % 3 ? far : near;
        for (size_t index = 0; index < bytes; index++)
            expected[index] = source[index] = (unsigned char)random_next(&random);
        memset(symmetric, 0xee, LARGE_BYTES + 64);
        shmem_barrier_all();
        if (turn % 4 < 2)
            shmem_putmem(symmetric + begin, source, bytes, next);
        else
            shmem_putmem_nbi(symmetric + begin, source, bytes, next);
        if (turn % 4 < 2)
            memset(source, 0, bytes); /* which the caller of a blocking put may do */
        shmem_quiet();
        memset(into, 0, bytes);
        if (turn % 4 < 2)
            shmem_getmem(into, symmetric + begin, bytes, next);
        else
            shmem_getmem_nbi(into, symmetric + begin, bytes, next);
        shmem_quiet();
        CHECK(memcmp(into, expected, bytes) == 0);
        shmem_barrier_all();
        CHECK(begin == 0 || symmetric[begin - 1] == 0xee);
        CHECK(symmetric[begin + bytes] == 0xee || begin + bytes == LARGE_BYTES + 64);
    }
    source = expected;
    shmem_put128(heap, source, 3, next);
    shmem_iput64(heap + 64, source, 2, 1, 4, next);
    shmem_quiet();
    shmem_get128(back, heap, 3, next);
    CHECK(memcmp(back, source, 48) == 0);
    shmem_iget64(back, heap + 64, 1, 2, 4, next);
    CHECK(memcmp(back, source, 32) == 0);
    shmem_free(far);
    shmem_free(heap);
}

static void transfers(void) {
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    rounds = 1;
#define CALL_TRANSFERS(FAMILY, T, NAME, ...) NAME##_transfers(ctx);
    SHMEM_TYPES(CALL_TRANSFERS, )
    large_transfers();
    shmem_ctx_destroy(ctx);
}

/* Atomics: all PEs at once, on all of them. */

#define EXTENDED(T, NAME)                                                                          \
    shmem_##NAME##_atomic_set(&NAME##_datum[0], (T)(me + 1), next);                                \
    shmem_barrier_all();                                                                           \
    CHECK(NAME##_datum[0] == (T)(previous + 1));                                                   \
    CHECK(shmem_##NAME##_atomic_fetch(&NAME##_datum[0], next) == (T)(me + 1));                     \
    shmem_barrier_all();                                                                           \
    CHECK(shmem_##NAME##_atomic_swap(&NAME##_datum[0], (T)(me + 2), next) == (T)(me + 1));         \
    shmem_barrier_all();                                                                           \
    shmem_##NAME##_atomic_fetch_nbi(&fetched, &NAME##_datum[0], next);                             \
    shmem_quiet();                                                                                 \
    CHECK(fetched == (T)(me + 2));

/* Adds that are lost, or tickets that two get, show in the sums. */
#define STANDARD(T, NAME)                                                                          \
    for (int pe = 0; pe < pes; pe++)                                                               \
        shmem_##NAME##_atomic_add(&NAME##_datum[1], (T)(me + 1), pe);                              \
    shmem_##NAME##_atomic_inc(&NAME##_datum[2], 0);                                                \
    T ticket = shmem_##NAME##_atomic_fetch_inc(&NAME##_datum[3], 0);                               \
    shmem_##NAME##_atomic_add(&NAME##_datum[4], ticket, 0);                                        \
    shmem_##NAME##_atomic_fetch_add_nbi(&fetched, &NAME##_datum[5], 3, 0);                         \
    T seen = 0, was;                                                                               \
    while ((was = shmem_##NAME##_atomic_compare_swap(&NAME##_datum[6], seen, (T)(seen + 2), 0)) != \
           seen)                                                                                   \
        seen = was;                                                                                \
    shmem_barrier_all();                                                                           \
    CHECK(fetched % 3 == 0 && NAME##_datum[1] == (T)(pes * (pes + 1) / 2));                        \
    if (me == 0)                                                                                   \
        CHECK(NAME##_datum[2] == (T)pes && NAME##_datum[3] == (T)pes &&                            \
              NAME##_datum[4] == (T)(pes * (pes - 1) / 2) && NAME##_datum[5] == (T)(3 * pes) &&    \
              NAME##_datum[6] == (T)(2 * pes));

#define BITWISE(T, NAME)                                                                           \
    T bit = (T)1 << me % 31, all = 0;                                                              \
    for (int pe = 0; pe < pes; pe++)                                                               \
        all |= (T)1 << pe % 31;                                                                    \
    shmem_##NAME##_atomic_or(&NAME##_datum[7], bit, 0);                                            \
    shmem_barrier_all();                                                                           \
    CHECK(me != 0 || NAME##_datum[7] == all);                                                      \
    CHECK(shmem_##NAME##_atomic_fetch_xor(&NAME##_datum[8], bit, next) == 0);                      \
    CHECK(shmem_##NAME##_atomic_fetch_and(&NAME##_datum[8], 0, next) == bit);                      \
    CHECK(shmem_##NAME##_atomic_fetch_or(&NAME##_datum[8], bit, next) == 0);                       \
    shmem_##NAME##_atomic_and(&NAME##_datum[8], (T)~bit, next);                                    \
    shmem_##NAME##_atomic_xor(&NAME##_datum[8], bit, next);                                        \
    shmem_barrier_all();                                                                           \
    CHECK(NAME##_datum[8] == (T)1 << previous % 31);

#define ATOMICS(FAMILY, T, NAME, OWN, HAS_EXTENDED, HAS_STANDARD, HAS_BITWISE, ...)                \
    SHMEM_ONLY_##HAS_EXTENDED(static T NAME##_datum[9]; static void NAME##_atomics(void) {         \
        T fetched;                                                                                 \
        memset(NAME##_datum, 0, sizeof NAME##_datum);                                              \
        shmem_barrier_all();                                                                       \
        EXTENDED(T, NAME)                                                                          \
        SHMEM_ONLY_##HAS_STANDARD(STANDARD(T, NAME)) SHMEM_ONLY_##HAS_BITWISE(BITWISE(T, NAME))    \
            shmem_barrier_all();                                                                   \
    })

SHMEM_TYPES(ATOMICS, )

static void atomics(void) {
#define CALL_ATOMICS(FAMILY, T, NAME, OWN, HAS_EXTENDED, ...)                                      \
    SHMEM_ONLY_##HAS_EXTENDED(NAME##_atomics();)
    SHMEM_TYPES(CALL_ATOMICS, )
}

/* Waits: every PE stores to its own element at each other. */

static void waits(void) {
    static long flags[MOST_PES];
    static short half;
    long wanted[MOST_PES];
    int out[MOST_PES];
    size_t indices[MOST_PES], seen = 0, count = (size_t)pes;
    memset(out, 0, sizeof out);
    CHECK(shmem_test_any(flags, count, NULL, SHMEM_CMP_NE, 0) == SIZE_MAX);
    CHECK(shmem_test_some(flags, count, indices, NULL, SHMEM_CMP_NE, 0) == 0);
    shmem_barrier_all();
    for (int pe = 0; pe < pes; pe++)
        shmem_p(&flags[me], me + 10L, pe);
    while (seen < count) {
        size_t index = shmem_wait_until_any(flags, count, out, SHMEM_CMP_GE, 10);
        CHECK(index < count && flags[index] == (long)index + 10 && !out[index]);
        out[index] = 1, seen += 1;
    }
    CHECK(shmem_wait_until_any(flags, count, out, SHMEM_CMP_GE, 10) == SIZE_MAX);
    CHECK(shmem_wait_until_some(flags, count, indices, out, SHMEM_CMP_GE, 10) == 0);
    for (int pe = 0; pe < pes; pe++)
        wanted[pe] = pe + 20;
    shmem_barrier_all();
    for (int pe = 0; pe < pes; pe++)
        shmem_p(&flags[me], me + 20L, pe);
    memset(out, 0, sizeof out);
    for (seen = 0; seen < count;) {
        size_t found =
            shmem_wait_until_some_vector(flags, count, indices, out, SHMEM_CMP_EQ, wanted);
        CHECK(found > 0);
        for (size_t each = 0; each < found; each++)
            out[indices[each]] = 1;
        seen += found;
    }
    shmem_wait_until_all_vector(flags, count, NULL, SHMEM_CMP_EQ, wanted);
    CHECK(shmem_test_all_vector(flags, count, NULL, SHMEM_CMP_EQ, wanted));
    CHECK(!shmem_test_all(flags, count, NULL, SHMEM_CMP_LT, 20) &&
          !shmem_test(flags, SHMEM_CMP_NE, 20));
    shmem_p(&half, (short)-3, next);
    shmem_wait_until(&half, SHMEM_CMP_LT, 0);
    shmem_wait_until_all(flags, count, NULL, SHMEM_CMP_LE, 20L + pes);
    CHECK(half == -3);
}

/* Collectives: of a team of `size`, in which PE `rank` has number(rank, ...). */

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

/* A number that is no atomic, under a lock that is waited for, and under one that is tried. */
static void locks(void) {
    static long lock, tried;
    static int total, other_total;
    for (int turn = 0; turn < 5; turn++) {
        shmem_set_lock(&lock);
        shmem_p(&total, shmem_g(&total, 0) + 1, 0);
        shmem_clear_lock(&lock);
        while (shmem_test_lock(&tried) != 0)
            ;
        shmem_p(&other_total, shmem_g(&other_total, 0) + 1, 0);
        shmem_clear_lock(&tried);
    }
    shmem_barrier_all();
    CHECK(shmem_g(&total, 0) == 5 * pes && shmem_g(&other_total, 0) == 5 * pes);
}

/* The heap: the same places everywhere, and what is freed is used again. */
static void heap(void) {
    char *first = shmem_malloc(100), *second = shmem_calloc(10, 100);
    long *third = shmem_align(256, 64);
    CHECK(first && second && (uintptr_t)third % 256 == 0 && second[999] == 0);
    for (int index = 0; index < 100; index++)
        first[index] = (char)index;
    shmem_free(second);
    first = shmem_realloc(first, 5000);
    CHECK(first[99] == 99);
    char *fourth = shmem_malloc_with_hints(1000, SHMEM_MALLOC_SIGNAL_REMOTE);
    CHECK(fourth && shmem_addr_accessible(fourth, next) && !shmem_addr_accessible(&fourth, next));
    CHECK(shmem_malloc((size_t)1 << 40) == NULL && shmem_malloc(0) == NULL);
    CHECK(shmem_ptr(first, me) == first);
    shmem_put(third, (long[]){me}, 1, next);
    shmem_barrier_all();
    CHECK(*third == previous);
    shmem_free(first);
    shmem_free(third);
    shmem_free(fourth);
    CHECK((first = shmem_malloc((size_t)30 << 20)) != NULL);
    first[((size_t)30 << 20) - 1] = 1;
    shmem_free(first);
}

/* Data of several packets, a fence, a flag: the flag is never there before the data, whether they
 * are in static memory or in the heap, which may be reached in different ways. */
static void order(void) {
    static long data[3][200], flag, far_flag;
    long *near = shmem_malloc(200 * sizeof *near), *near_flag = shmem_calloc(1, sizeof *near_flag);
    long source[200];
    for (long turn = 1; turn <= rounds; turn++) {
        long *to[] = {data[0], near, data[1], near, data[2]};
        long *flags[] = {&flag, near_flag, near_flag, &flag, &far_flag};
        for (int way = 0; way < 5; way++) {
            long value = turn * 8 + way;
            size_t count = (size_t)(value * 37 % 200) + 1;
            for (size_t index = 0; index < count; index++)
                source[index] = value;
            shmem_put_nbi(to[way], source, count, next);
            shmem_fence();
            shmem_p(flags[way], value, next);
            shmem_wait_until(flags[way], SHMEM_CMP_GE, value);
            for (size_t index = 0; index < count; index++)
                CHECK(to[way][index] == value);
            shmem_barrier_all();
        }
    }
}

/* The same from all PEs to PE 0 at once, whose interface has no room for all: packets that it sends
 * back overtake each other. */
static void crowd(void) {
    enum { WORDS = 60 };
    static long data[MOST_PES][WORDS], flags[MOST_PES], answer;
    long source[WORDS];
    for (long turn = 1; turn <= rounds; turn++) {
        for (int index = 0; index < WORDS; index++)
            source[index] = turn;
        shmem_put(data[me], source, WORDS, 0);
        shmem_fence();
        shmem_p(&flags[me], turn, 0);
        for (int pe = 0; me == 0 && pe < pes; pe++) {
            shmem_wait_until(&flags[pe], SHMEM_CMP_EQ, turn);
            for (int index = 0; index < WORDS; index++)
                CHECK(data[pe][index] == turn);
        }
        for (int pe = 0; me == 0 && pe < pes; pe++)
            shmem_p(&answer, turn, pe);
        shmem_wait_until(&answer, SHMEM_CMP_EQ, turn);
    }
}

/* Mistakes */

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

/* The next PE's memory is written while it calls nothing: where stores reach it, not by messages.
 */
static void passive(void) {
    static long seen;
    volatile long *word = shmem_calloc(1, sizeof *word);
    if (me == 0)
        shmem_p((long *)word, 7L, next);
    else if (me == 1)
        while (*word == 0)
            ;
    shmem_atomic_add(&seen, *word, 0);
    shmem_barrier_all();
    CHECK(me != 0 || seen == 7);
    CHECK(shmem_ptr((long *)word, next) != NULL && shmem_ptr(&seen, next) == NULL);
    *(long *)shmem_ptr((long *)word, next) = me; /* by a store of the program itself */
    shmem_quiet();
    shmem_barrier_all();
    CHECK(*word == previous);
}

static const struct {
    const char *name;
    void (*run)(void);
} PARTS[] = {{"transfers", transfers}, {"atomics", atomics},
             {"waits", waits},         {"collectives", collectives},
             {"teams", teams},         {"locks", locks},
             {"heap", heap},           {"order", order},
             {"crowd", crowd}},
  MISTAKES[] = {{"address", wrong_address},
                {"end", wrong_end},
                {"pe", wrong_pe},
                {"root", wrong_team_pe},
                {"free", wrong_free},
                {"size", wrong_size},
                {"collective", wrong_collective},
                {"count", wrong_count},
                {"lock", wrong_lock},
                {"team", wrong_team},
                {"stride", wrong_stride},
                {"comparison", wrong_comparison},
                {"after", after_end},
                {"exit", global_exit},
                {"good-exit", good_exit},
                {"passive", passive}};

int main(int count, char **values) {
    const char *wanted = count > 1 ? values[1] : "all";
    if (strcmp(wanted, "before") == 0)
        shmem_barrier_all();
    shmem_init();
    me = shmem_my_pe(), pes = shmem_n_pes();
    next = (me + 1) % pes, previous = (me + pes - 1) % pes;
    for (size_t each = 0; each < sizeof MISTAKES / sizeof *MISTAKES; each++)
        if (strcmp(wanted, MISTAKES[each].name) == 0)
            MISTAKES[each].run();
    for (size_t each = 0; each < sizeof PARTS / sizeof *PARTS; each++) {
        rounds = count > 2 ? atol(values[2]) : 3;
        if (strcmp(wanted, "all") == 0 || strcmp(wanted, PARTS[each].name) == 0)
            PARTS[each].run();
    }
    if (me == 0)
        printf("OpenSHMEM: %s over %d PEs\n", wanted, pes);
    shmem_finalize();
    return 0;
}
