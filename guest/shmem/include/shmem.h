/* OpenSHMEM 1.5 over Narthex's network interfaces: one-sided communication between the processes
 * of a machine (docs/openshmem.md).
 *
 * Every process is a PE and runs the same program. Its global and static variables and what it
 * takes from shmem_malloc are symmetric: the other PEs read and write them by the addresses that
 * their own copies have. A put returns when the source may change; shmem_fence orders what goes to
 * a PE, shmem_quiet waits until all of it is there.
 *
 *     static long counter;
 *
 *     int main(void) {
 *         shmem_init();
 *         shmem_long_atomic_inc(&counter, 0);
 *         shmem_barrier_all();
 *         if (shmem_my_pe() == 0)
 *             printf("%ld of %d PEs\n", counter, shmem_n_pes());
 *         shmem_finalize();
 *     }
 *
 * Typed names exist for all rows of types.h; in C11 the generic ones, such as shmem_put, pick
 * theirs by the type of the first pointer. Functions whose names begin with shmem_ctx_ take a
 * context first, as the generic ones may.
 *
 * Progress: puts and gets go by messages where the interface cannot write remote memory, and a PE
 * handles those that reach it inside the calls of this library only.
 *
 * Errors. A wrong call ends the run with a message that names the PE, the function, the value and
 * what is allowed. */
#ifndef NARTHEX_SHMEM_H
#define NARTHEX_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "shmem/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Constants */

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Narthex"

/* What a PE's threads may do; more than SHMEM_THREAD_FUNNELED is never provided. */
enum { SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED, SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE };

/* Comparisons of waits and tests. */
enum { SHMEM_CMP_EQ = 1, SHMEM_CMP_NE, SHMEM_CMP_GT, SHMEM_CMP_LE, SHMEM_CMP_LT, SHMEM_CMP_GE };

/* How a signal is updated. */
enum { SHMEM_SIGNAL_SET, SHMEM_SIGNAL_ADD };

/* Options of contexts; hints of shmem_malloc_with_hints, which change nothing here; the mask of a
 * team's configuration. */
#define SHMEM_CTX_SERIALIZED 1L
#define SHMEM_CTX_PRIVATE 2L
#define SHMEM_CTX_NOSTORE 4L
#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L
#define SHMEM_TEAM_NUM_CONTEXTS 1L

/* Work arrays of active sets: longs. What they hold is not used here. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_BARRIER_SYNC_SIZE 1
#define SHMEM_SYNC_SIZE 1
#define SHMEM_BCAST_SYNC_SIZE 1
#define SHMEM_COLLECT_SYNC_SIZE 1
#define SHMEM_ALLTOALL_SYNC_SIZE 1
#define SHMEM_ALLTOALLS_SYNC_SIZE 1
#define SHMEM_REDUCE_SYNC_SIZE 1
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1

/* PEs start, start + stride, ...: some of a parent team's. */
typedef struct shmem_team *shmem_team_t;
/* Where operations are ordered and completed. */
typedef struct shmem_context *shmem_ctx_t;

typedef struct {
    int num_contexts;
} shmem_team_config_t;

extern struct shmem_team shmem_team_of_world, shmem_team_that_shares;
extern struct shmem_context shmem_context_by_default;

#define SHMEM_TEAM_WORLD (&shmem_team_of_world)
/* The PEs all of whose symmetric heaps this one reaches by loads and stores: itself. */
#define SHMEM_TEAM_SHARED (&shmem_team_that_shares)
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_CTX_DEFAULT (&shmem_context_by_default)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)

/* Beginning and end */

/* Called once by every PE before anything else here, and returns when all have. */
void shmem_init(void);
int shmem_init_thread(int requested, int *provided);
void shmem_query_thread(int *provided);

/* Called by every PE after all else. Completes what is under way. */
void shmem_finalize(void);

/* Ends all PEs; as failed unless `status` is 0. */
#ifdef __GNUC__
__attribute__((noreturn))
#endif
void shmem_global_exit(int status);

