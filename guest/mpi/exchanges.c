#include "mpi/exchanges.h"

int find_exchange(struct exchange *exchange) {
    FIND_COMMUNICATOR_IN(exchange->function, comm, exchange->handle);
    CHECK_ROOT_IN(exchange->function, exchange->root);
    exchange->comm = comm;
    return MPI_SUCCESS;
}

/* Checks blocks of so many ranks, and finds their type. */
static int find_blocks(const struct exchange *exchange, const struct blocks *blocks, int ranks,
                       struct datatype **found) {
    struct communicator *comm = exchange->comm;
    const char *function = exchange->function;
    FIND_DATATYPE_IN(function, type, blocks->datatype);
    int most = blocks->counts ? 0 : blocks->count;
    for (int rank = 0; blocks->counts && rank < ranks; rank++) {
        CHECK_COUNT_IN(function, blocks->counts[rank]);
        most = blocks->counts[rank] > most ? blocks->counts[rank] : most;
    }
    CHECK_COUNT_IN(function, most);
    CHECK_BUFFER_IN(function, blocks->buffer, most, type);
    *found = type;
    return MPI_SUCCESS;
}

int find_send_blocks(struct exchange *exchange, int ranks) {
    exchange->is_in_place = exchange->send.buffer == MPI_IN_PLACE;
    if (exchange->is_in_place)
        return MPI_SUCCESS;
    return find_blocks(exchange, &exchange->send, ranks, &exchange->send_type);
}

int find_receive_blocks(struct exchange *exchange, int ranks) {
    if (exchange->receive.buffer == MPI_IN_PLACE) {
        exchange->is_in_place = true;
        return MPI_SUCCESS;
    }
    return find_blocks(exchange, &exchange->receive, ranks, &exchange->receive_type);
}

struct elements block_of(const struct blocks *blocks, struct datatype *type, int rank) {
    int count = blocks->counts ? blocks->counts[rank] : blocks->count;
    intptr_t place = blocks->displacements ? blocks->displacements[rank] : (intptr_t)rank * count;
    return elements((char *)blocks->buffer + place * type->extent, (size_t)count, type);
}
