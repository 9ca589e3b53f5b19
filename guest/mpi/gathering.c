/* Gather and scatter.
 *
 * Short blocks of the same length go along a binomial tree: a rank handles those of its subtree at
 * once, packed. Others go straight to the root or from it. */
#include "mpi/exchanges.h"

enum { TREE_BYTES = 2048 };

/* The subtree of a rank: its blocks, packed, by place relative to the root. */
struct subtree {
    int place, distance; /* to the parent; half as far to the first child */
    size_t bytes;        /* of a block */
    char *memory;
    struct datatype *byte;
};

static struct subtree subtree_of(struct schedule *schedule, const struct exchange *exchange,
                                 size_t bytes) {
    int size = exchange->comm->size;
    struct subtree tree = {.place = (exchange->comm->rank - exchange->root + size) % size,
                           .distance = 1,
                           .bytes = bytes,
                           .byte = find_datatype(MPI_BYTE)};
    while (tree.distance < size && !(tree.place & tree.distance))
        tree.distance *= 2;
    tree.memory = step_memory(schedule, (size_t)tree.distance * bytes, tree.byte);
    return tree;
}

/* So many blocks, from one of the subtree on; those that there are no ranks for left out. */
static struct elements packed(const struct subtree *tree, int first, int count, int size) {
    int left = size - tree->place - first;
    count = count < left ? count : left;
    return elements(tree->memory + (size_t)first * tree->bytes, (size_t)count * tree->bytes,
                    tree->byte);
}

static int rank_at(const struct exchange *exchange, int place) {
    return (place + exchange->root) % exchange->comm->size;
}

static void gather_by_tree(struct schedule *schedule, const struct exchange *exchange,
                           struct elements own, size_t bytes) {
    struct subtree tree = subtree_of(schedule, exchange, bytes);
    int size = exchange->comm->size;
    step_copy(schedule, own, packed(&tree, 0, 1, size));
    for (int distance = 1; distance < tree.distance && tree.place + distance < size; distance *= 2)
        step_receive(schedule, rank_at(exchange, tree.place + distance),
                     packed(&tree, distance, distance, size));
    step_fence(schedule);
    if (tree.place > 0) {
        step_send(schedule, rank_at(exchange, tree.place - tree.distance),
                  packed(&tree, 0, tree.distance, size));
        return;
    }
    for (int place = exchange->is_in_place; place < size; place++)
        step_copy(schedule, packed(&tree, place, 1, size),
                  block_of(&exchange->receive, exchange->receive_type, rank_at(exchange, place)));
}

static void scatter_by_tree(struct schedule *schedule, const struct exchange *exchange,
                            struct elements own, size_t bytes) {
    struct subtree tree = subtree_of(schedule, exchange, bytes);
    int size = exchange->comm->size;
    if (tree.place > 0) {
        step_receive(schedule, rank_at(exchange, tree.place - tree.distance),
                     packed(&tree, 0, tree.distance, size));
        step_fence(schedule);
    } else {
        for (int place = 0; place < size; place++)
            step_copy(schedule,
                      block_of(&exchange->send, exchange->send_type, rank_at(exchange, place)),
                      packed(&tree, place, 1, size));
    }
    for (int distance = tree.distance / 2; distance > 0; distance /= 2)
        if (tree.place + distance < size)
            step_send(schedule, rank_at(exchange, tree.place + distance),
                      packed(&tree, distance, distance, size));
    if (!exchange->is_in_place)
        step_copy(schedule, packed(&tree, 0, 1, size), own);
}

static void gather_straight(struct schedule *schedule, const struct exchange *exchange,
                            struct elements own) {
    const struct communicator *comm = exchange->comm;
    if (comm->rank != exchange->root) {
        step_send(schedule, exchange->root, own);
        return;
    }
    for (int rank = 0; rank < comm->size; rank++) {
        struct elements block = block_of(&exchange->receive, exchange->receive_type, rank);
        if (rank != comm->rank)
            step_receive(schedule, rank, block);
        else if (!exchange->is_in_place)
            step_copy(schedule, own, block);
    }
}

static void scatter_straight(struct schedule *schedule, const struct exchange *exchange,
                             struct elements own) {
    const struct communicator *comm = exchange->comm;
    if (comm->rank != exchange->root) {
        step_receive(schedule, exchange->root, own);
        return;
    }
    for (int rank = 0; rank < comm->size; rank++) {
        struct elements block = block_of(&exchange->send, exchange->send_type, rank);
        if (rank != comm->rank)
            step_send(schedule, rank, block);
        else if (!exchange->is_in_place)
            step_copy(schedule, block, own);
    }
}