int shmem_my_pe(void);
int shmem_n_pes(void);
void shmem_info_get_version(int *major, int *minor);
void shmem_info_get_name(char *name);
void shmem_pcontrol(int level, ...);

/* Memory */

/* Called by every PE with the same arguments. NULL if the symmetric heap has no room: it has the
 * environment's SHMEM_SYMMETRIC_SIZE bytes (K, M and G behind the number), else 32 MiB. */
void *shmem_malloc(size_t size);
void *shmem_malloc_with_hints(size_t size, long hints);
void *shmem_calloc(size_t count, size_t size);
void *shmem_align(size_t alignment, size_t size);
void *shmem_realloc(void *ptr, size_t size);
void shmem_free(void *ptr);

/* Where this PE may load and store `pe`'s copy of what is at `dest`; NULL where it cannot. */
void *shmem_ptr(const void *dest, int pe);
int shmem_pe_accessible(int pe);
int shmem_addr_accessible(const void *addr, int pe);

/* Teams and contexts */

int shmem_team_my_pe(shmem_team_t team);
int shmem_team_n_pes(shmem_team_t team);
int shmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config);
int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team);
int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                             const shmem_team_config_t *config, long config_mask,
                             shmem_team_t *new_team);
int shmem_team_split_2d(shmem_team_t parent_team, int xrange,
                        const shmem_team_config_t *xaxis_config, long xaxis_mask,
                        shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                        long yaxis_mask, shmem_team_t *yaxis_team);
void shmem_team_destroy(shmem_team_t team);

int shmem_ctx_create(long options, shmem_ctx_t *ctx);
int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx);
void shmem_ctx_destroy(shmem_ctx_t ctx);
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team);

/* Order */

/* What this PE has put into another one's memory is there before what it puts afterwards. */
void shmem_fence(void);
void shmem_ctx_fence(shmem_ctx_t ctx);

/* All that this PE has put is there, and all that it gets has come. */
void shmem_quiet(void);
void shmem_ctx_quiet(shmem_ctx_t ctx);

/* Barriers are quiet first; what synchronises only does not complete anything. */
void shmem_barrier_all(void);
void shmem_sync_all(void);
int shmem_team_sync(shmem_team_t team);
void shmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync);
void shmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync);

/* Locks: a symmetric long, 0 at first, for all PEs. They get it in the order in which they ask. */
void shmem_set_lock(long *lock);
void shmem_clear_lock(long *lock);
int shmem_test_lock(long *lock);

/* Puts and gets */

#define SHMEM_DECLARE_RMA(FAMILY, T, NAME, ...)                                                    \
    void shmem_##NAME##_put(T *dest, const T *source, size_t nelems, int pe);                      \
    void shmem_##NAME##_get(T *dest, const T *source, size_t nelems, int pe);                      \
    void shmem_##NAME##_put_nbi(T *dest, const T *source, size_t nelems, int pe);                  \
    void shmem_##NAME##_get_nbi(T *dest, const T *source, size_t nelems, int pe);                  \
    void shmem_##NAME##_p(T *dest, T value, int pe);                                               \
    T shmem_##NAME##_g(const T *source, int pe);                                                   \
    void shmem_##NAME##_iput(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,               \
                             size_t nelems, int pe);                                               \
    void shmem_##NAME##_iget(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,               \
                             size_t nelems, int pe);                                               \
    void shmem_##NAME##_put_signal(T *dest, const T *source, size_t nelems, uint64_t *sig_addr,    \
                                   uint64_t signal, int sig_op, int pe);                           \
    void shmem_##NAME##_put_signal_nbi(T *dest, const T *source, size_t nelems,                    \
                                       uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);   \
    void shmem_ctx_##NAME##_put(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe); \
    void shmem_ctx_##NAME##_get(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe); \
    void shmem_ctx_##NAME##_put_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems,      \
                                    int pe);                                                       \
    void shmem_ctx_##NAME##_get_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems,      \
                                    int pe);                                                       \
    void shmem_ctx_##NAME##_p(shmem_ctx_t ctx, T *dest, T value, int pe);                          \
    T shmem_ctx_##NAME##_g(shmem_ctx_t ctx, const T *source, int pe);                              \
    void shmem_ctx_##NAME##_iput(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst,         \
                                 ptrdiff_t sst, size_t nelems, int pe);                            \
    void shmem_ctx_##NAME##_iget(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst,         \
                                 ptrdiff_t sst, size_t nelems, int pe);                            \
    void shmem_ctx_##NAME##_put_signal(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems,   \
                                       uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);   \
    void shmem_ctx_##NAME##_put_signal_nbi(shmem_ctx_t ctx, T *dest, const T *source,              \
                                           size_t nelems, uint64_t *sig_addr, uint64_t signal,     \
                                           int sig_op, int pe);

