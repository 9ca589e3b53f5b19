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

/* Whether the blocks of all ranks are received, by the root, or sent by it. */
static bool gathers(enum collective kind) {
    return kind == GATHER || kind == GATHERV;
}

/* The block of a rank among those of the root. */
static struct elements block_at_root(const struct exchange *exchange, enum collective kind,
                                     int rank) {
    return gathers(kind) ? block_of(&exchange->receive, exchange->receive_type, rank)
                         : block_of(&exchange->send, exchange->send_type, rank);
}

/* The block of this rank, which in place is that among the root's. */
static struct elements own_block(const struct exchange *exchange, enum collective kind) {
    if (exchange->is_in_place)
        return block_at_root(exchange, kind, exchange->comm->rank);
    return gathers(kind) ? block_of(&exchange->send, exchange->send_type, 0)
                         : block_of(&exchange->receive, exchange->receive_type, 0);
}

static void go_straight(struct schedule *schedule, const struct exchange *exchange,
                        enum collective kind, struct elements own) {
    const struct communicator *comm = exchange->comm;
    bool is_gather = gathers(kind);
    if (comm->rank != exchange->root) {
        (is_gather ? step_send : step_receive)(schedule, exchange->root, own);
        return;
    }
    for (int rank = 0; rank < comm->size; rank++) {
        struct elements block = block_at_root(exchange, kind, rank);
        if (rank != comm->rank)
            (is_gather ? step_receive : step_send)(schedule, rank, block);
        else if (!exchange->is_in_place)
            step_copy(schedule, is_gather ? own : block, is_gather ? block : own);
    }
}

/* Checks what this rank sends and receives: the root has blocks of all ranks. */
static int find_blocks(struct exchange *exchange, enum collective kind, bool is_root) {
    int size = exchange->comm->size, error = MPI_SUCCESS;
    if (gathers(kind) || is_root)
        error = find_send_blocks(exchange, gathers(kind) ? 1 : size);
    if (!error && (!gathers(kind) || is_root))
        error = find_receive_blocks(exchange, gathers(kind) ? size : 1);
    return error;
}

static int gather_or_scatter(struct exchange *exchange, enum collective kind) {
    int error = find_exchange(exchange);
    if (error)
        return error;
    struct communicator *comm = exchange->comm;
    bool is_root = comm->rank == exchange->root;
    error = find_blocks(exchange, kind, is_root);
    if (error)
        return error;
    CHECK_IN(exchange->function, is_root || !exchange->is_in_place, MPI_ERR_BUFFER,
             "MPI_IN_PLACE is for the root");
    struct schedule *schedule = begin_collective(comm, kind, exchange->root, exchange->function);
    struct elements own = own_block(exchange, kind);
    size_t bytes = own.count * own.type->size;
    bool has_one_length = kind == GATHER || kind == SCATTER;
    if (!has_one_length || bytes == 0 || bytes > TREE_BYTES)
        go_straight(schedule, exchange, kind, own);
    else if (kind == GATHER)
        gather_by_tree(schedule, exchange, own, bytes);
    else
        scatter_by_tree(schedule, exchange, own, bytes);
    return finish_schedule(schedule, exchange->request);
}

int PMPI_Gather(ONE_LENGTH_PARAMETERS, int root, MPI_Comm comm) {
    return gather_or_scatter(&(struct exchange){ONE_LENGTH, .root = root}, GATHER);
}
MPI_NAME(Gather);

int PMPI_Igather(ONE_LENGTH_PARAMETERS, int root, MPI_Comm comm, MPI_Request *request) {
    return gather_or_scatter(&(struct exchange){ONE_LENGTH, .root = root, .request = request},
                             GATHER);
}
MPI_NAME(Igather);

int PMPI_Scatter(ONE_LENGTH_PARAMETERS, int root, MPI_Comm comm) {
    return gather_or_scatter(&(struct exchange){ONE_LENGTH, .root = root}, SCATTER);
}
MPI_NAME(Scatter);

int PMPI_Iscatter(ONE_LENGTH_PARAMETERS, int root, MPI_Comm comm, MPI_Request *request) {
    return gather_or_scatter(&(struct exchange){ONE_LENGTH, .root = root, .request = request},
                             SCATTER);
}
MPI_NAME(Iscatter);

int PMPI_Gatherv(RECEIVED_LENGTHS_PARAMETERS, int root, MPI_Comm comm) {
    return gather_or_scatter(&(struct exchange){RECEIVED_LENGTHS, .root = root}, GATHERV);
}
MPI_NAME(Gatherv);

int PMPI_Igatherv(RECEIVED_LENGTHS_PARAMETERS, int root, MPI_Comm comm, MPI_Request *request) {
    return gather_or_scatter(&(struct exchange){RECEIVED_LENGTHS, .root = root, .request = request},
                             GATHERV);
}
MPI_NAME(Igatherv);

#define SENT_LENGTHS_PARAMETERS                                                                    \
    const void *send, const int send_counts[], const int displacements[], MPI_Datatype send_type,  \
        void *receive, int receive_count, MPI_Datatype receive_type
#define SENT_LENGTHS                                                                               \
    SEND_BLOCKS(0, send_counts, displacements, send_type),                                         \
        RECEIVE_BLOCKS(receive_count, NULL, NULL, receive_type), .handle = comm,                   \
        .function = FUNCTION

int PMPI_Scatterv(SENT_LENGTHS_PARAMETERS, int root, MPI_Comm comm) {
    return gather_or_scatter(&(struct exchange){SENT_LENGTHS, .root = root}, SCATTERV);
}
MPI_NAME(Scatterv);

int PMPI_Iscatterv(SENT_LENGTHS_PARAMETERS, int root, MPI_Comm comm, MPI_Request *request) {
    return gather_or_scatter(&(struct exchange){SENT_LENGTHS, .root = root, .request = request},
                             SCATTERV);
}
MPI_NAME(Iscatterv);
