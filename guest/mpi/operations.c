#include "mpi/operations.h"

#include <complex.h>
#include <stdlib.h>

#include "mpi/errors.h"

/* What combines two values. */
#define ADD(one, other) ((one) + (other))
#define MULTIPLY(one, other) ((one) * (other))
#define LESSER(one, other) ((one) < (other) ? (one) : (other))
#define GREATER(one, other) ((one) > (other) ? (one) : (other))
#define BIT_AND(one, other) ((one) & (other))
#define BIT_OR(one, other) ((one) | (other))
#define BIT_XOR(one, other) ((one) ^ (other))
#define BOTH(one, other) ((one) && (other))
#define EITHER(one, other) ((one) || (other))
#define ONE_OF_TWO(one, other) (!(one) != !(other))

#define DEFINE(operation, element, type, combine)                                                  \
    static void operation##_##element(const void *in, void *inout, size_t count) {                 \
        const type *others = in;                                                                   \
        type *values = inout;                                                                      \
        for (size_t index = 0; index < count; index++)                                             \
            values[index] = (type)combine(others[index], values[index]);                           \
    }

#define EVERY_INTEGER(EACH, operation, combine)                                                    \
    EACH(operation, INT8, int8_t, combine)                                                         \
    EACH(operation, UINT8, uint8_t, combine)                                                       \
    EACH(operation, INT16, int16_t, combine)                                                       \
    EACH(operation, UINT16, uint16_t, combine)                                                     \
    EACH(operation, INT32, int32_t, combine)                                                       \
    EACH(operation, UINT32, uint32_t, combine)                                                     \
    EACH(operation, INT64, int64_t, combine)                                                       \
    EACH(operation, UINT64, uint64_t, combine)

#define EVERY_REAL(EACH, operation, combine)                                                       \
    EACH(operation, FLOAT, float, combine)                                                         \
    EACH(operation, DOUBLE, double, combine)                                                       \
    EACH(operation, LONG_DOUBLE, long double, combine)

#define EVERY_COMPLEX(EACH, operation, combine)                                                    \
    EACH(operation, FLOAT_COMPLEX, float complex, combine)                                         \
    EACH(operation, DOUBLE_COMPLEX, double complex, combine)                                       \
    EACH(operation, LONG_DOUBLE_COMPLEX, long double complex, combine)

#define EVERY_BIT(EACH, operation, combine)                                                        \
    EVERY_INTEGER(EACH, operation, combine)                                                        \
    EACH(operation, BYTES, uint8_t, combine)

#define EVERY_TRUTH(EACH, operation, combine)                                                      \
    EVERY_INTEGER(EACH, operation, combine)                                                        \
    EACH(operation, BOOLEAN, _Bool, combine)

#define EVERY_NUMBER(EACH, operation, combine)                                                     \
    EVERY_INTEGER(EACH, operation, combine)                                                        \
    EVERY_REAL(EACH, operation, combine)

#define EVERY_FIELD(EACH, operation, combine)                                                      \
    EVERY_NUMBER(EACH, operation, combine)                                                         \
    EVERY_COMPLEX(EACH, operation, combine)

/* A value and an index. Of equal values the lower index stays. */
#define DEFINE_PAIR(operation, element, type, is_before)                                           \
    static void operation##_##element(const void *in, void *inout, size_t count) {                 \
        struct pair {                                                                              \
            type value;                                                                            \
            int index;                                                                             \
        };                                                                                         \
        const struct pair *others = in;                                                            \
        struct pair *values = inout;                                                               \
        for (size_t place = 0; place < count; place++) {                                           \
            struct pair one = others[place], other = values[place];                                \
            bool is_lower = one.value == other.value && one.index < other.index;                   \
            if (one.value is_before other.value || is_lower)                                       \
                values[place] = one;                                                               \
        }                                                                                          \
    }

#define EVERY_PAIR(EACH, operation, is_before)                                                     \
    EACH(operation, PAIR_FLOAT, float, is_before)                                                  \
    EACH(operation, PAIR_DOUBLE, double, is_before)                                                \
    EACH(operation, PAIR_LONG, long, is_before)                                                    \
    EACH(operation, PAIR_INT, int, is_before)                                                      \
    EACH(operation, PAIR_SHORT, short, is_before)                                                  \
    EACH(operation, PAIR_LONG_DOUBLE, long double, is_before)

