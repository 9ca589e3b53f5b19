/* Transfers to and from windows: the origin's side. */
#include <stdlib.h>
#include <string.h>

#include "mpi/transport.h"
#include "mpi/windows.h"

/* One side of a transfer at the target. */
struct target {
    struct window *window;
    int rank;
    intptr_t displacement; /* in the target's units */
    size_t count;
    struct datatype *type;
};

/* The arguments of a call. */
struct transfer {
    const void *origin;
    int origin_count;
    MPI_Datatype origin_type;
    int rank;
    MPI_Aint displacement;
    int target_count;
    MPI_Datatype target_type;
    MPI_Win window;
    const char *function;
};

static int find_target(const struct transfer *transfer, struct target *target,
                       struct datatype **origin_type) {
    const char *function = transfer->function;
    struct window *window = find_window(transfer->window);
    if (mpi_state != ACTIVE)
        return mpi_error_communicator(MPI_COMM_WORLD, function);
    if (!window)
        return mpi_error(NULL, MPI_ERR_WIN, function, "the window is none");
    struct communicator *comm = window->comm;
    FIND_DATATYPE_IN(function, of_origin, transfer->origin_type);
    FIND_DATATYPE_IN(function, of_target, transfer->target_type);
    CHECK_COUNT_IN(function, transfer->origin_count);
    CHECK_COUNT_IN(function, transfer->target_count);
    bool is_rank = (unsigned)transfer->rank < (unsigned)comm->size;
    CHECK_IN(function, is_rank || transfer->rank == MPI_PROC_NULL, MPI_ERR_RANK,
             "the target is rank %d, and ranks are 0 to %d", transfer->rank, comm->size - 1);
    CHECK_IN(function, transfer->displacement >= 0, MPI_ERR_DISP, "the displacement is %lld",
             (long long)transfer->displacement);
    size_t bytes = (size_t)transfer->origin_count * of_origin->size;
    CHECK_IN(function, bytes == (size_t)transfer->target_count * of_target->size, MPI_ERR_COUNT,
             "the origin has %zu bytes, and the target has not as many", bytes);
    *origin_type = of_origin;
    *target = (struct target){window, transfer->rank, transfer->displacement,
                              is_rank ? (size_t)transfer->target_count : 0, of_target};
    return MPI_SUCCESS;
}

/* Sends a message for each part of a block at the target; `result` is where what it answers goes,
 * or NULL. Returns the bytes of the block. */
