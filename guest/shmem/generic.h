/* OpenSHMEM's generic names, which C11 resolves by the type of the data (OpenSHMEM 1.5, Section 5):
 * one macro a function, all from the table of types. A call with one argument more has a context in
 * front. C++ has the typed names, and shmem_sync of a team. */
#ifndef NARTHEX_SHMEM_GENERIC_H
#define NARTHEX_SHMEM_GENERIC_H

#include "shmem/include/shmem.h"

#ifdef __cplusplus

static inline int shmem_sync(shmem_team_t team) {
    return shmem_team_sync(team);
}

#else

/* The argument behind as many as the number says. */
#define SHMEM_AFTER_3(A, B, C, CHOSEN, ...) CHOSEN
#define SHMEM_AFTER_4(A, B, C, D, CHOSEN, ...) CHOSEN
#define SHMEM_AFTER_5(A, B, C, D, E, CHOSEN, ...) CHOSEN
#define SHMEM_AFTER_6(A, B, C, D, E, F, CHOSEN, ...) CHOSEN
#define SHMEM_AFTER_7(A, B, C, D, E, F, G, CHOSEN, ...) CHOSEN
#define SHMEM_AFTER_8(A, B, C, D, E, F, G, H, CHOSEN, ...) CHOSEN

/* A team's, or an active set's. */
#define shmem_sync(...) SHMEM_AFTER_4(__VA_ARGS__, (shmem_sync), , , shmem_team_sync, )(__VA_ARGS__)

#if defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L

struct shmem_no_such_type;

/* Which types have the functions of a class, and how they are named. */
#define SHMEM_RMA(F, T, N, OWN, ...) SHMEM_ONLY_##OWN(T : shmem_##N##_##F, )
#define SHMEM_RMA_CTX(F, T, N, OWN, ...) SHMEM_ONLY_##OWN(T : shmem_ctx_##N##_##F, )
#define SHMEM_EXTENDED(F, T, N, OWN, X, ...)                                                       \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##X(T : shmem_##N##_atomic_##F, ))
#define SHMEM_EXTENDED_CTX(F, T, N, OWN, X, ...)                                                   \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##X(T : shmem_ctx_##N##_atomic_##F, ))
#define SHMEM_STANDARD(F, T, N, OWN, X, S, ...)                                                    \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##S(T : shmem_##N##_atomic_##F, ))
#define SHMEM_STANDARD_CTX(F, T, N, OWN, X, S, ...)                                                \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##S(T : shmem_ctx_##N##_atomic_##F, ))
#define SHMEM_BITWISE(F, T, N, OWN, X, S, B, ...)                                                  \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##B(T : shmem_##N##_atomic_##F, ))
#define SHMEM_BITWISE_CTX(F, T, N, OWN, X, S, B, ...)                                              \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##B(T : shmem_ctx_##N##_atomic_##F, ))
#define SHMEM_WAIT(F, T, N, OWN, X, S, B, W, L)                                                    \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##W(T : shmem_##N##_##F, ))
#define SHMEM_BITS(F, T, N, OWN, X, S, B, W, L)                                                    \
    SHMEM_ONLY_##OWN(SHMEM_ONLY_##L(T : shmem_##N##_##F, ))
#define SHMEM_COMPLEX(F) float _Complex : shmem_complexf_##F, double _Complex : shmem_complexd_##F,

/* The function of class CASES and family F for the type that POINTER points to. */
#define SHMEM_OF_TYPE(CASES, F, POINTER, MORE)                                                     \
    _Generic(*(POINTER), SHMEM_TYPES(CASES, F) MORE struct shmem_no_such_type *: 0)

