/* Waiting for variables that others write, and testing them. All forms are made of one: whether
 * variable `index` compares as asked with a value, the same for all or one for each. */
#include <stdbool.h>

#include "runtime/marker.h"
#include "shmem/library.h"
#include "shmem/requests.h"

static void check(const char *function, const void *variables, size_t bytes, int comparison) {
    shmem_check_running(function);
    if (bytes > 0)
        shmem_place(function, variables, bytes);
    if (comparison < SHMEM_CMP_EQ || comparison > SHMEM_CMP_GE)
        shmem_refuse(function, "with comparison %d: SHMEM_CMP_EQ to SHMEM_CMP_GE are %d to %d",
                     comparison, SHMEM_CMP_EQ, SHMEM_CMP_GE);
}

/* Which of the variables count, and where a wait for some goes on: after the one it returned, so
 * that none is passed over for ever. */
static bool is_left_out(const int *status, size_t index) {
    return status && status[index];
}

static size_t first_to_look_at;

/* The same waits on vectors of values (step 1) and on one value (step 0). */
#define WAITS(T, NAME)                                                                             \
    static inline bool NAME##_holds(const T *variable, int comparison, T value) {                  \
        T now = *(const volatile T *)variable;                                                     \
        switch (comparison) {                                                                      \
        case SHMEM_CMP_EQ:                                                                         \
            return now == value;                                                                   \
        case SHMEM_CMP_NE:                                                                         \
            return now != value;                                                                   \
        case SHMEM_CMP_GT:                                                                         \
            return now > value;                                                                    \
        case SHMEM_CMP_LE:                                                                         \
            return now <= value;                                                                   \
        case SHMEM_CMP_LT:                                                                         \
            return now < value;                                                                    \
        default:                                                                                   \
            return now >= value;                                                                   \
        }                                                                                          \
    }                                                                                              \
    static bool NAME##_all(const T *variables, size_t count, const int *status, int comparison,    \
                           const T *values, size_t step) {                                         \
        for (size_t index = 0; index < count; index++)                                             \
            if (!is_left_out(status, index) &&                                                     \
                !NAME##_holds(&variables[index], comparison, values[index * step]))                \
                return false;                                                                      \
        return true;                                                                               \
    }                                                                                              \
    static size_t NAME##_some(const T *variables, size_t count, size_t *indices,                   \
                              const int *status, int comparison, const T *values, size_t step) {   \
        size_t found = 0;                                                                          \
        for (size_t index = 0; index < count; index++)                                             \
            if (!is_left_out(status, index) &&                                                     \
                NAME##_holds(&variables[index], comparison, values[index * step]))                 \
                indices[found++] = index;                                                          \
        return found;                                                                              \
    }                                                                                              \
    static size_t NAME##_any(const T *variables, size_t count, const int *status, int comparison,  \
                             const T *values, size_t step) {                                       \
        for (size_t tried = 0; tried < count; tried++) {                                           \
            size_t index = (first_to_look_at + tried) % count;                                     \
            if (!is_left_out(status, index) &&                                                     \
                NAME##_holds(&variables[index], comparison, values[index * step])) {               \
                first_to_look_at = index + 1;                                                      \
                return index;                                                                      \
            }                                                                                      \
        }                                                                                          \
        return SIZE_MAX;                                                                           \
    }                                                                                              \
    void shmem_##NAME##_wait_until(T *ivar, int cmp, T cmp_value) {                                \
        check(__func__, ivar, sizeof(T), cmp);                                                     \
        WAIT_WHILE(!NAME##_holds(ivar, cmp, cmp_value));                                           \
    }                                                                                              \
    int shmem_##NAME##_test(T *ivar, int cmp, T cmp_value) {                                       \
        check(__func__, ivar, sizeof(T), cmp);                                                     \
        shmem_progress();                                                                          \
        return NAME##_holds(ivar, cmp, cmp_value);                                                 \
    }                                                                                              \
    FORMS(T, NAME, , cmp_value, &cmp_value, 0)                                                     \
    FORMS(T, NAME, _vector, *cmp_values, cmp_values, 1)