SHMEM_TYPES(SHMEM_DECLARE_RMA, )

/* The same of elements by their size, and of bytes (mem), which have no strides. */
#define SHMEM_DECLARE_BLOCK(SUFFIX)                                                                \
    void shmem_put##SUFFIX(void *dest, const void *source, size_t nelems, int pe);                 \
    void shmem_get##SUFFIX(void *dest, const void *source, size_t nelems, int pe);                 \
    void shmem_put##SUFFIX##_nbi(void *dest, const void *source, size_t nelems, int pe);           \
    void shmem_get##SUFFIX##_nbi(void *dest, const void *source, size_t nelems, int pe);           \
    void shmem_put##SUFFIX##_signal(void *dest, const void *source, size_t nelems,                 \
                                    uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);      \
    void shmem_put##SUFFIX##_signal_nbi(void *dest, const void *source, size_t nelems,             \
                                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);  \
    void shmem_ctx_put##SUFFIX(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,     \
                               int pe);                                                            \
    void shmem_ctx_get##SUFFIX(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,     \
                               int pe);                                                            \
    void shmem_ctx_put##SUFFIX##_nbi(shmem_ctx_t ctx, void *dest, const void *source,              \
                                     size_t nelems, int pe);                                       \
    void shmem_ctx_get##SUFFIX##_nbi(shmem_ctx_t ctx, void *dest, const void *source,              \
                                     size_t nelems, int pe);                                       \
    void shmem_ctx_put##SUFFIX##_signal(shmem_ctx_t ctx, void *dest, const void *source,           \
                                        size_t nelems, uint64_t *sig_addr, uint64_t signal,        \
                                        int sig_op, int pe);                                       \
    void shmem_ctx_put##SUFFIX##_signal_nbi(shmem_ctx_t ctx, void *dest, const void *source,       \
                                            size_t nelems, uint64_t *sig_addr, uint64_t signal,    \
                                            int sig_op, int pe);

#define SHMEM_DECLARE_SIZED(FAMILY, BITS, BYTES)                                                   \
    SHMEM_DECLARE_BLOCK(BITS)                                                                      \
    void shmem_iput##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,            \
                          size_t nelems, int pe);                                                  \
    void shmem_iget##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,            \
                          size_t nelems, int pe);                                                  \
    void shmem_ctx_iput##BITS(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,      \
                              ptrdiff_t sst, size_t nelems, int pe);                               \
    void shmem_ctx_iget##BITS(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst,      \
                              ptrdiff_t sst, size_t nelems, int pe);

SHMEM_DECLARE_BLOCK(mem)
SHMEM_SIZES(SHMEM_DECLARE_SIZED, )

/* Atomics: each is one step for all other atomics on the same datum. Those that fetch return what
 * was there. */

