/* Datatypes: where the data of an element lie.
 *
 * A type is a list of runs: a run is `repeats` blocks of `bytes` bytes, `stride` bytes apart. A
 * vector of a contiguous type is one run however long it is; a type of such types has the runs of
 * each. Elements follow each other at `extent`. */
#ifndef NARTHEX_MPI_DATATYPES_H
#define NARTHEX_MPI_DATATYPES_H

#include <string.h>

#include "messaging/copy.h"
#include "mpi/library.h"

struct run {
    intptr_t displacement; /* of the first block, from the element's address */
    size_t bytes;          /* of a block */
    size_t repeats;
    intptr_t stride; /* from block to block */
};

/* What operations do with a basic type. */
enum element {
    NO_ELEMENT,
    INT8,
    UINT8,
    INT16,
    UINT16,
    INT32,
    UINT32,
    INT64,
    UINT64,
    FLOAT,
    DOUBLE,
    LONG_DOUBLE,
    FLOAT_COMPLEX,
    DOUBLE_COMPLEX,
    LONG_DOUBLE_COMPLEX,
    BOOLEAN,
    BYTES,
    PAIR_FLOAT,
    PAIR_DOUBLE,
    PAIR_LONG,
    PAIR_INT,
    PAIR_SHORT,
    PAIR_LONG_DOUBLE,
    ELEMENTS
};

struct datatype {
    uint32_t mark; /* DATATYPE_MARK while it is one */
    uint8_t element;
    bool is_contiguous; /* one block without padding, at the element's address */
    bool is_committed;
    uint8_t alignment;                      /* to which structures pad their ends */
    size_t size;                            /* bytes of data */
    intptr_t lower_bound, extent;           /* in bytes */
    intptr_t true_lower_bound, true_extent; /* without padding */
    size_t runs;
    struct run *run;
    int references;
    const char *name; /* of a basic type */
};

enum { DATATYPE_MARK = 0x74797065 };

/* The basic types, by the handle's place behind MPI_DATATYPE_NULL. */
enum { BASIC_TYPES = 0x5a };
extern const struct datatype basic_types[BASIC_TYPES];

/* The type of a handle; NULL if it is none. */
static inline struct datatype *find_datatype(MPI_Datatype handle) {
    uintptr_t place = (uintptr_t)handle - (uintptr_t)MPI_DATATYPE_NULL;
    if (place < BASIC_TYPES)
        return basic_types[place].mark ? (struct datatype *)&basic_types[place] : NULL;
    struct datatype *type = (struct datatype *)handle;
    return !is_constant(handle) && (uintptr_t)handle >> 24 != 0x4c && type->mark == DATATYPE_MARK
               ? type
               : NULL;
}

/* The same, for callers that look whether it is committed: the constants that are none are not. */
static inline const struct datatype *look_up_datatype(MPI_Datatype handle) {
    uintptr_t place = (uintptr_t)handle - (uintptr_t)MPI_DATATYPE_NULL;
    return place < BASIC_TYPES ? &basic_types[place] : find_datatype(handle);
}

/* Keeps a type until what uses it is over, although its program frees it. */
static inline void retain_datatype(struct datatype *type) {
    if (!type->name)
        type->references += 1;
}
void release_datatype(struct datatype *type);

/* Copies a block of memory by doublewords, where both ends are aligned: C libraries' memcpy may do
 * it byte by byte. */
static inline void copy_block(void *to, const void *from, size_t bytes) {
    const size_t each = 4 * sizeof(doubleword);
    if (((uintptr_t)to | (uintptr_t)from) % sizeof(doubleword) != 0) {
        memcpy(to, from, bytes);
        return;
    }
    const doubleword *source = (const doubleword *)from;
    volatile doubleword *target = (volatile doubleword *)to; /* so that it stays a loop */
    for (; bytes >= each; bytes -= each, source += 4, target += 4) {
        doubleword first = source[0], second = source[1], third = source[2], fourth = source[3];
        target[0] = first;
        target[1] = second;
        target[2] = third;
        target[3] = fourth;
    }
    for (; bytes >= sizeof(doubleword); bytes -= sizeof(doubleword))
        *target++ = *source++;
    copy((void *)(uintptr_t)target, source, bytes);
}

/* Copies elements to or from where they stand one behind the other without padding. Unpacking ends
 * after so many bytes. */
void pack(char *packed, const void *buffer, size_t count, const struct datatype *type);
void unpack(const char *packed, size_t bytes, void *buffer, const struct datatype *type);

/* Copies elements of one type to elements of another, up to the shorter's end. */
void copy_elements(const void *from, size_t from_count, const struct datatype *from_type, void *to,
                   size_t to_count, const struct datatype *to_type);

/* The address behind `count` elements. */
static inline void *element_at(const void *buffer, size_t count, const struct datatype *type) {
    return (char *)(uintptr_t)buffer + (intptr_t)count * type->extent;
}

/* Memory for `count` elements: the address that stands for their buffer, and what free() takes. */
void *allocate_elements(size_t count, const struct datatype *type, void **memory);

/* The error of a handle that is no committed type's. */
struct communicator;
int mpi_error_datatype(struct communicator *comm, MPI_Datatype handle, const char *function);

#endif
