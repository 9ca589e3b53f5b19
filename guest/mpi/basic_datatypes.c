#include <stddef.h>
#include <wchar.h>

#include "mpi/datatypes.h"

/* A type of `data` bytes that lie in these runs of `type`, the last of which ends at `end`. */
#define TYPE(handle, number, type, kind, data, end, count, ...)                                    \
    [number] = {.mark = DATATYPE_MARK,                                                             \
                .element = kind,                                                                   \
                .is_contiguous = sizeof(type) == (data),                                           \
                .is_committed = true,                                                              \
                .alignment = _Alignof(type),                                                       \
                .size = data,                                                                      \
                .extent = sizeof(type),                                                            \
                .true_extent = end,                                                                \
                .runs = count,                                                                     \
                .run = (struct run[]){__VA_ARGS__},                                                \
                .references = 1,                                                                   \
                .name = #handle}

/* One block. */
#define BASIC(handle, number, type, kind)                                                          \
    TYPE(handle, number, type, kind, sizeof(type), sizeof(type), 1, {0, sizeof(type), 1, 0})

/* A value and an int, which may have padding between and behind them. */
#define PAIR_OF(type)                                                                              \
    struct {                                                                                       \
        type value;                                                                                \
        int index;                                                                                 \
    }
#define INDEX_AT(type) offsetof(PAIR_OF(type), index)
#define PAIR_SIZE(type) (sizeof(type) + sizeof(int))
#define IS_DENSE(type) (sizeof(PAIR_OF(type)) == PAIR_SIZE(type))
#define PAIR(handle, number, type, kind)                                                           \
    TYPE(handle, number, PAIR_OF(type), kind, PAIR_SIZE(type), INDEX_AT(type) + sizeof(int),       \
         IS_DENSE(type) ? 1 : 2, {0, IS_DENSE(type) ? PAIR_SIZE(type) : sizeof(type), 1, 0},       \
         {INDEX_AT(type), sizeof(int), 1, 0})

/* The numbers are those of the handles, less MPI_DATATYPE_NULL's. */
const struct datatype basic_types[BASIC_TYPES] = {
    BASIC(MPI_AINT, 0x01, MPI_Aint, INT64),
    BASIC(MPI_COUNT, 0x02, MPI_Count, INT64),
    BASIC(MPI_OFFSET, 0x03, MPI_Offset, INT64),
    BASIC(MPI_PACKED, 0x07, char, BYTES),
    BASIC(MPI_SHORT, 0x08, short, INT16),
    BASIC(MPI_INT, 0x09, int, INT32),
    BASIC(MPI_LONG, 0x0a, long, INT64),
    BASIC(MPI_LONG_LONG, 0x0b, long long, INT64),
    BASIC(MPI_UNSIGNED_SHORT, 0x0c, unsigned short, UINT16),
    BASIC(MPI_UNSIGNED, 0x0d, unsigned, UINT32),
    BASIC(MPI_UNSIGNED_LONG, 0x0e, unsigned long, UINT64),
    BASIC(MPI_UNSIGNED_LONG_LONG, 0x0f, unsigned long long, UINT64),
    BASIC(MPI_FLOAT, 0x10, float, FLOAT),
    BASIC(MPI_C_FLOAT_COMPLEX, 0x12, float _Complex, FLOAT_COMPLEX),
    BASIC(MPI_CXX_FLOAT_COMPLEX, 0x13, float _Complex, FLOAT_COMPLEX),
    BASIC(MPI_DOUBLE, 0x14, double, DOUBLE),
    BASIC(MPI_C_DOUBLE_COMPLEX, 0x16, double _Complex, DOUBLE_COMPLEX),
    BASIC(MPI_CXX_DOUBLE_COMPLEX, 0x17, double _Complex, DOUBLE_COMPLEX),
    BASIC(MPI_LONG_DOUBLE, 0x20, long double, LONG_DOUBLE),
    BASIC(MPI_C_LONG_DOUBLE_COMPLEX, 0x24, long double _Complex, LONG_DOUBLE_COMPLEX),
    BASIC(MPI_CXX_LONG_DOUBLE_COMPLEX, 0x25, long double _Complex, LONG_DOUBLE_COMPLEX),
    PAIR(MPI_FLOAT_INT, 0x28, float, PAIR_FLOAT),
    PAIR(MPI_DOUBLE_INT, 0x29, double, PAIR_DOUBLE),
    PAIR(MPI_LONG_INT, 0x2a, long, PAIR_LONG),
    PAIR(MPI_2INT, 0x2b, int, PAIR_INT),
    PAIR(MPI_SHORT_INT, 0x2c, short, PAIR_SHORT),
    PAIR(MPI_LONG_DOUBLE_INT, 0x2d, long double, PAIR_LONG_DOUBLE),
    BASIC(MPI_C_BOOL, 0x38, _Bool, BOOLEAN),
    BASIC(MPI_CXX_BOOL, 0x39, _Bool, BOOLEAN),
    BASIC(MPI_WCHAR, 0x3c, wchar_t, NO_ELEMENT),
    BASIC(MPI_INT8_T, 0x40, int8_t, INT8),
    BASIC(MPI_UINT8_T, 0x41, uint8_t, UINT8),
    BASIC(MPI_CHAR, 0x43, char, NO_ELEMENT),
    BASIC(MPI_SIGNED_CHAR, 0x44, signed char, INT8),
    BASIC(MPI_UNSIGNED_CHAR, 0x45, unsigned char, UINT8),
    BASIC(MPI_BYTE, 0x47, char, BYTES),
    BASIC(MPI_INT16_T, 0x48, int16_t, INT16),
    BASIC(MPI_UINT16_T, 0x49, uint16_t, UINT16),
    BASIC(MPI_INT32_T, 0x50, int32_t, INT32),
    BASIC(MPI_UINT32_T, 0x51, uint32_t, UINT32),
    BASIC(MPI_INT64_T, 0x58, int64_t, INT64),
    BASIC(MPI_UINT64_T, 0x59, uint64_t, UINT64),
};