#define SHMEM_DECLARE_EXTENDED(T, NAME)                                                            \
    T shmem_##NAME##_atomic_fetch(const T *source, int pe);                                        \
    void shmem_##NAME##_atomic_set(T *dest, T value, int pe);                                      \
    T shmem_##NAME##_atomic_swap(T *dest, T value, int pe);                                        \
    void shmem_##NAME##_atomic_fetch_nbi(T *fetch, const T *source, int pe);                       \
    void shmem_##NAME##_atomic_swap_nbi(T *fetch, T *dest, T value, int pe);                       \
    T shmem_ctx_##NAME##_atomic_fetch(shmem_ctx_t ctx, const T *source, int pe);                   \
    void shmem_ctx_##NAME##_atomic_set(shmem_ctx_t ctx, T *dest, T value, int pe);                 \
    T shmem_ctx_##NAME##_atomic_swap(shmem_ctx_t ctx, T *dest, T value, int pe);                   \
    void shmem_ctx_##NAME##_atomic_fetch_nbi(shmem_ctx_t ctx, T *fetch, const T *source, int pe);  \
    void shmem_ctx_##NAME##_atomic_swap_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T value, int pe);

#define SHMEM_DECLARE_STANDARD(T, NAME)                                                            \
    T shmem_##NAME##_atomic_compare_swap(T *dest, T cond, T value, int pe);                        \
    void shmem_##NAME##_atomic_compare_swap_nbi(T *fetch, T *dest, T cond, T value, int pe);       \
    T shmem_##NAME##_atomic_fetch_inc(T *dest, int pe);                                            \
    void shmem_##NAME##_atomic_fetch_inc_nbi(T *fetch, T *dest, int pe);                           \
    void shmem_##NAME##_atomic_inc(T *dest, int pe);                                               \
    T shmem_ctx_##NAME##_atomic_compare_swap(shmem_ctx_t ctx, T *dest, T cond, T value, int pe);   \
    void shmem_ctx_##NAME##_atomic_compare_swap_nbi(shmem_ctx_t ctx, T *fetch, T *dest, T cond,    \
                                                    T value, int pe);                              \
    T shmem_ctx_##NAME##_atomic_fetch_inc(shmem_ctx_t ctx, T *dest, int pe);                       \
    void shmem_ctx_##NAME##_atomic_fetch_inc_nbi(shmem_ctx_t ctx, T *fetch, T *dest, int pe);      \
    void shmem_ctx_##NAME##_atomic_inc(shmem_ctx_t ctx, T *dest, int pe);                          \
    SHMEM_DECLARE_UPDATE(T, NAME, add)

#define SHMEM_DECLARE_BITWISE(T, NAME)                                                             \
    SHMEM_DECLARE_UPDATE(T, NAME, and)                                                             \
    SHMEM_DECLARE_UPDATE(T, NAME, or)                                                              \
    SHMEM_DECLARE_UPDATE(T, NAME, xor)

#define SHMEM_DECLARE_UPDATE(T, NAME, OPERATION)                                                   \
    void shmem_##NAME##_atomic_##OPERATION(T *dest, T value, int pe);                              \
    T shmem_##NAME##_atomic_fetch_##OPERATION(T *dest, T value, int pe);                           \
    void shmem_##NAME##_atomic_fetch_##OPERATION##_nbi(T *fetch, T *dest, T value, int pe);        \
    void shmem_ctx_##NAME##_atomic_##OPERATION(shmem_ctx_t ctx, T *dest, T value, int pe);         \
    T shmem_ctx_##NAME##_atomic_fetch_##OPERATION(shmem_ctx_t ctx, T *dest, T value, int pe);      \
    void shmem_ctx_##NAME##_atomic_fetch_##OPERATION##_nbi(shmem_ctx_t ctx, T *fetch, T *dest,     \
                                                           T value, int pe);

#define SHMEM_DECLARE_ATOMICS(FAMILY, T, NAME, OWN, EXTENDED, STANDARD, BITWISE, ...)              \
    SHMEM_ONLY_##EXTENDED(SHMEM_DECLARE_EXTENDED(T, NAME))                                         \
        SHMEM_ONLY_##STANDARD(SHMEM_DECLARE_STANDARD(T, NAME))                                     \
            SHMEM_ONLY_##BITWISE(SHMEM_DECLARE_BITWISE(T, NAME))

