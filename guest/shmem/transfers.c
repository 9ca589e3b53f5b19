/* Puts, gets and signals of all types, sizes and contexts: each checks what it is given and does
 * it by one of three ways. Own memory is copied; scratchpad that the interface writes is stored to;
 * the rest are requests. A get by whichever way handles messages: it may be in a loop that waits.
 */
#include <string.h>

#include "shmem/library.h"
#include "shmem/remote_stores.h"
#include "shmem/requests.h"

static void put(const char *function, shmem_ctx_t context, void *dest, const void *source,
                size_t bytes, int pe, enum shmem_completion completion) {
    int target = shmem_target(function, context, pe);
    if (bytes == 0)
        return;
    uint64_t place = shmem_place(function, dest, bytes);
    if (target == shmem_pe)
        memmove(dest, source, bytes);
    else if (shmem_is_in_scratchpad(place))
        remote_put(target, place, source, bytes, completion);
    else
        shmem_request_put(target, place, source, bytes);
}

static void get(const char *function, shmem_ctx_t context, void *dest, const void *source,
                size_t bytes, int pe, enum shmem_completion completion) {
    int target = shmem_target(function, context, pe);
    if (bytes == 0)
        return;
    uint64_t place = shmem_place(function, source, bytes);
    if (target != shmem_pe && !shmem_is_in_scratchpad(place)) {
        shmem_request_get(target, place, dest, bytes, completion);
        return;
    }
    shmem_progress();
    if (target == shmem_pe)
        memmove(dest, source, bytes);
    else
        remote_get(target, place, dest, bytes, completion);
}

/* Checks the elements of symmetric memory; their first one's place. */
static uint64_t place_of_elements(const char *function, const void *first, ptrdiff_t stride,
                                  size_t width, size_t count) {
    if (stride < 1)
        shmem_refuse(function, "with a stride of %td: strides are 1 or more", stride);
    size_t last = shmem_bytes(shmem_bytes(count - 1, (size_t)stride), width);
    return shmem_place(function, first, last > SIZE_MAX - width ? SIZE_MAX : last + width);
}

static void copy_elements(void *dest, ptrdiff_t step, const void *source, ptrdiff_t source_step,
                          size_t width, size_t count) {
    char *to = dest;
    for (const char *from = source; count > 0; count--, to += step, from += source_step)
        memmove(to, from, width);
}

/* A strided put, or get. */
static void transfer_strided(const char *function, shmem_ctx_t context, void *dest,
                             const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t width,
                             size_t count, int pe, bool puts) {
    int target = shmem_target(function, context, pe);
    if (count == 0)
        return;
    uint64_t place =
        place_of_elements(function, puts ? dest : source, puts ? dst : sst, width, count);
    bool is_remote = shmem_is_in_scratchpad(place);
    dst *= (ptrdiff_t)width, sst *= (ptrdiff_t)width;
    if (target == shmem_pe)
        copy_elements(dest, dst, source, sst, width, count);
    else if (puts)
        (is_remote ? remote_put_strided : shmem_request_put_strided)(target, place, dst, source,
                                                                     sst, width, count);
    else
        (is_remote ? remote_get_strided : shmem_request_get_strided)(target, place, sst, dest, dst,
                                                                     width, count);
}

static void iput(const char *function, shmem_ctx_t context, void *dest, const void *source,
                 ptrdiff_t dst, ptrdiff_t sst, size_t width, size_t count, int pe) {
    transfer_strided(function, context, dest, source, dst, sst, width, count, pe, true);
}

static void iget(const char *function, shmem_ctx_t context, void *dest, const void *source,
                 ptrdiff_t dst, ptrdiff_t sst, size_t width, size_t count, int pe) {
    transfer_strided(function, context, dest, source, dst, sst, width, count, pe, false);
}

void shmem_put_strided(const char *function, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t width, size_t count, int pe) {
    iput(function, SHMEM_CTX_DEFAULT, dest, source, dst, sst, width, count, pe);
}

void shmem_put_block(const char *function, void *dest, const void *source, size_t bytes, int pe) {
    put(function, SHMEM_CTX_DEFAULT, dest, source, bytes, pe, NONBLOCKING);
}

static const enum shmem_operation signal_operations[] = {[SHMEM_SIGNAL_SET] = ATOMIC_SET,
                                                         [SHMEM_SIGNAL_ADD] = ATOMIC_ADD};

static void put_signal(const char *function, shmem_ctx_t context, void *dest, const void *source,
                       size_t bytes, uint64_t *signal, uint64_t value, int operation, int pe) {
    int target = shmem_target(function, context, pe);
    if ((unsigned)operation > SHMEM_SIGNAL_ADD)
        shmem_refuse(function,
                     "with signal operation %d, which is neither SHMEM_SIGNAL_SET nor "
                     "SHMEM_SIGNAL_ADD",
                     operation);
    uint64_t signal_place = shmem_place(function, signal, sizeof *signal);
    uint64_t place = bytes > 0 ? shmem_place(function, dest, bytes) : signal_place;
    struct shmem_atomic update = {signal_operations[operation], sizeof *signal, value, 0};
    if (target == shmem_pe) {
        if (bytes > 0)
            memmove(dest, source, bytes);
        shmem_apply_atomic(signal, &update);
    } else if (bytes > 0 && shmem_is_in_scratchpad(place)) {
        remote_put(target, place, source, bytes, NONBLOCKING);
        remote_fence();
        shmem_request_update(target, signal_place, &update);
    } else {
        shmem_request_put_signal(target, place, source, bytes, signal_place, value,
                                 (int)update.operation);
    }
}

/* The functions: for each name one without a context and one with it. */

