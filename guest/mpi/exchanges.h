/* Collectives that move blocks between ranks: their arguments, checked. */
#ifndef NARTHEX_MPI_EXCHANGES_H
#define NARTHEX_MPI_EXCHANGES_H

#include "mpi/collectives.h"

/* What is sent or received: blocks of `count` elements one behind the other, or of as many as
 * `counts` says at `displacements`, in elements. */
struct blocks {
    void *buffer;
    int count;
    const int *counts, *displacements;
    MPI_Datatype datatype;
};

/* The arguments of a call, and what it has found of them. */
struct exchange {
    struct blocks send, receive;
    int root;
    MPI_Comm handle;
    MPI_Request *request; /* NULL where it blocks */
    const char *function;
    struct communicator *comm;
    struct datatype *send_type, *receive_type; /* NULL where the side has no blocks */
    bool is_in_place;                          /* what is sent stands where it is received */
};

#define SEND_BLOCKS(...) .send = {(void *)(uintptr_t)send, __VA_ARGS__}
#define RECEIVE_BLOCKS(...) .receive = {receive, __VA_ARGS__}

/* Parameters of the functions whose blocks have one length, and of those that receive blocks of
 * several; and the exchange that these make. */
#define ONE_LENGTH_PARAMETERS                                                                      \
    const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,    \
        MPI_Datatype receive_type
#define ONE_LENGTH                                                                                 \
    SEND_BLOCKS(send_count, NULL, NULL, send_type),                                                \
        RECEIVE_BLOCKS(receive_count, NULL, NULL, receive_type), .handle = comm,                   \
        .function = FUNCTION
#define RECEIVED_LENGTHS_PARAMETERS                                                                \
    const void *send, int send_count, MPI_Datatype send_type, void *receive,                       \
        const int receive_counts[], const int displacements[], MPI_Datatype receive_type
#define RECEIVED_LENGTHS                                                                           \
    SEND_BLOCKS(send_count, NULL, NULL, send_type),                                                \
        RECEIVE_BLOCKS(0, receive_counts, displacements, receive_type), .handle = comm,            \
        .function = FUNCTION

/* Finds the communicator, and checks the root. */
int find_exchange(struct exchange *exchange);

/* Check a side with blocks of `ranks` ranks. MPI_IN_PLACE is allowed for the first, and for the
 * second where the first is another's. */
int find_send_blocks(struct exchange *exchange, int ranks);
int find_receive_blocks(struct exchange *exchange, int ranks);

/* The elements of a rank's block. */
struct elements block_of(const struct blocks *blocks, struct datatype *type, int rank);

#endif