static int gather(struct exchange *exchange, enum collective kind) {
    int error = find_exchange(exchange);
    bool is_root = !error && exchange->comm->rank == exchange->root;
    if (!error)
        error = find_send_blocks(exchange, 1);
    if (!error && is_root)
        error = find_receive_blocks(exchange, exchange->comm->size);
    if (error)
        return error;
    struct communicator *comm = exchange->comm;
    CHECK_IN(exchange->function, is_root || !exchange->is_in_place, MPI_ERR_BUFFER,
             "MPI_IN_PLACE is for the root");
    struct schedule *schedule = begin_collective(comm, kind, exchange->root, exchange->function);
    struct elements own = exchange->is_in_place
                              ? block_of(&exchange->receive, exchange->receive_type, comm->rank)
                              : block_of(&exchange->send, exchange->send_type, 0);
    size_t bytes = own.count * own.type->size;
    if (kind == GATHER && bytes > 0 && bytes <= TREE_BYTES)
        gather_by_tree(schedule, exchange, own, bytes);
    else
        gather_straight(schedule, exchange, own);
    return finish_schedule(schedule, exchange->request);
}

static int scatter(struct exchange *exchange, enum collective kind) {
    int error = find_exchange(exchange);
    bool is_root = !error && exchange->comm->rank == exchange->root;
    if (!error && is_root)
        error = find_send_blocks(exchange, exchange->comm->size);
    if (!error)
        error = find_receive_blocks(exchange, 1);
    if (error)
        return error;
    struct communicator *comm = exchange->comm;
    CHECK_IN(exchange->function, is_root || !exchange->is_in_place, MPI_ERR_BUFFER,
             "MPI_IN_PLACE is for the root");
    struct schedule *schedule = begin_collective(comm, kind, exchange->root, exchange->function);
    struct elements own = exchange->is_in_place
                              ? block_of(&exchange->send, exchange->send_type, comm->rank)
                              : block_of(&exchange->receive, exchange->receive_type, 0);
    size_t bytes = own.count * own.type->size;
    if (kind == SCATTER && bytes > 0 && bytes <= TREE_BYTES)
        scatter_by_tree(schedule, exchange, own, bytes);
    else
        scatter_straight(schedule, exchange, own);
    return finish_schedule(schedule, exchange->request);
}

#define GATHER_ARGUMENTS                                                                           \
    const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,    \
        MPI_Datatype receive_type, int root, MPI_Comm comm
#define SAME_LENGTHS                                                                               \
    SEND_BLOCKS(send_count, NULL, NULL, send_type),                                                \
        RECEIVE_BLOCKS(receive_count, NULL, NULL, receive_type), .root = root, .handle = comm,     \
        .function = FUNCTION

int PMPI_Gather(GATHER_ARGUMENTS) {
    return gather(&(struct exchange){SAME_LENGTHS}, GATHER);
}
MPI_NAME(Gather);

int PMPI_Igather(GATHER_ARGUMENTS, MPI_Request *request) {
    return gather(&(struct exchange){SAME_LENGTHS, .request = request}, GATHER);
}
MPI_NAME(Igather);

int PMPI_Scatter(GATHER_ARGUMENTS) {
    return scatter(&(struct exchange){SAME_LENGTHS}, SCATTER);
}
MPI_NAME(Scatter);

int PMPI_Iscatter(GATHER_ARGUMENTS, MPI_Request *request) {
    return scatter(&(struct exchange){SAME_LENGTHS, .request = request}, SCATTER);
}
MPI_NAME(Iscatter);

#define GATHERV_ARGUMENTS                                                                          \
    const void *send, int send_count, MPI_Datatype send_type, void *receive,                       \
        const int receive_counts[], const int displacements[], MPI_Datatype receive_type,          \
        int root, MPI_Comm comm
#define LENGTHS_TO_RECEIVE                                                                         \
    SEND_BLOCKS(send_count, NULL, NULL, send_type),                                                \
        RECEIVE_BLOCKS(0, receive_counts, displacements, receive_type), .root = root,              \
        .handle = comm, .function = FUNCTION

int PMPI_Gatherv(GATHERV_ARGUMENTS) {
    return gather(&(struct exchange){LENGTHS_TO_RECEIVE}, GATHERV);
}
MPI_NAME(Gatherv);

int PMPI_Igatherv(GATHERV_ARGUMENTS, MPI_Request *request) {
    return gather(&(struct exchange){LENGTHS_TO_RECEIVE, .request = request}, GATHERV);
}
MPI_NAME(Igatherv);

#define SCATTERV_ARGUMENTS                                                                         \
    const void *send, const int send_counts[], const int displacements[], MPI_Datatype send_type,  \
        void *receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm
#define LENGTHS_TO_SEND                                                                            \
    SEND_BLOCKS(0, send_counts, displacements, send_type),                                         \
        RECEIVE_BLOCKS(receive_count, NULL, NULL, receive_type), .root = root, .handle = comm,     \
        .function = FUNCTION

int PMPI_Scatterv(SCATTERV_ARGUMENTS) {
    return scatter(&(struct exchange){LENGTHS_TO_SEND}, SCATTERV);
}
MPI_NAME(Scatterv);

int PMPI_Iscatterv(SCATTERV_ARGUMENTS, MPI_Request *request) {
    return scatter(&(struct exchange){LENGTHS_TO_SEND, .request = request}, SCATTERV);
}
MPI_NAME(Iscatterv);
