/* What the tests of MPI have in common: they print lines that are the same with every library, in
 * any order, and compile with any mpi.h. */
#ifndef NARTHEX_TESTS_MPI_TEST_H
#define NARTHEX_TESTS_MPI_TEST_H

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

/* Prints a line of this rank. */
static void say(const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    printf("rank %d: %s\n", rank, line);
}

/* A number that stands for bytes. */
static inline unsigned digest(const void *data, size_t bytes) {
    const unsigned char *next = data;
    uint32_t value = 2166136261u;
    for (; bytes > 0; bytes--)
        value = (value ^ *next++) * 16777619u;
    return value;
}

/* Fills with numbers that depend on a key. */
static inline void fill(int *values, int count, int key) {
    for (int index = 0; index < count; index++)
        values[index] = key * 1000 + index % 997;
}

static inline void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

#endif
