/* Atomics of all types. The PE whose memory it is carries each of them out, so that all others see
 * it as one step. */
#include <string.h>

#include "shmem/library.h"
#include "shmem/requests.h"

static void update(const char *function, shmem_ctx_t context, void *dest, int pe,
                   struct shmem_atomic atomic) {
    int target = shmem_target(function, context, pe);
    uint64_t place = shmem_place(function, dest, atomic.width);
    if (target == shmem_pe)
        shmem_apply_atomic(dest, &atomic);
    else
        shmem_request_update(target, place, &atomic);
}

static void fetch(const char *function, shmem_ctx_t context, void *fetched, const void *dest,
                  int pe, enum shmem_completion completion, struct shmem_atomic atomic) {
    int target = shmem_target(function, context, pe);
    uint64_t place = shmem_place(function, dest, atomic.width);
    if (target == shmem_pe) {
        shmem_progress(); /* the caller may be in a loop that waits */
        uint64_t before = shmem_apply_atomic(shmem_address(place), &atomic);
        memcpy(fetched, &before, atomic.width);
    } else {
        shmem_request_fetch(target, place, &atomic, fetched, completion);
    }
}

/* The bits of a value of at most eight bytes. */
#define BITS_OF(VALUE)                                                                             \
    ({                                                                                             \
        uint64_t bits = 0;                                                                         \
        memcpy(&bits, &(VALUE), sizeof(VALUE));                                                    \
        bits;                                                                                      \
    })

#define ATOMIC(OPERATION, T, OPERAND, CONDITION)                                                   \
    ((struct shmem_atomic){ATOMIC_##OPERATION, sizeof(T), OPERAND, CONDITION})

/* shmem_NAME and shmem_ctx_NAME, whose parameters are PARAMETERS and the PE. */
#define UPDATE(NAME, T, OPERATION, OPERAND, ...)                                                   \
    void shmem_##NAME(__VA_ARGS__, int pe) {                                                       \
        update(__func__, SHMEM_CTX_DEFAULT, dest, pe, ATOMIC(OPERATION, T, OPERAND, 0));           \
    }                                                                                              \
    void shmem_ctx_##NAME(shmem_ctx_t ctx, __VA_ARGS__, int pe) {                                  \
        update(__func__, ctx, dest, pe, ATOMIC(OPERATION, T, OPERAND, 0));                         \
    }

#define FETCH(NAME, T, OPERATION, OPERAND, CONDITION, ...)                                         \
    T shmem_##NAME(__VA_ARGS__, int pe) {                                                          \
        T fetched;                                                                                 \
        fetch(__func__, SHMEM_CTX_DEFAULT, &fetched, dest, pe, BLOCKING,                           \
              ATOMIC(OPERATION, T, OPERAND, CONDITION));                                           \
        return fetched;                                                                            \
    }                                                                                              \
    T shmem_ctx_##NAME(shmem_ctx_t ctx, __VA_ARGS__, int pe) {                                     \
        T fetched;                                                                                 \
        fetch(__func__, ctx, &fetched, dest, pe, BLOCKING,                                         \
              ATOMIC(OPERATION, T, OPERAND, CONDITION));                                           \
        return fetched;                                                                            \
    }                                                                                              \
    void shmem_##NAME##_nbi(T *fetched, __VA_ARGS__, int pe) {                                     \
        fetch(__func__, SHMEM_CTX_DEFAULT, fetched, dest, pe, NONBLOCKING,                         \
              ATOMIC(OPERATION, T, OPERAND, CONDITION));                                           \
    }                                                                                              \
    void shmem_ctx_##NAME##_nbi(shmem_ctx_t ctx, T *fetched, __VA_ARGS__, int pe) {                \
        fetch(__func__, ctx, fetched, dest, pe, NONBLOCKING,                                       \
              ATOMIC(OPERATION, T, OPERAND, CONDITION));                                           \
    }

#define BOTH(T, NAME, WORD, OPERATION)                                                             \
    UPDATE(NAME##_atomic_##WORD, T, OPERATION, BITS_OF(value), T *dest, T value)                   \
    FETCH(NAME##_atomic_fetch_##WORD, T, OPERATION, BITS_OF(value), 0, T *dest, T value)

#define EXTENDED(T, NAME)                                                                          \
    FETCH(NAME##_atomic_fetch, T, FETCH, 0, 0, const T *dest)                                      \
    UPDATE(NAME##_atomic_set, T, SET, BITS_OF(value), T *dest, T value)                            \
    FETCH(NAME##_atomic_swap, T, SET, BITS_OF(value), 0, T *dest, T value)

#define STANDARD(T, NAME)                                                                          \
    FETCH(NAME##_atomic_compare_swap, T, COMPARE_SWAP, BITS_OF(value), BITS_OF(cond), T *dest,     \
          T cond, T value)                                                                         \
    UPDATE(NAME##_atomic_inc, T, ADD, 1, T *dest)                                                  \
    FETCH(NAME##_atomic_fetch_inc, T, ADD, 1, 0, T *dest)                                          \
    BOTH(T, NAME, add, ADD)

#define BITWISE(T, NAME)                                                                           \
    BOTH(T, NAME, and, AND)                                                                        \
    BOTH(T, NAME, or, OR)                                                                          \
    BOTH(T, NAME, xor, XOR)

#define ALL(FAMILY, T, NAME, OWN, HAS_EXTENDED, HAS_STANDARD, HAS_BITWISE, ...)                    \
    SHMEM_ONLY_##HAS_EXTENDED(EXTENDED(T, NAME)) SHMEM_ONLY_##HAS_STANDARD(STANDARD(T, NAME))      \
        SHMEM_ONLY_##HAS_BITWISE(BITWISE(T, NAME))

SHMEM_TYPES(ALL, )