#define WAIT_WHILE(CONDITION)                                                                      \
    do {                                                                                           \
        ENTER(ACTIVITY_SYNCHRONISATION);                                                           \
        while (CONDITION)                                                                          \
            shmem_progress();                                                                      \
        LEAVE();                                                                                   \
    } while (0)

/* Those of many variables; FORM is their names' end, PARAMETER what they are given. */
#define FORMS(T, NAME, FORM, PARAMETER, VALUES, STEP)                                              \
    void shmem_##NAME##_wait_until_all##FORM(T *ivars, size_t nelems, const int *status, int cmp,  \
                                             T PARAMETER) {                                        \
        check(__func__, ivars, shmem_bytes(nelems, sizeof(T)), cmp);                               \
        WAIT_WHILE(!NAME##_all(ivars, nelems, status, cmp, VALUES, STEP));                         \
    }                                                                                              \
    int shmem_##NAME##_test_all##FORM(T *ivars, size_t nelems, const int *status, int cmp,         \
                                      T PARAMETER) {                                               \
        check(__func__, ivars, shmem_bytes(nelems, sizeof(T)), cmp);                               \
        shmem_progress();                                                                          \
        return NAME##_all(ivars, nelems, status, cmp, VALUES, STEP);                               \
    }                                                                                              \
    size_t shmem_##NAME##_wait_until_any##FORM(T *ivars, size_t nelems, const int *status,         \
                                               int cmp, T PARAMETER) {                             \
        size_t found = SIZE_MAX;                                                                   \
        check(__func__, ivars, shmem_bytes(nelems, sizeof(T)), cmp);                               \
        if (counts_any(status, nelems))                                                            \
            WAIT_WHILE((found = NAME##_any(ivars, nelems, status, cmp, VALUES, STEP)) ==           \
                       SIZE_MAX);                                                                  \
        return found;                                                                              \
    }                                                                                              \
    size_t shmem_##NAME##_test_any##FORM(T *ivars, size_t nelems, const int *status, int cmp,      \
                                         T PARAMETER) {                                            \
        check(__func__, ivars, shmem_bytes(nelems, sizeof(T)), cmp);                               \
        shmem_progress();                                                                          \
        return NAME##_any(ivars, nelems, status, cmp, VALUES, STEP);                               \
    }                                                                                              \
    size_t shmem_##NAME##_wait_until_some##FORM(T *ivars, size_t nelems, size_t *indices,          \
                                                const int *status, int cmp, T PARAMETER) {         \
        size_t found = 0;                                                                          \
        check(__func__, ivars, shmem_bytes(nelems, sizeof(T)), cmp);                               \
        if (counts_any(status, nelems))                                                            \
            WAIT_WHILE((found = NAME##_some(ivars, nelems, indices, status, cmp, VALUES, STEP)) == \
                       0);                                                                         \
        return found;                                                                              \
    }                                                                                              \
    size_t shmem_##NAME##_test_some##FORM(T *ivars, size_t nelems, size_t *indices,                \
                                          const int *status, int cmp, T PARAMETER) {               \
        check(__func__, ivars, shmem_bytes(nelems, sizeof(T)), cmp);                               \
        shmem_progress();                                                                          \
        return NAME##_some(ivars, nelems, indices, status, cmp, VALUES, STEP);                     \
    }

static bool counts_any(const int *status, size_t count) {
    for (size_t index = 0; index < count; index++)
        if (!is_left_out(status, index))
            return true;
    return false;
}

#define OF_TYPE(FAMILY, T, NAME, OWN, EXTENDED, STANDARD, BITWISE, HAS_WAIT, BITS)                 \
    SHMEM_ONLY_##HAS_WAIT(WAITS(T, NAME))

SHMEM_TYPES(OF_TYPE, )

/* Signals */

uint64_t shmem_signal_fetch(const uint64_t *sig_addr) {
    check(__func__, sig_addr, sizeof *sig_addr, SHMEM_CMP_EQ);
    shmem_progress();
    return *(const volatile uint64_t *)sig_addr;
}

uint64_t shmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t cmp_value) {
    check(__func__, sig_addr, sizeof *sig_addr, cmp);
    WAIT_WHILE(!uint64_holds(sig_addr, cmp, cmp_value));
    return *(const volatile uint64_t *)sig_addr;
}
