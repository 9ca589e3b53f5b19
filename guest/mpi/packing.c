/* Packing: elements to bytes that stand one behind the other, and back. */
#include <limits.h>
#include <stdlib.h>

#include "mpi/datatypes.h"
#include "mpi/errors.h"

void pack(char *packed, const void *buffer, size_t count, const struct datatype *type) {
    if (type->is_contiguous) {
        copy_block(packed, buffer, count * type->size);
        return;
    }
    for (const char *element = buffer; count > 0; count--, element += type->extent)
        for (const struct run *run = type->run; run != type->run + type->runs; run++) {
            const char *block = element + run->displacement;
            for (size_t left = run->repeats; left > 0; left--, block += run->stride) {
                copy_block(packed, block, run->bytes);
                packed += run->bytes;
            }
        }
}

/* Unpacks an element, or its beginning; returns the bytes that it took. */
static size_t unpack_element(const char *packed, size_t bytes, char *element,
                             const struct datatype *type) {
    size_t done = 0;
    for (const struct run *run = type->run; run != type->run + type->runs; run++) {
        char *block = element + run->displacement;
        for (size_t left = run->repeats; left > 0 && done < bytes; left--, block += run->stride) {
            size_t part = bytes - done < run->bytes ? bytes - done : run->bytes;
            copy_block(block, packed + done, part);
            done += part;
        }
    }
    return done;
}

void unpack(const char *packed, size_t bytes, void *buffer, const struct datatype *type) {
    if (type->is_contiguous) {
        copy_block(buffer, packed, bytes);
        return;
    }
    for (char *element = buffer; bytes > 0; element += type->extent) {
        size_t done = unpack_element(packed, bytes, element, type);
        packed += done;
        bytes -= done;
    }
}

/* The ends may overlap. */
static void move_block(void *to, const void *from, size_t bytes) {
    uintptr_t target = (uintptr_t)to, source = (uintptr_t)from;
    if (target + bytes <= source || source + bytes <= target)
        copy_block(to, from, bytes);
    else
        memmove(to, from, bytes);
}

void copy_elements(const void *from, size_t from_count, const struct datatype *from_type, void *to,
                   size_t to_count, const struct datatype *to_type) {
    size_t bytes = from_count * from_type->size, room = to_count * to_type->size;
    size_t moved = bytes < room ? bytes : room;
    if (from_type->is_contiguous && to_type->is_contiguous) {
        move_block(to, from, moved);
    } else if (from_type->is_contiguous) {
        unpack(from, moved, to, to_type);
    } else {
        char *packed = mpi_allocate(bytes);
        pack(packed, from, from_count, from_type);
        unpack(packed, moved, to, to_type);
        free(packed);
    }
}

void *allocate_elements(size_t count, const struct datatype *type, void **memory) {
    intptr_t span = type->true_extent;
    if (count > 1)
        span += (intptr_t)(count - 1) * (type->extent < 0 ? -type->extent : type->extent);
    *memory = mpi_allocate((size_t)span);
    return (char *)*memory - type->true_lower_bound;
}

int PMPI_Pack(const void *buffer, int count, MPI_Datatype datatype, void *packed, int packed_size,
              int *position, MPI_Comm handle) {
    FIND_COMMUNICATOR(comm, handle);
    CHECK_COUNT(count);
    FIND_DATATYPE(type, datatype);
    size_t bytes = (size_t)count * type->size;
    CHECK(*position >= 0 && bytes <= (size_t)packed_size - (size_t)*position, MPI_ERR_ARG,
          "%zu bytes from position %d on do not fit into %d", bytes, *position, packed_size);
    pack((char *)packed + *position, buffer, (size_t)count, type);
    *position += (int)bytes;
    return MPI_SUCCESS;
}
MPI_NAME(Pack);

int PMPI_Unpack(const void *packed, int packed_size, int *position, void *buffer, int count,
                MPI_Datatype datatype, MPI_Comm handle) {
    FIND_COMMUNICATOR(comm, handle);
    CHECK_COUNT(count);
    FIND_DATATYPE(type, datatype);
    size_t bytes = (size_t)count * type->size;
    CHECK(*position >= 0 && bytes <= (size_t)packed_size - (size_t)*position, MPI_ERR_TRUNCATE,
          "%zu bytes are wanted from position %d on, of %d", bytes, *position, packed_size);
    unpack((const char *)packed + *position, bytes, buffer, type);
    *position += (int)bytes;
    return MPI_SUCCESS;
}
MPI_NAME(Unpack);

int PMPI_Pack_size(int count, MPI_Datatype datatype, MPI_Comm handle, int *size) {
    FIND_COMMUNICATOR(comm, handle);
    CHECK_COUNT(count);
    FIND_DATATYPE(type, datatype);
    size_t bytes = (size_t)count * type->size;
    *size = bytes <= INT_MAX ? (int)bytes : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_NAME(Pack_size);