/* Every operation: its name, the handle, the elements that it takes, and what it does. */
#define EVERY_OPERATION(EACH)                                                                      \
    EACH(sum, MPI_SUM, EVERY_FIELD, ADD)                                                           \
    EACH(minimum, MPI_MIN, EVERY_NUMBER, LESSER)                                                   \
    EACH(maximum, MPI_MAX, EVERY_NUMBER, GREATER)                                                  \
    EACH(product, MPI_PROD, EVERY_FIELD, MULTIPLY)                                                 \
    EACH(bit_and, MPI_BAND, EVERY_BIT, BIT_AND)                                                    \
    EACH(bit_or, MPI_BOR, EVERY_BIT, BIT_OR)                                                       \
    EACH(bit_xor, MPI_BXOR, EVERY_BIT, BIT_XOR)                                                    \
    EACH(both, MPI_LAND, EVERY_TRUTH, BOTH)                                                        \
    EACH(either, MPI_LOR, EVERY_TRUTH, EITHER)                                                     \
    EACH(one_of_two, MPI_LXOR, EVERY_TRUTH, ONE_OF_TWO)

#define DEFINE_ALL(operation, handle, EVERY, combine) EVERY(DEFINE, operation, combine)
EVERY_OPERATION(DEFINE_ALL)
EVERY_PAIR(DEFINE_PAIR, least_place, <)
EVERY_PAIR(DEFINE_PAIR, greatest_place, >)

#define ENTRY(operation, element, type, combine) [element] = operation##_##element,
#define TABLE(operation, handle, EVERY, combine)                                                   \
    static combine_function *const operation##_of[ELEMENTS] = {EVERY(ENTRY, operation, combine)};
EVERY_OPERATION(TABLE)
TABLE(least_place, MPI_MINLOC, EVERY_PAIR, <)
TABLE(greatest_place, MPI_MAXLOC, EVERY_PAIR, >)

struct operation *find_operation(MPI_Op handle) {
#define OPERATION(operation, constant, EVERY, combine)                                             \
    {OPERATION_MARK, true, NULL, #constant, operation##_of},
    static struct operation operations[] = {EVERY_OPERATION(OPERATION) OPERATION(
        least_place, MPI_MINLOC, , ) OPERATION(greatest_place, MPI_MAXLOC, , )};
#define NUMBER(operation, constant, EVERY, combine) constant,
    static const MPI_Op handles[] = {EVERY_OPERATION(NUMBER) MPI_MINLOC, MPI_MAXLOC};
    if (!is_constant(handle)) {
        struct operation *operation = (struct operation *)handle;
        return operation->mark == OPERATION_MARK ? operation : NULL;
    }
    for (size_t place = 0; place < sizeof handles / sizeof handles[0]; place++)
        if (handles[place] == handle)
            return &operations[place];
    return NULL;
}

bool can_operate(const struct operation *operation, const struct datatype *type) {
    return operation->function || operation->of_element[type->element];
}

void operate(struct operation *operation, const void *in, void *inout, size_t count,
             struct datatype *type) {
    if (!operation->function) {
        operation->of_element[type->element](in, inout, count);
        return;
    }
    int length = (int)count;
    MPI_Datatype handle = (MPI_Datatype)type;
    if (type->name)
        handle = (MPI_Datatype)((uintptr_t)MPI_DATATYPE_NULL + (size_t)(type - basic_types));
    operation->function((void *)(uintptr_t)in, inout, &length, &handle);
}

/* No communicator is given to these functions: their errors are the world's. */
static struct communicator *const comm = NULL;

int PMPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op) {
    CHECK_ACTIVE();
    CHECK(function, MPI_ERR_ARG, "the function is NULL");
    struct operation *operation = mpi_allocate(sizeof *operation);
    *operation = (struct operation){OPERATION_MARK, commutes != 0, function,
                                    "an operation of the program", NULL};
    *op = (MPI_Op)operation;
    return MPI_SUCCESS;
}
MPI_NAME(Op_create);

int PMPI_Op_free(MPI_Op *op) {
    struct operation *operation = find_operation(*op);
    CHECK(operation && operation->function, MPI_ERR_OP,
          "the operation is none that the program has made");
    operation->mark = 0;
    free(operation);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
MPI_NAME(Op_free);

int PMPI_Op_commutative(MPI_Op op, int *commutes) {
    struct operation *operation = find_operation(op);
    CHECK(operation, MPI_ERR_OP, "the operation is none");
    *commutes = operation->commutes;
    return MPI_SUCCESS;
}
MPI_NAME(Op_commutative);

int PMPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype datatype, MPI_Op op) {
    CHECK_COUNT(count);
    FIND_DATATYPE(type, datatype);
    FIND_OPERATION_IN(FUNCTION, operation, op, type);
    operate(operation, in, inout, (size_t)count, type);
    return MPI_SUCCESS;
}
MPI_NAME(Reduce_local);