#define BLOCK(PUT, GET, SIGNAL, T, WIDTH)                                                          \
    void shmem_##PUT(T *dest, const T *source, size_t nelems, int pe) {                            \
        put(__func__, SHMEM_CTX_DEFAULT, dest, source, shmem_bytes(nelems, WIDTH), pe, BLOCKING);  \
    }                                                                                              \
    void shmem_ctx_##PUT(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) {       \
        put(__func__, ctx, dest, source, shmem_bytes(nelems, WIDTH), pe, BLOCKING);                \
    }                                                                                              \
    void shmem_##PUT##_nbi(T *dest, const T *source, size_t nelems, int pe) {                      \
        put(__func__, SHMEM_CTX_DEFAULT, dest, source, shmem_bytes(nelems, WIDTH), pe,             \
            NONBLOCKING);                                                                          \
    }                                                                                              \
    void shmem_ctx_##PUT##_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) { \
        put(__func__, ctx, dest, source, shmem_bytes(nelems, WIDTH), pe, NONBLOCKING);             \
    }                                                                                              \
    void shmem_##GET(T *dest, const T *source, size_t nelems, int pe) {                            \
        get(__func__, SHMEM_CTX_DEFAULT, dest, source, shmem_bytes(nelems, WIDTH), pe, BLOCKING);  \
    }                                                                                              \
    void shmem_ctx_##GET(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) {       \
        get(__func__, ctx, dest, source, shmem_bytes(nelems, WIDTH), pe, BLOCKING);                \
    }                                                                                              \
    void shmem_##GET##_nbi(T *dest, const T *source, size_t nelems, int pe) {                      \
        get(__func__, SHMEM_CTX_DEFAULT, dest, source, shmem_bytes(nelems, WIDTH), pe,             \
            NONBLOCKING);                                                                          \
    }                                                                                              \
    void shmem_ctx_##GET##_nbi(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems, int pe) { \
        get(__func__, ctx, dest, source, shmem_bytes(nelems, WIDTH), pe, NONBLOCKING);             \
    }                                                                                              \
    WITH_SIGNAL(SIGNAL, T, WIDTH)                                                                  \
    WITH_SIGNAL(SIGNAL##_nbi, T, WIDTH)

#define WITH_SIGNAL(NAME, T, WIDTH)                                                                \
    void shmem_##NAME(T *dest, const T *source, size_t nelems, uint64_t *sig_addr,                 \
                      uint64_t signal, int sig_op, int pe) {                                       \
        put_signal(__func__, SHMEM_CTX_DEFAULT, dest, source, shmem_bytes(nelems, WIDTH),          \
                   sig_addr, signal, sig_op, pe);                                                  \
    }                                                                                              \
    void shmem_ctx_##NAME(shmem_ctx_t ctx, T *dest, const T *source, size_t nelems,                \
                          uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) {               \
        put_signal(__func__, ctx, dest, source, shmem_bytes(nelems, WIDTH), sig_addr, signal,      \
                   sig_op, pe);                                                                    \
    }

#define STRIDED(PUT, GET, T, WIDTH)                                                                \
    void shmem_##PUT(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,        \
                     int pe) {                                                                     \
        iput(__func__, SHMEM_CTX_DEFAULT, dest, source, dst, sst, WIDTH, nelems, pe);              \
    }                                                                                              \
    void shmem_ctx_##PUT(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,  \
                         size_t nelems, int pe) {                                                  \
        iput(__func__, ctx, dest, source, dst, sst, WIDTH, nelems, pe);                            \
    }                                                                                              \
    void shmem_##GET(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,        \
                     int pe) {                                                                     \
        iget(__func__, SHMEM_CTX_DEFAULT, dest, source, dst, sst, WIDTH, nelems, pe);              \
    }                                                                                              \
    void shmem_ctx_##GET(shmem_ctx_t ctx, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst,  \
                         size_t nelems, int pe) {                                                  \
        iget(__func__, ctx, dest, source, dst, sst, WIDTH, nelems, pe);                            \
    }

#define TYPED(FAMILY, T, NAME, ...)                                                                \
    BLOCK(NAME##_put, NAME##_get, NAME##_put_signal, T, sizeof(T))                                 \
    STRIDED(NAME##_iput, NAME##_iget, T, sizeof(T))                                                \
    void shmem_##NAME##_p(T *dest, T value, int pe) {                                              \
        put(__func__, SHMEM_CTX_DEFAULT, dest, &value, sizeof value, pe, BLOCKING);                \
    }                                                                                              \
    void shmem_ctx_##NAME##_p(shmem_ctx_t ctx, T *dest, T value, int pe) {                         \
        put(__func__, ctx, dest, &value, sizeof value, pe, BLOCKING);                              \
    }                                                                                              \
    T shmem_##NAME##_g(const T *source, int pe) {                                                  \
        T value;                                                                                   \
        get(__func__, SHMEM_CTX_DEFAULT, &value, source, sizeof value, pe, BLOCKING);              \
        return value;                                                                              \
    }                                                                                              \
    T shmem_ctx_##NAME##_g(shmem_ctx_t ctx, const T *source, int pe) {                             \
        T value;                                                                                   \
        get(__func__, ctx, &value, source, sizeof value, pe, BLOCKING);                            \
        return value;                                                                              \
    }

#define SIZED(FAMILY, BITS, BYTES)                                                                 \
    BLOCK(put##BITS, get##BITS, put##BITS##_signal, void, BYTES)                                   \
    STRIDED(iput##BITS, iget##BITS, void, BYTES)

SHMEM_TYPES(TYPED, )
SHMEM_SIZES(SIZED, )
BLOCK(putmem, getmem, putmem_signal, void, 1)