#define SHMEM_CALL(CASES, F, FIRST, ...) SHMEM_OF_TYPE(CASES, F, FIRST, )(FIRST, __VA_ARGS__)
#define SHMEM_CALL_CTX(CASES, F, CTX, FIRST, ...)                                                  \
    SHMEM_OF_TYPE(CASES##_CTX, F, FIRST, )(CTX, FIRST, __VA_ARGS__)
#define SHMEM_CALL_TEAM(CASES, F, TEAM, FIRST, ...)                                                \
    SHMEM_OF_TYPE(CASES, F, FIRST, )(TEAM, FIRST, __VA_ARGS__)

/* A call whose arguments are as many as the number says if the first one is a context. */
#define SHMEM_UP_TO(COUNT, CASES, F, ...)                                                          \
    SHMEM_AFTER_##COUNT(__VA_ARGS__, SHMEM_CALL_CTX, SHMEM_CALL, )(CASES, F, __VA_ARGS__)

#define shmem_put(...) SHMEM_UP_TO(5, SHMEM_RMA, put, __VA_ARGS__)
#define shmem_get(...) SHMEM_UP_TO(5, SHMEM_RMA, get, __VA_ARGS__)
#define shmem_put_nbi(...) SHMEM_UP_TO(5, SHMEM_RMA, put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) SHMEM_UP_TO(5, SHMEM_RMA, get_nbi, __VA_ARGS__)
#define shmem_p(...) SHMEM_UP_TO(4, SHMEM_RMA, p, __VA_ARGS__)
#define shmem_g(...) SHMEM_UP_TO(3, SHMEM_RMA, g, __VA_ARGS__)
#define shmem_iput(...) SHMEM_UP_TO(7, SHMEM_RMA, iput, __VA_ARGS__)
#define shmem_iget(...) SHMEM_UP_TO(7, SHMEM_RMA, iget, __VA_ARGS__)
#define shmem_put_signal(...) SHMEM_UP_TO(8, SHMEM_RMA, put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SHMEM_UP_TO(8, SHMEM_RMA, put_signal_nbi, __VA_ARGS__)

#define shmem_atomic_fetch(...) SHMEM_UP_TO(3, SHMEM_EXTENDED, fetch, __VA_ARGS__)
#define shmem_atomic_set(...) SHMEM_UP_TO(4, SHMEM_EXTENDED, set, __VA_ARGS__)
#define shmem_atomic_swap(...) SHMEM_UP_TO(4, SHMEM_EXTENDED, swap, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) SHMEM_UP_TO(4, SHMEM_EXTENDED, fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SHMEM_UP_TO(5, SHMEM_EXTENDED, swap_nbi, __VA_ARGS__)

#define shmem_atomic_compare_swap(...) SHMEM_UP_TO(5, SHMEM_STANDARD, compare_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...)                                                         \
    SHMEM_UP_TO(6, SHMEM_STANDARD, compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_inc(...) SHMEM_UP_TO(3, SHMEM_STANDARD, inc, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SHMEM_UP_TO(3, SHMEM_STANDARD, fetch_inc, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) SHMEM_UP_TO(4, SHMEM_STANDARD, fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_add(...) SHMEM_UP_TO(4, SHMEM_STANDARD, add, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SHMEM_UP_TO(4, SHMEM_STANDARD, fetch_add, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) SHMEM_UP_TO(5, SHMEM_STANDARD, fetch_add_nbi, __VA_ARGS__)

#define shmem_atomic_and(...) SHMEM_UP_TO(4, SHMEM_BITWISE, and, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) SHMEM_UP_TO(4, SHMEM_BITWISE, fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) SHMEM_UP_TO(5, SHMEM_BITWISE, fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_or(...) SHMEM_UP_TO(4, SHMEM_BITWISE, or, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SHMEM_UP_TO(4, SHMEM_BITWISE, fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SHMEM_UP_TO(5, SHMEM_BITWISE, fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_xor(...) SHMEM_UP_TO(4, SHMEM_BITWISE, xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SHMEM_UP_TO(4, SHMEM_BITWISE, fetch_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) SHMEM_UP_TO(5, SHMEM_BITWISE, fetch_xor_nbi, __VA_ARGS__)

#define shmem_wait_until(...) SHMEM_CALL(SHMEM_WAIT, wait_until, __VA_ARGS__)
#define shmem_wait_until_all(...) SHMEM_CALL(SHMEM_WAIT, wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) SHMEM_CALL(SHMEM_WAIT, wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) SHMEM_CALL(SHMEM_WAIT, wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) SHMEM_CALL(SHMEM_WAIT, wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) SHMEM_CALL(SHMEM_WAIT, wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...)                                                          \
    SHMEM_CALL(SHMEM_WAIT, wait_until_some_vector, __VA_ARGS__)
#define shmem_test(...) SHMEM_CALL(SHMEM_WAIT, test, __VA_ARGS__)
#define shmem_test_all(...) SHMEM_CALL(SHMEM_WAIT, test_all, __VA_ARGS__)
#define shmem_test_any(...) SHMEM_CALL(SHMEM_WAIT, test_any, __VA_ARGS__)
#define shmem_test_some(...) SHMEM_CALL(SHMEM_WAIT, test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) SHMEM_CALL(SHMEM_WAIT, test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) SHMEM_CALL(SHMEM_WAIT, test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) SHMEM_CALL(SHMEM_WAIT, test_some_vector, __VA_ARGS__)

#define shmem_broadcast(...) SHMEM_CALL_TEAM(SHMEM_RMA, broadcast, __VA_ARGS__)
#define shmem_collect(...) SHMEM_CALL_TEAM(SHMEM_RMA, collect, __VA_ARGS__)
#define shmem_fcollect(...) SHMEM_CALL_TEAM(SHMEM_RMA, fcollect, __VA_ARGS__)
#define shmem_alltoall(...) SHMEM_CALL_TEAM(SHMEM_RMA, alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) SHMEM_CALL_TEAM(SHMEM_RMA, alltoalls, __VA_ARGS__)

#define SHMEM_CALL_COMPLEX(F, TEAM, FIRST, ...)                                                    \
    SHMEM_OF_TYPE(SHMEM_RMA, F, FIRST, SHMEM_COMPLEX(F))(TEAM, FIRST, __VA_ARGS__)
#define shmem_sum_reduce(...) SHMEM_CALL_COMPLEX(sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) SHMEM_CALL_COMPLEX(prod_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) SHMEM_CALL_TEAM(SHMEM_RMA, min_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) SHMEM_CALL_TEAM(SHMEM_RMA, max_reduce, __VA_ARGS__)
#define shmem_and_reduce(...) SHMEM_CALL_TEAM(SHMEM_BITS, and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) SHMEM_CALL_TEAM(SHMEM_BITS, or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) SHMEM_CALL_TEAM(SHMEM_BITS, xor_reduce, __VA_ARGS__)

#endif
#endif
#endif