static size_t send_block(const struct target *target, struct window_header header, intptr_t place,
                         size_t bytes, const char *data, char *result) {
    for (size_t done = 0; done < bytes; done += header.bytes) {
        size_t left = bytes - done;
        header.bytes = (uint32_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
        header.place = (uint64_t)(place + (intptr_t)done);
        header.origin = result ? (uintptr_t)(result + done) : 0;
        send_to_window(target->window, target->rank, header, data ? data + done : NULL,
                       data ? header.bytes : 0);
    }
    return bytes;
}

/* The same for all blocks. Packed data and results stand one block behind the other. */
static void send_blocks(const struct target *target, struct window_header header, const char *data,
                        char *result) {
    const struct datatype *type = target->type;
    intptr_t base = target->displacement * target->window->unit;
    if (type->is_contiguous) {
        send_block(target, header, base, target->count * type->size, data, result);
        return;
    }
    size_t done = 0;
    for (size_t element = 0; element < target->count; element++)
        for (const struct run *run = type->run; run != type->run + type->runs; run++)
            for (size_t block = 0; block < run->repeats; block++)
                done += send_block(target, header,
                                   base + (intptr_t)element * type->extent + run->displacement +
                                       (intptr_t)block * run->stride,
                                   run->bytes, data ? data + done : NULL,
                                   result ? result + done : NULL);
}

/* Sends elements of the origin. */
static void send_origin(const struct target *target, struct window_header header,
                        const void *origin, size_t count, const struct datatype *type,
                        char *result) {
    if (type->is_contiguous) {
        send_blocks(target, header, origin, result);
        return;
    }
    char *packed = mpi_allocate(count * type->size);
    pack(packed, origin, count, type);
    send_blocks(target, header, packed, result);
    free(packed);
}

/* Fetches to elements of the origin; where they stand in one block without waiting. */
static void fetch_to(const struct target *target, struct window_header header, const void *sent,
                     size_t sent_count, const struct datatype *sent_type, void *result,
                     size_t count, const struct datatype *type, const char *function) {
    size_t bytes = count * type->size;
    char *received = type->is_contiguous ? result : mpi_allocate(bytes);
    if (sent)
        send_origin(target, header, sent, sent_count, sent_type, received);
    else
        send_blocks(target, header, NULL, received);
    if (type->is_contiguous || target->count == 0)
        return;
    flush_window(target->window, target->rank, function);
    unpack(received, bytes, result, type);
    free(received);
}

#define TARGET int rank, MPI_Aint displacement, int target_count, MPI_Datatype target_type
#define TRANSFER(buffer, count, datatype)                                                          \
    &(struct transfer){buffer,       count,       datatype, rank,    displacement,                 \
                       target_count, target_type, window,   FUNCTION}

int PMPI_Put(const void *origin, int origin_count, MPI_Datatype origin_type, TARGET,
             MPI_Win window) {
    struct target target;
    struct datatype *type;
    int error = find_target(TRANSFER(origin, origin_count, origin_type), &target, &type);
    if (!error && target.count > 0)
        send_origin(&target, (struct window_header){.kind = PUT}, origin, (size_t)origin_count,
                    type, NULL);
    return error;
}
MPI_NAME(Put);

int PMPI_Get(void *origin, int origin_count, MPI_Datatype origin_type, TARGET, MPI_Win window) {
    struct target target;
    struct datatype *type;
    int error = find_target(TRANSFER(origin, origin_count, origin_type), &target, &type);
    if (!error && target.count > 0)
        fetch_to(&target, (struct window_header){.kind = GET}, NULL, 0, NULL, origin,
                 (size_t)origin_count, type, FUNCTION);
    return error;
}
MPI_NAME(Get);

/* The type, if it is a basic one that an accumulation can have; NULL otherwise. */
static struct datatype *element_type(MPI_Op op, struct datatype *type) {
    bool only_moves = op == MPI_REPLACE || op == MPI_NO_OP;
    struct operation *operation = only_moves ? NULL : find_operation(op);
    bool fits = only_moves || (operation && !operation->function && can_operate(operation, type));
    return type->name && fits ? type : NULL;
}

/* Prepares the header of an accumulation, or returns an error. */
static int find_accumulation(const struct target *target, MPI_Op op, MPI_Datatype handle,
                             struct window_header *header, const char *function) {
    struct communicator *comm = target->window->comm;
    CHECK_IN(function, element_type(op, target->type), MPI_ERR_OP,
             "accumulations take the standard's operations, and one basic type that they take");
    CHECK_IN(function, target->type->is_contiguous, MPI_ERR_TYPE,
             "accumulations do not take types with padding, such as %s", target->type->name);
    header->op = (uintptr_t)op;
    header->datatype = (uintptr_t)handle;
    return MPI_SUCCESS;
}

int PMPI_Accumulate(const void *origin, int origin_count, MPI_Datatype origin_type, TARGET,
                    MPI_Op op, MPI_Win window) {
    struct target target;
    struct datatype *type;
    struct window_header header = {.kind = ACCUMULATE};
    int error = find_target(TRANSFER(origin, origin_count, origin_type), &target, &type);
    if (!error)
        error = find_accumulation(&target, op, target_type, &header, FUNCTION);
    if (!error && target.count > 0)
        send_origin(&target, header, origin, (size_t)origin_count, type, NULL);
    return error;
}
MPI_NAME(Accumulate);

int PMPI_Get_accumulate(const void *origin, int origin_count, MPI_Datatype origin_type,
                        void *result, int result_count, MPI_Datatype result_type, TARGET, MPI_Op op,
                        MPI_Win window) {
    struct target target;
    struct datatype *type, *of_result = find_datatype(result_type);
    struct window_header header = {.kind = GET_ACCUMULATE};
    if (op == MPI_NO_OP) { /* the origin is not looked at: the result's length counts */
        origin = result;
        origin_count = result_count;
        origin_type = result_type;
    }
    int error = find_target(TRANSFER(origin, origin_count, origin_type), &target, &type);
    if (!error)
        error = find_accumulation(&target, op, target_type, &header, FUNCTION);
    if (!error && (!of_result || !of_result->is_committed))
        error = mpi_error_datatype(target.window->comm, result_type, FUNCTION);
    if (!error && target.count > 0)
        fetch_to(&target, header, origin, (size_t)origin_count, type, result, (size_t)result_count,
                 of_result, FUNCTION);
    return error;
}
MPI_NAME(Get_accumulate);

int PMPI_Fetch_and_op(const void *origin, void *result, MPI_Datatype datatype, int rank,
                      MPI_Aint displacement, MPI_Op op, MPI_Win window) {
    return PMPI_Get_accumulate(origin, 1, datatype, result, 1, datatype, rank, displacement, 1,
                               datatype, op, window);
}
MPI_NAME(Fetch_and_op);

int PMPI_Compare_and_swap(const void *origin, const void *compare, void *result,
                          MPI_Datatype datatype, int rank, MPI_Aint displacement, MPI_Win window) {
    enum { target_count = 1, MOST_BYTES = 16 };
    struct target target;
    struct datatype *type;
    MPI_Datatype target_type = datatype;
    int error = find_target(TRANSFER(origin, 1, datatype), &target, &type);
    if (error || target.count == 0)
        return error;
    struct communicator *comm = target.window->comm;
    CHECK(type->name && type->is_contiguous && type->size <= MOST_BYTES, MPI_ERR_TYPE,
          "the type is none that can be compared");
    char both[2 * MOST_BYTES];
    memcpy(both, origin, type->size);
    memcpy(both + type->size, compare, type->size);
    struct window_header header = {.kind = COMPARE,
                                   .bytes = (uint32_t)type->size,
                                   .place = (uint64_t)(target.displacement * target.window->unit),
                                   .origin = (uintptr_t)result};
    send_to_window(target.window, target.rank, header, both, 2 * type->size);
    return MPI_SUCCESS;
}
MPI_NAME(Compare_and_swap);