SHMEM_TYPES(SHMEM_DECLARE_ATOMICS, )

/* Signals */

uint64_t shmem_signal_fetch(const uint64_t *sig_addr);
uint64_t shmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value);

/* Waiting for own symmetric variables, handling messages. `status` marks those to leave out unless
 * it is 0; indices and counts are as OpenSHMEM has them, SIZE_MAX if there is none. */

#define SHMEM_DECLARE_MANY(T, NAME, CALL)                                                          \
    size_t shmem_##NAME##_##CALL##_any(T *ivars, size_t nelems, const int *status, int cmp,        \
                                       T cmp_value);                                               \
    size_t shmem_##NAME##_##CALL##_some(T *ivars, size_t nelems, size_t *indices,                  \
                                        const int *status, int cmp, T cmp_value);                  \
    size_t shmem_##NAME##_##CALL##_any_vector(T *ivars, size_t nelems, const int *status, int cmp, \
                                              T *cmp_values);                                      \
    size_t shmem_##NAME##_##CALL##_some_vector(T *ivars, size_t nelems, size_t *indices,           \
                                               const int *status, int cmp, T *cmp_values);

#define SHMEM_DECLARE_WAITS(FAMILY, T, NAME, OWN, EXTENDED, STANDARD, BITWISE, WAIT, BITS)         \
    SHMEM_ONLY_##WAIT(void shmem_##NAME##_wait_until(T *ivar, int cmp, T cmp_value);               \
                      int shmem_##NAME##_test(T *ivar, int cmp, T cmp_value);                      \
                      void shmem_##NAME##_wait_until_all(T *ivars, size_t nelems,                  \
                                                         const int *status, int cmp, T cmp_value); \
                      int shmem_##NAME##_test_all(T *ivars, size_t nelems, const int *status,      \
                                                  int cmp, T cmp_value);                           \
                      void shmem_##NAME##_wait_until_all_vector(                                   \
                          T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values);     \
                      int shmem_##NAME##_test_all_vector(                                          \
                          T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values);     \
                      SHMEM_DECLARE_MANY(T, NAME, wait_until) SHMEM_DECLARE_MANY(T, NAME, test))

SHMEM_TYPES(SHMEM_DECLARE_WAITS, )

/* Collectives of a team: every member makes the same calls in the same order, with the same
 * symmetric `dest`, which is ready at all of them before the first one calls. All return 0, or -1
 * for SHMEM_TEAM_INVALID. */

#define SHMEM_DECLARE_COLLECTIVES(FAMILY, T, NAME, ...)                                            \
    int shmem_##NAME##_broadcast(shmem_team_t team, T *dest, const T *source, size_t nelems,       \
                                 int PE_root);                                                     \
    int shmem_##NAME##_collect(shmem_team_t team, T *dest, const T *source, size_t nelems);        \
    int shmem_##NAME##_fcollect(shmem_team_t team, T *dest, const T *source, size_t nelems);       \
    int shmem_##NAME##_alltoall(shmem_team_t team, T *dest, const T *source, size_t nelems);       \
    int shmem_##NAME##_alltoalls(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst,       \
                                 ptrdiff_t sst, size_t nelems);

SHMEM_TYPES(SHMEM_DECLARE_COLLECTIVES, )

int shmem_broadcastmem(shmem_team_t team, void *dest, const void *source, size_t nelems,
                       int PE_root);
int shmem_collectmem(shmem_team_t team, void *dest, const void *source, size_t nelems);
int shmem_fcollectmem(shmem_team_t team, void *dest, const void *source, size_t nelems);
int shmem_alltoallmem(shmem_team_t team, void *dest, const void *source, size_t nelems);
int shmem_alltoallsmem(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t nelems);

