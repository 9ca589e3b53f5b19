/* All-to-all.
 *
 * Short blocks of many ranks: in step r all blocks whose distance has bit r travel 2^r ranks at
 * once, packed (Bruck et al.). Others go straight, a few pairs of ranks at a time. */
#include "mpi/exchanges.h"

enum { BRUCK_BYTES = 256, BRUCK_RANKS = 8, PAIRS_AT_A_TIME = 8 };

static struct elements sent_to(const struct exchange *exchange, int rank) {
    return block_of(&exchange->send, exchange->send_type, rank);
}

static struct elements received_from(const struct exchange *exchange, int rank) {
    return block_of(&exchange->receive, exchange->receive_type, rank);
}

static void add_pairs(struct schedule *schedule, const struct exchange *exchange) {
    int size = exchange->comm->size, rank = exchange->comm->rank;
    step_copy(schedule, sent_to(exchange, rank), received_from(exchange, rank));
    for (int distance = 1; distance < size; distance++) {
        int to = (rank + distance) % size, from = (rank - distance + size) % size;
        step_receive(schedule, from, received_from(exchange, from));
        step_send(schedule, to, sent_to(exchange, to));
        if (distance % PAIRS_AT_A_TIME == 0)
            step_fence(schedule);
    }
}

/* Packs or unpacks the blocks whose distance has a bit; returns their bytes. */
static size_t add_packing(struct schedule *schedule, struct elements blocks, int size, int bit,
                          char *packed, bool packs) {
    size_t bytes = blocks.count, moved = 0;
    for (int distance = bit; distance < size; distance++) {
        if (!(distance & bit))
            continue;
        struct elements block =
            elements((char *)blocks.buffer + (size_t)distance * bytes, bytes, blocks.type);
        struct elements place = elements(packed + moved, bytes, blocks.type);
        step_copy(schedule, packs ? block : place, packs ? place : block);
        moved += bytes;
    }
    return moved;
}

static void add_bruck(struct schedule *schedule, const struct exchange *exchange, size_t bytes) {
    int size = exchange->comm->size, rank = exchange->comm->rank;
    struct datatype *byte = find_datatype(MPI_BYTE);
    size_t all = (size_t)size * bytes;
    char *memory = step_memory(schedule, 3 * all, byte);
    char *out = memory + all, *in = memory + 2 * all;
    struct elements blocks = elements(memory, bytes, byte);
    for (int distance = 0; distance < size; distance++)
        step_copy(schedule, sent_to(exchange, (rank + distance) % size),
                  elements(memory + (size_t)distance * bytes, bytes, byte));
    for (int bit = 1; bit < size; bit *= 2) {
        size_t moved = add_packing(schedule, blocks, size, bit, out, true);
        step_receive(schedule, (rank - bit + size) % size, elements(in, moved, byte));
        step_send(schedule, (rank + bit) % size, elements(out, moved, byte));
        step_fence(schedule);
        add_packing(schedule, blocks, size, bit, in, false);
    }
    for (int distance = 0; distance < size; distance++)
        step_copy(schedule, elements(memory + (size_t)distance * bytes, bytes, byte),
                  received_from(exchange, (rank - distance + size) % size));
}

/* What is sent in place is copied first, block by block, to where blocks are sent from. */
static void copy_in_place(struct schedule *schedule, struct exchange *exchange) {
    int size = exchange->comm->size;
    struct datatype *type = exchange->receive_type;
    size_t elements_in_all = 0;
    for (int rank = 0; rank < size; rank++) {
        struct elements block = received_from(exchange, rank);
        size_t end = (size_t)(((char *)block.buffer - (char *)exchange->receive.buffer) /
                              (type->extent ? type->extent : 1)) +
                     block.count;
        elements_in_all = end > elements_in_all ? end : elements_in_all;
    }
    exchange->send = exchange->receive;
    exchange->send_type = type;
    exchange->send.buffer = step_memory(schedule, elements_in_all, type);
    for (int rank = 0; rank < size; rank++)
        step_copy(schedule, received_from(exchange, rank), sent_to(exchange, rank));
}

static int all_to_all(struct exchange *exchange, enum collective kind) {
    int error = find_exchange(exchange);
    if (!error)
        error = find_send_blocks(exchange, exchange->comm->size);
    if (!error)
        error = find_receive_blocks(exchange, exchange->comm->size);
    if (error)
        return error;
    struct communicator *comm = exchange->comm;
    struct schedule *schedule = begin_collective(comm, kind, 0, exchange->function);
    if (exchange->is_in_place)
        copy_in_place(schedule, exchange);
    size_t bytes = (size_t)exchange->receive.count * exchange->receive_type->size;
    if (kind == ALLTOALL && comm->size >= BRUCK_RANKS && bytes <= BRUCK_BYTES)
        add_bruck(schedule, exchange, bytes);
    else
        add_pairs(schedule, exchange);
    return finish_schedule(schedule, exchange->request);
}

int PMPI_Alltoall(ONE_LENGTH_PARAMETERS, MPI_Comm comm) {
    return all_to_all(&(struct exchange){ONE_LENGTH}, ALLTOALL);
}
MPI_NAME(Alltoall);

int PMPI_Ialltoall(ONE_LENGTH_PARAMETERS, MPI_Comm comm, MPI_Request *request) {
    return all_to_all(&(struct exchange){ONE_LENGTH, .request = request}, ALLTOALL);
}
MPI_NAME(Ialltoall);

#define V_ARGUMENTS                                                                                \
    const void *send, const int send_counts[], const int send_displacements[],                     \
        MPI_Datatype send_type, void *receive, const int receive_counts[],                         \
        const int receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm
#define LENGTHS                                                                                    \
    SEND_BLOCKS(0, send_counts, send_displacements, send_type),                                    \
        RECEIVE_BLOCKS(0, receive_counts, receive_displacements, receive_type), .handle = comm,    \
        .function = FUNCTION

int PMPI_Alltoallv(V_ARGUMENTS) {
    return all_to_all(&(struct exchange){LENGTHS}, ALLTOALLV);
}
MPI_NAME(Alltoallv);

int PMPI_Ialltoallv(V_ARGUMENTS, MPI_Request *request) {
    return all_to_all(&(struct exchange){LENGTHS, .request = request}, ALLTOALLV);
}
MPI_NAME(Ialltoallv);
