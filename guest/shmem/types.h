/* The one table of OpenSHMEM's types, from which all typed and generic names are made (OpenSHMEM
 * 1.5, Tables 5 to 10).
 *
 * A row has a C type, its name in functions, and for each class of functions 1 if it has them:
 *
 *     own       a C type of its own, not another name of one: it can be told by _Generic
 *     extended  atomic fetch, set and swap
 *     standard  all other atomics that count
 *     bitwise   atomic and, or, xor
 *     wait      wait_until and test
 *     bits      reductions by and, or, xor
 *
 * All types have puts, gets, collectives and reductions by sum, prod, min and max.
 * SHMEM_TYPES(EACH, FAMILY) expands EACH(FAMILY, type, name, own, extended, standard, bitwise,
 * wait, bits) for each row. */
#ifndef NARTHEX_SHMEM_TYPES_H
#define NARTHEX_SHMEM_TYPES_H

/* clang-format off */
#define SHMEM_TYPES(EACH, FAMILY)                                                  \
    EACH(FAMILY, float,              float,      1, 1, 0, 0, 0, 0)                 \
    EACH(FAMILY, double,             double,     1, 1, 0, 0, 0, 0)                 \
    EACH(FAMILY, long double,        longdouble, 1, 0, 0, 0, 0, 0)                 \
    EACH(FAMILY, char,               char,       1, 0, 0, 0, 0, 0)                 \
    EACH(FAMILY, signed char,        schar,      1, 0, 0, 0, 0, 0)                 \
    EACH(FAMILY, short,              short,      1, 0, 0, 0, 1, 0)                 \
    EACH(FAMILY, int,                int,        1, 1, 1, 0, 1, 0)                 \
    EACH(FAMILY, long,               long,       1, 1, 1, 0, 1, 0)                 \
    EACH(FAMILY, long long,          longlong,   1, 1, 1, 0, 1, 0)                 \
    EACH(FAMILY, unsigned char,      uchar,      1, 0, 0, 0, 0, 1)                 \
    EACH(FAMILY, unsigned short,     ushort,     1, 0, 0, 0, 1, 1)                 \
    EACH(FAMILY, unsigned int,       uint,       1, 1, 1, 1, 1, 1)                 \
    EACH(FAMILY, unsigned long,      ulong,      1, 1, 1, 1, 1, 1)                 \
    EACH(FAMILY, unsigned long long, ulonglong,  1, 1, 1, 1, 1, 1)                 \
    EACH(FAMILY, int8_t,             int8,       0, 0, 0, 0, 0, 1)                 \
    EACH(FAMILY, int16_t,            int16,      0, 0, 0, 0, 0, 1)                 \
    EACH(FAMILY, int32_t,            int32,      0, 1, 1, 1, 1, 1)                 \
    EACH(FAMILY, int64_t,            int64,      0, 1, 1, 1, 1, 1)                 \
    EACH(FAMILY, uint8_t,            uint8,      0, 0, 0, 0, 0, 1)                 \
    EACH(FAMILY, uint16_t,           uint16,     0, 0, 0, 0, 0, 1)                 \
    EACH(FAMILY, uint32_t,           uint32,     0, 1, 1, 1, 1, 1)                 \
    EACH(FAMILY, uint64_t,           uint64,     0, 1, 1, 1, 1, 1)                 \
    EACH(FAMILY, size_t,             size,       0, 1, 1, 0, 1, 1)                 \
    EACH(FAMILY, ptrdiff_t,          ptrdiff,    0, 1, 1, 0, 1, 0)

/* Names that end in a number of bits, and the bytes of an element. */
#define SHMEM_SIZES(EACH, FAMILY)                                                  \
    EACH(FAMILY, 8, 1)                                                             \
    EACH(FAMILY, 16, 2)                                                            \
    EACH(FAMILY, 32, 4)                                                            \
    EACH(FAMILY, 64, 8)                                                            \
    EACH(FAMILY, 128, 16)

/* Reductions over active sets have types and names of their own (deprecated since 1.5). */
#define SHMEM_ACTIVE_SET_TYPES(EACH, FAMILY)                                       \
    EACH(FAMILY, short,       short,      1)                                       \
    EACH(FAMILY, int,         int,        1)                                       \
    EACH(FAMILY, long,        long,       1)                                       \
    EACH(FAMILY, long long,   longlong,   1)                                       \
    EACH(FAMILY, float,       float,      0)                                       \
    EACH(FAMILY, double,      double,     0)                                       \
    EACH(FAMILY, long double, longdouble, 0)
/* clang-format on */

/* SHMEM_ONLY_ followed by a row's 0 or 1: the text, or nothing. */
#define SHMEM_ONLY_0(...)
#define SHMEM_ONLY_1(...) __VA_ARGS__

#endif