/* Those of an active set, PEs PE_start, PE_start + 2^logPE_stride, ... (deprecated since 1.5). A
 * broadcast does not write the root's `dest`. */
#define SHMEM_DECLARE_ACTIVE_SET(BITS)                                                             \
    void shmem_broadcast##BITS(void *dest, const void *source, size_t nelems, int PE_root,         \
                               int PE_start, int logPE_stride, int PE_size, long *pSync);          \
    void shmem_collect##BITS(void *dest, const void *source, size_t nelems, int PE_start,          \
                             int logPE_stride, int PE_size, long *pSync);                          \
    void shmem_fcollect##BITS(void *dest, const void *source, size_t nelems, int PE_start,         \
                              int logPE_stride, int PE_size, long *pSync);                         \
    void shmem_alltoall##BITS(void *dest, const void *source, size_t nelems, int PE_start,         \
                              int logPE_stride, int PE_size, long *pSync);                         \
    void shmem_alltoalls##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,       \
                               size_t nelems, int PE_start, int logPE_stride, int PE_size,         \
                               long *pSync);

SHMEM_DECLARE_ACTIVE_SET(32)
SHMEM_DECLARE_ACTIVE_SET(64)

/* Reductions; `dest` may be `source`. Every PE gets the same bits. */

#define SHMEM_DECLARE_REDUCTION(T, NAME, OPERATION)                                                \
    int shmem_##NAME##_##OPERATION##_reduce(shmem_team_t team, T *dest, const T *source,           \
                                            size_t nreduce);

#define SHMEM_DECLARE_REDUCTIONS(FAMILY, T, NAME, OWN, EXTENDED, STANDARD, BITWISE, WAIT, BITS)    \
    SHMEM_DECLARE_REDUCTION(T, NAME, sum)                                                          \
    SHMEM_DECLARE_REDUCTION(T, NAME, prod)                                                         \
    SHMEM_DECLARE_REDUCTION(T, NAME, min)                                                          \
    SHMEM_DECLARE_REDUCTION(T, NAME, max)                                                          \
    SHMEM_ONLY_##BITS(SHMEM_DECLARE_REDUCTION(T, NAME, and) SHMEM_DECLARE_REDUCTION(T, NAME, or)   \
                          SHMEM_DECLARE_REDUCTION(T, NAME, xor))

SHMEM_TYPES(SHMEM_DECLARE_REDUCTIONS, )

#ifndef __cplusplus
SHMEM_DECLARE_REDUCTION(float _Complex, complexf, sum)
SHMEM_DECLARE_REDUCTION(float _Complex, complexf, prod)
SHMEM_DECLARE_REDUCTION(double _Complex, complexd, sum)
SHMEM_DECLARE_REDUCTION(double _Complex, complexd, prod)
#endif

#define SHMEM_DECLARE_TO_ALL(T, NAME, OPERATION)                                                   \
    void shmem_##NAME##_##OPERATION##_to_all(T *dest, const T *source, int nreduce, int PE_start,  \
                                             int logPE_stride, int PE_size, T *pWrk, long *pSync);

#define SHMEM_DECLARE_ALL_TO_ALL(FAMILY, T, NAME, BITS)                                            \
    SHMEM_DECLARE_TO_ALL(T, NAME, sum)                                                             \
    SHMEM_DECLARE_TO_ALL(T, NAME, prod)                                                            \
    SHMEM_DECLARE_TO_ALL(T, NAME, min)                                                             \
    SHMEM_DECLARE_TO_ALL(T, NAME, max)                                                             \
    SHMEM_ONLY_##BITS(SHMEM_DECLARE_TO_ALL(T, NAME, and) SHMEM_DECLARE_TO_ALL(T, NAME, or)         \
                          SHMEM_DECLARE_TO_ALL(T, NAME, xor))

SHMEM_ACTIVE_SET_TYPES(SHMEM_DECLARE_ALL_TO_ALL, )

#ifdef __cplusplus
}
#endif

#include "shmem/generic.h"

#endif
