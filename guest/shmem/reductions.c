/* Reductions: over a hypercube of the largest power of two of members, to which the others give
 * their values first (messaging/collectives.c). Of two members' values those of the lower one come
 * first in each operation, so all members get the same bits. */
#include <complex.h>
#include <string.h>

#include "shmem/library.h"
#include "shmem/requests.h"

/* Combines values with others that come behind them, place by place. */
typedef void combine(void *values, const void *others, size_t count);

enum { FOLD = 16, UNFOLD }; /* rounds beside those of the hypercube's bits */

/* What a member holds of a part of the values, and what it has heard. */
struct part {
    _Alignas(max_align_t) char values[SHMEM_TELL_BYTES];
    _Alignas(max_align_t) char heard[SHMEM_TELL_BYTES];
    size_t bytes, count;
};

struct reduction {
    const char *function;
    struct shmem_team *team;
    combine *combine;
};

static void hear_and_combine(const struct reduction *reduction, struct part *part, int member,
                             unsigned round) {
    shmem_hear(reduction->function, reduction->team, member, round, part->heard, part->bytes);
    if (member > reduction->team->rank) {
        reduction->combine(part->values, part->heard, part->count);
    } else {
        reduction->combine(part->heard, part->values, part->count);
        memcpy(part->values, part->heard, part->bytes);
    }
}

static void tell(const struct reduction *reduction, const struct part *part, int member,
                 unsigned round) {
    shmem_tell(reduction->function, reduction->team, member, round, part->values, part->bytes);
}

static void reduce_part(const struct reduction *reduction, struct part *part) {
    int size = reduction->team->size, rank = reduction->team->rank, cube = 1;
    while (cube * 2 <= size)
        cube *= 2;
    reduction->team->sequence += 1;
    if (rank >= cube) {
        tell(reduction, part, rank - cube, FOLD);
        shmem_hear(reduction->function, reduction->team, rank - cube, UNFOLD, part->values,
                   part->bytes);
        return;
    }
    if (rank + cube < size)
        hear_and_combine(reduction, part, rank + cube, FOLD);
    unsigned round = 0;
    for (int bit = 1; bit < cube; bit *= 2, round++) {
        tell(reduction, part, rank ^ bit, round);
        hear_and_combine(reduction, part, rank ^ bit, round);
    }
    if (rank + cube < size)
        tell(reduction, part, rank + cube, UNFOLD);
}

static int reduce(const char *function, shmem_team_t team, void *dest, const void *source,
                  size_t count, size_t width, combine *combine) {
    struct reduction reduction = {function, shmem_valid_team(function, team), combine};
    if (!reduction.team)
        return -1;
    if (count > 0)
        shmem_place(function, dest, shmem_bytes(count, width));
    struct part part;
    char *to = dest;
    const char *from = source;
    while (count > 0) {
        size_t most = sizeof part.values / width;
        part.count = count < most ? count : most;
        part.bytes = part.count * width;
        memcpy(part.values, from, part.bytes);
        reduce_part(&reduction, &part);
        memcpy(to, part.values, part.bytes);
        to += part.bytes;
        from += part.bytes;
        count -= part.count;
    }
    return 0;
}

/* The functions */

#define COMBINE(T, NAME, OPERATION, EXPRESSION)                                                    \
    static void NAME##_##OPERATION(void *values, const void *others, size_t count) {               \
        T *to = values;                                                                            \
        const T *from = others;                                                                    \
        for (size_t index = 0; index < count; index++) {                                           \
            T a = to[index], b = from[index];                                                      \
            to[index] = (T)(EXPRESSION);                                                           \
        }                                                                                          \
    }                                                                                              \
    int shmem_##NAME##_##OPERATION##_reduce(shmem_team_t team, T *dest, const T *source,           \
                                            size_t nreduce) {                                      \
        return reduce(__func__, team, dest, source, nreduce, sizeof(T), NAME##_##OPERATION);       \
    }

#define OF_TYPE(FAMILY, T, NAME, OWN, EXTENDED, STANDARD, BITWISE, WAIT, HAS_BITS)                 \
    COMBINE(T, NAME, sum, a + b)                                                                   \
    COMBINE(T, NAME, prod, a *b)                                                                   \
    COMBINE(T, NAME, min, b < a ? b : a)                                                           \
    COMBINE(T, NAME, max, b > a ? b : a)                                                           \
    SHMEM_ONLY_##HAS_BITS(COMBINE(T, NAME, and, a &b) COMBINE(T, NAME, or, a | b)                  \
                              COMBINE(T, NAME, xor, a ^ b))

SHMEM_TYPES(OF_TYPE, )
COMBINE(float _Complex, complexf, sum, a + b)
COMBINE(float _Complex, complexf, prod, a *b)
COMBINE(double _Complex, complexd, sum, a + b)
COMBINE(double _Complex, complexd, prod, a *b)

/* Signed types have their bits' operations over active sets alone. */
#define BITS_OF_SIGNED(T, NAME)                                                                    \
    static void NAME##_and(void *values, const void *others, size_t count) {                       \
        u##NAME##_and(values, others, count);                                                      \
    }                                                                                              \
    static void NAME##_or(void *values, const void *others, size_t count) {                        \
        u##NAME##_or(values, others, count);                                                       \
    }                                                                                              \
    static void NAME##_xor(void *values, const void *others, size_t count) {                       \
        u##NAME##_xor(values, others, count);                                                      \
    }

BITS_OF_SIGNED(short, short)
BITS_OF_SIGNED(int, int)
BITS_OF_SIGNED(long, long)
BITS_OF_SIGNED(long long, longlong)

#define TO_ALL(T, NAME, OPERATION)                                                                 \
    void shmem_##NAME##_##OPERATION##_to_all(T *dest, const T *source, int nreduce, int PE_start,  \
                                             int logPE_stride, int PE_size, T *pWrk,               \
                                             long *pSync) {                                        \
        (void)pWrk, (void)pSync;                                                                   \
        struct shmem_team *set = shmem_active_set(__func__, PE_start, logPE_stride, PE_size);      \
        if (nreduce < 0)                                                                           \
            shmem_refuse(__func__, "for %d values", nreduce);                                      \
        reduce(__func__, set, dest, source, (size_t)nreduce, sizeof(T), NAME##_##OPERATION);       \
    }

#define ALL_TO_ALL(FAMILY, T, NAME, HAS_BITS)                                                      \
    TO_ALL(T, NAME, sum)                                                                           \
    TO_ALL(T, NAME, prod)                                                                          \
    TO_ALL(T, NAME, min)                                                                           \
    TO_ALL(T, NAME, max)                                                                           \
    SHMEM_ONLY_##HAS_BITS(TO_ALL(T, NAME, and) TO_ALL(T, NAME, or) TO_ALL(T, NAME, xor))

SHMEM_ACTIVE_SET_TYPES(ALL_TO_ALL, )
