/* Types of other types. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/errors.h"
#include "mpi/type_building.h"

void release_datatype(struct datatype *type) {
    if (type->name || --type->references > 0)
        return;
    type->mark = 0;
    free(type->run);
    free(type);
}

int mpi_error_datatype(struct communicator *comm, MPI_Datatype handle, const char *function) {
    const struct datatype *type = find_datatype(handle);
    if (type)
        return mpi_error(comm, MPI_ERR_TYPE, function,
                         "the datatype has not been committed (MPI_Type_commit)");
    return mpi_error(comm, MPI_ERR_TYPE, function, "the datatype is %s",
                     handle == MPI_DATATYPE_NULL
                         ? "MPI_DATATYPE_NULL"
                         : "none: it has been freed, was never set, or is another header's");
}

#define FIND_OLD(type, handle)                                                                     \
    struct communicator *comm = NULL;                                                              \
    CHECK_ACTIVE();                                                                                \
    struct datatype *type = find_datatype(handle);                                                 \
    if (!type)                                                                                     \
    return mpi_error_datatype(comm, handle, FUNCTION)

int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype) {
    FIND_OLD(old, oldtype);
    CHECK_COUNT(count);
    struct building building = begin_type();
    add_elements(&building, old, (size_t)count, 0);
    *newtype = finish_type(&building);
    return MPI_SUCCESS;
}
MPI_NAME(Type_contiguous);

static MPI_Datatype vector_of(const struct datatype *old, int count, int blocklength,
                              MPI_Aint stride) {
    struct building building = begin_type();
    for (int block = 0; block < count; block++)
        add_elements(&building, old, (size_t)blocklength, block * stride);
    return finish_type(&building);
}

int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                     MPI_Datatype *newtype) {
    FIND_OLD(old, oldtype);
    CHECK_COUNT(count);
    CHECK(blocklength >= 0, MPI_ERR_ARG, "the length of a block is %d", blocklength);
    *newtype = vector_of(old, count, blocklength, stride * old->extent);
    return MPI_SUCCESS;
}
MPI_NAME(Type_vector);

int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype,
                             MPI_Datatype *newtype) {
    FIND_OLD(old, oldtype);
    CHECK_COUNT(count);
    CHECK(blocklength >= 0, MPI_ERR_ARG, "the length of a block is %d", blocklength);
    *newtype = vector_of(old, count, blocklength, stride);
    return MPI_SUCCESS;
}
MPI_NAME(Type_create_hvector);

/* Blocks of the lengths at `lengths`, or all of the one there; of one type of `types`, or all of
 * the one there; at displacements in bytes, or in elements. */
struct blocks {
    int count;
    const int *lengths;
    bool has_lengths;
    const MPI_Aint *displacements;
    const int *places; /* in elements, where there are no displacements */
    const MPI_Datatype *types;
    bool has_types;
};

static int build(const struct blocks *blocks, MPI_Datatype *newtype, const char *function) {
    struct communicator *comm = NULL;
    if (blocks->count < 0)
        return mpi_error(comm, MPI_ERR_COUNT, function, "the count is %d", blocks->count);
    struct building building = begin_type();
    building.is_structure = blocks->has_types;
    for (int block = 0; block < blocks->count; block++) {
        MPI_Datatype handle = blocks->types[blocks->has_types ? block : 0];
        const struct datatype *old = find_datatype(handle);
        int length = blocks->lengths[blocks->has_lengths ? block : 0];
        if (!old)
            return mpi_error_datatype(comm, handle, function);
        if (length < 0)
            return mpi_error(comm, MPI_ERR_ARG, function, "the length of block %d is %d", block,
                             length);
        intptr_t displacement = blocks->displacements ? blocks->displacements[block]
                                                      : blocks->places[block] * old->extent;
        add_elements(&building, old, (size_t)length, displacement);
    }
    *newtype = finish_type(&building);
    return MPI_SUCCESS;
}

int PMPI_Type_indexed(int count, const int blocklengths[], const int displacements[],
                      MPI_Datatype oldtype, MPI_Datatype *newtype) {
    CHECK_ACTIVE();
    return build(&(struct blocks){count, blocklengths, true, NULL, displacements, &oldtype, false},
                 newtype, FUNCTION);
}
MPI_NAME(Type_indexed);

int PMPI_Type_create_hindexed(int count, const int blocklengths[], const MPI_Aint displacements[],
                              MPI_Datatype oldtype, MPI_Datatype *newtype) {
    CHECK_ACTIVE();
    return build(&(struct blocks){count, blocklengths, true, displacements, NULL, &oldtype, false},
                 newtype, FUNCTION);
}
MPI_NAME(Type_create_hindexed);

int PMPI_Type_create_indexed_block(int count, int blocklength, const int displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype *newtype) {
    CHECK_ACTIVE();
    return build(&(struct blocks){count, &blocklength, false, NULL, displacements, &oldtype, false},
                 newtype, FUNCTION);
}
MPI_NAME(Type_create_indexed_block);

int PMPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint displacements[],
                                    MPI_Datatype oldtype, MPI_Datatype *newtype) {
    CHECK_ACTIVE();
    return build(&(struct blocks){count, &blocklength, false, displacements, NULL, &oldtype, false},
                 newtype, FUNCTION);
}
MPI_NAME(Type_create_hindexed_block);

int PMPI_Type_create_struct(int count, const int blocklengths[], const MPI_Aint displacements[],
                            const MPI_Datatype types[], MPI_Datatype *newtype) {
    CHECK_ACTIVE();
    return build(&(struct blocks){count, blocklengths, true, displacements, NULL, types, true},
                 newtype, FUNCTION);
}
MPI_NAME(Type_create_struct);

/* A type of the same data and other bounds. */
static struct datatype *resize(const struct datatype *old, intptr_t lower_bound, intptr_t extent) {
    struct building building = begin_type();
    add_elements(&building, old, 1, 0);
    struct datatype *type = (struct datatype *)finish_type(&building);
    type->element = old->element;
    set_bounds(type, lower_bound, extent);
    return type;
}

int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lower_bound, MPI_Aint extent,
                             MPI_Datatype *newtype) {
    FIND_OLD(old, oldtype);
    *newtype = (MPI_Datatype)resize(old, lower_bound, extent);
    return MPI_SUCCESS;
}
MPI_NAME(Type_create_resized);

int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype) {
    FIND_OLD(old, oldtype);
    struct datatype *type = resize(old, old->lower_bound, old->extent);
    type->is_committed = old->is_committed;
    *newtype = (MPI_Datatype)type;
    return MPI_SUCCESS;
}
MPI_NAME(Type_dup);

/* Adds a dimension of a subarray: `count` elements of what was built so far, from `start` on of
 * `size`, which then are the extent. */
static MPI_Datatype add_dimension(const struct datatype *old, int size, int count, int start) {
    struct building building = begin_type();
    add_elements(&building, old, (size_t)count, start * old->extent);
    struct datatype *type = (struct datatype *)finish_type(&building);
    set_bounds(type, 0, size * old->extent);
    return (MPI_Datatype)type;
}

int PMPI_Type_create_subarray(int dimensions, const int sizes[], const int subsizes[],
                              const int starts[], int order, MPI_Datatype oldtype,
                              MPI_Datatype *newtype) {
    FIND_OLD(old, oldtype);
    CHECK(dimensions > 0, MPI_ERR_ARG, "the array has %d dimensions", dimensions);
    CHECK(order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN, MPI_ERR_ARG, "the order is %d",
          order);
    for (int dimension = 0; dimension < dimensions; dimension++) {
        int size = sizes[dimension], count = subsizes[dimension], start = starts[dimension];
        CHECK(count > 0 && start >= 0 && count <= size - start, MPI_ERR_ARG,
              "%d elements from %d on are none of dimension %d, which has %d", count, start,
              dimension, size);
    }
    MPI_Datatype made = NULL;
    for (int step = 0; step < dimensions; step++) {
        int dimension = order == MPI_ORDER_C ? dimensions - 1 - step : step;
        MPI_Datatype before = made;
        made = add_dimension(before ? find_datatype(before) : old, sizes[dimension],
                             subsizes[dimension], starts[dimension]);
        if (before)
            release_datatype((struct datatype *)before);
    }
    *newtype = made;
    return MPI_SUCCESS;
}
MPI_NAME(Type_create_subarray);

int PMPI_Type_commit(MPI_Datatype *datatype) {
    FIND_OLD(type, *datatype);
    if (!type->name)
        type->is_committed = true;
    return MPI_SUCCESS;
}
MPI_NAME(Type_commit);

int PMPI_Type_free(MPI_Datatype *datatype) {
    FIND_OLD(type, *datatype);
    CHECK(!type->name, MPI_ERR_TYPE, "%s cannot be freed", type->name);
    release_datatype(type);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
MPI_NAME(Type_free);

int PMPI_Type_size(MPI_Datatype datatype, int *size) {
    FIND_OLD(type, datatype);
    *size = type->size <= INT_MAX ? (int)type->size : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_NAME(Type_size);

int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lower_bound, MPI_Aint *extent) {
    FIND_OLD(type, datatype);
    *lower_bound = type->lower_bound;
    *extent = type->extent;
    return MPI_SUCCESS;
}
MPI_NAME(Type_get_extent);

int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *lower_bound, MPI_Aint *extent) {
    FIND_OLD(type, datatype);
    *lower_bound = type->true_lower_bound;
    *extent = type->true_extent;
    return MPI_SUCCESS;
}
MPI_NAME(Type_get_true_extent);

int PMPI_Get_address(const void *location, MPI_Aint *address) {
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}
MPI_NAME(Get_address);

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint displacement) {
    return base + displacement;
}
MPI_NAME(Aint_add);

MPI_Aint PMPI_Aint_diff(MPI_Aint address1, MPI_Aint address2) {
    return address1 - address2;
}
MPI_NAME(Aint_diff);
