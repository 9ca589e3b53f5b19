/* Allgather.
 *
 * Short blocks: in step r a rank has 2^r of them and gets as many from the rank 2^r further (Bruck
 * et al.). Long ones, or of several lengths: each rank passes a block on around a ring. */
#include "mpi/exchanges.h"

/* Copies this rank's block to its place. */
static void add_own(struct schedule *schedule, const struct exchange *exchange) {
    int rank = exchange->comm->rank;
    if (!exchange->is_in_place)
        step_copy(schedule, block_of(&exchange->send, exchange->send_type, 0),
                  block_of(&exchange->receive, exchange->receive_type, rank));
}

static void add_ring(struct schedule *schedule, const struct exchange *exchange) {
    int size = exchange->comm->size, rank = exchange->comm->rank;
    int right = (rank + 1) % size, left = (rank - 1 + size) % size;
    for (int step = 0; step < size - 1; step++) {
        int own = (rank - step + size) % size, other = (own - 1 + size) % size;
        step_receive(schedule, left, block_of(&exchange->receive, exchange->receive_type, other));
        step_send(schedule, right, block_of(&exchange->receive, exchange->receive_type, own));
        step_fence(schedule);
    }
}

static void add_doubling(struct schedule *schedule, const struct exchange *exchange, size_t bytes) {
    int size = exchange->comm->size, rank = exchange->comm->rank;
    struct datatype *byte = find_datatype(MPI_BYTE);
    char *memory = step_memory(schedule, (size_t)size * bytes, byte);
    step_copy(schedule, block_of(&exchange->receive, exchange->receive_type, rank),
              elements(memory, bytes, byte));
    for (int have = 1; have < size; have *= 2) {
        size_t moved = (size_t)(have < size - have ? have : size - have) * bytes;
        step_receive(schedule, (rank + have) % size,
                     elements(memory + (size_t)have * bytes, moved, byte));
        step_send(schedule, (rank - have + size) % size, elements(memory, moved, byte));
        step_fence(schedule);
    }
    for (int place = 1; place < size; place++)
        step_copy(schedule, elements(memory + (size_t)place * bytes, bytes, byte),
                  block_of(&exchange->receive, exchange->receive_type, (rank + place) % size));
}

static int allgather(struct exchange *exchange, enum collective kind) {
    int error = find_exchange(exchange);
    if (!error)
        error = find_send_blocks(exchange, 1);
    if (!error)
        error = find_receive_blocks(exchange, exchange->comm->size);
    if (error)
        return error;
    struct communicator *comm = exchange->comm;
    struct schedule *schedule = begin_collective(comm, kind, 0, exchange->function);
    size_t bytes = (size_t)exchange->receive.count * exchange->receive_type->size;
    add_own(schedule, exchange);
    if (kind == ALLGATHERV || is_long(bytes * (size_t)comm->size, comm->size))
        add_ring(schedule, exchange);
    else
        add_doubling(schedule, exchange, bytes);
    return finish_schedule(schedule, exchange->request);
}

int PMPI_Allgather(ONE_LENGTH_PARAMETERS, MPI_Comm comm) {
    return allgather(&(struct exchange){ONE_LENGTH}, ALLGATHER);
}
MPI_NAME(Allgather);

int PMPI_Iallgather(ONE_LENGTH_PARAMETERS, MPI_Comm comm, MPI_Request *request) {
    return allgather(&(struct exchange){ONE_LENGTH, .request = request}, ALLGATHER);
}
MPI_NAME(Iallgather);

int PMPI_Allgatherv(RECEIVED_LENGTHS_PARAMETERS, MPI_Comm comm) {
    return allgather(&(struct exchange){RECEIVED_LENGTHS}, ALLGATHERV);
}
MPI_NAME(Allgatherv);

int PMPI_Iallgatherv(RECEIVED_LENGTHS_PARAMETERS, MPI_Comm comm, MPI_Request *request) {
    return allgather(&(struct exchange){RECEIVED_LENGTHS, .request = request}, ALLGATHERV);
}
MPI_NAME(Iallgatherv);
