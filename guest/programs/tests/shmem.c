/* OpenSHMEM from PE to PE: what each call leaves behind is compared with what plain C computes.
 *
 *     shmem [PART [ROUNDS]]    transfers, atomics, waits, locks, heap, order (3 rounds), crowd (3),
 *                              or all of them; or passive, which needs remote stores
 *
 * Parts of all types are made of the table of types, as the library is. */
#include "../random_numbers.h"
#include "shmem_test.h"

enum { LARGE_BYTES = 3000 };

static long rounds;

/* Transfers of all types: to the next PE, from the previous one's numbers. */

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
        shmem_signal_wait_until(&NAME##_signal, SHMEM_CMP_GE, 5);                                  \
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

/* A word, a fence, and a block, which an interface may write while its target handles no messages:
 * a PE that sees the block sees the word. */
static void order_before_blocks(void) {
    enum { WORDS = 300, PAUSE_CYCLES = 200000 };
    static long word;
    long *block = shmem_calloc(WORDS, sizeof *block), source[WORDS];
    for (long turn = 1; turn <= 2; turn++) {
        for (int index = 0; index < WORDS; index++)
            source[index] = turn;
        shmem_p(&word, turn, next);
        shmem_fence();
        shmem_put(block, source, WORDS, next);
        narthex_pause(PAUSE_CYCLES);
        CHECK(((volatile long *)block)[WORDS - 1] != turn || *(volatile long *)&word == turn);
        shmem_wait_until(&block[WORDS - 1], SHMEM_CMP_EQ, turn);
        shmem_barrier_all();
    }
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
    order_before_blocks();
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

int main(int count, char **values) {
    static const struct part parts[] = {
        {"transfers", transfers, false}, {"atomics", atomics, false}, {"waits", waits, false},
        {"locks", locks, false},         {"heap", heap, false},       {"order", order, false},
        {"crowd", crowd, false},         {"passive", passive, true}};
    const char *wanted = count > 1 ? values[1] : "all";
    rounds = count > 2 ? atol(values[2]) : 3;
    begin();
    run_parts(parts, sizeof parts / sizeof *parts, wanted);
    end(wanted);
    return 0;
}
