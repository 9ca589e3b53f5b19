/* Reduce and allreduce.
 *
 * An operation that does not commute must combine the ranks' values in their order, so a partial
 * result always stands for ranks that follow each other, and others are combined before or behind.
 *
 * Short: up a binomial tree, or, where all want the result, each rank with the one whose number
 * differs in one bit, lower bits first (recursive doubling). Ranks beyond the largest hypercube
 * first give their values to a neighbour. Long ones that commute: in each step a rank keeps one
 * half of what it has reduced and gives the other away; at the end each has a part of the result,
 * which the ranks gather in the opposite order (Rabenseifner). */
#include "mpi/reductions.h"

#include "mpi/overrides.h"

int find_reduction(struct reduction *reduction) {
    const char *function = reduction->function;
    FIND_COMMUNICATOR_IN(function, comm, reduction->handle);
    CHECK_COUNT_IN(function, reduction->count);
    FIND_DATATYPE_IN(function, type, reduction->datatype);
    FIND_OPERATION_IN(function, operation, reduction->op, type);
    CHECK_ROOT_IN(function, reduction->root);
    CHECK_BUFFER_IN(function, own_values(reduction), reduction->count, type);
    reduction->comm = comm;
    reduction->type = type;
    reduction->operation = operation;
    return MPI_SUCCESS;
}

struct partial new_partial(struct schedule *schedule, const struct reduction *reduction,
                           const void *own, size_t count) {
    struct datatype *type = reduction->type;
    struct partial partial = {schedule, reduction, step_memory(schedule, count, type),
                              step_memory(schedule, count, type), count};
    step_copy(schedule, elements(own, count, type), partial_elements(&partial));
    return partial;
}

struct elements partial_elements(const struct partial *partial) {
    return elements(partial->values, partial->count, partial->reduction->type);
}

static void receive_other(struct partial *partial, int rank) {
    step_receive(partial->schedule, rank,
                 elements(partial->other, partial->count, partial->reduction->type));
    step_fence(partial->schedule);
}

/* Combines what has been received from ranks before. */
static void combine_before(struct partial *partial) {
    step_reduce(partial->schedule, partial->reduction->operation, partial->other,
                partial_elements(partial));
}

/* Combines what has been received from ranks behind: the result is where they were. */
static void combine_behind(struct partial *partial) {
    char *values = partial->values;
    partial->values = partial->other;
    partial->other = values;
    step_reduce(partial->schedule, partial->reduction->operation, values,
                partial_elements(partial));
}

void add_before(struct partial *partial, int rank) {
    receive_other(partial, rank);
    combine_before(partial);
}

void add_behind(struct partial *partial, int rank) {
    receive_other(partial, rank);
    combine_behind(partial);
}

static void add_fold(const struct cube *cube, struct partial *partial) {
    int rank = partial->reduction->comm->rank;
    if (cube->place < 0)
        step_send(partial->schedule, rank + 1, partial_elements(partial));
    else if (rank < cube->folded)
        add_before(partial, rank - 1);
}

/* The ranks that are not in the cube get the result. */
static void add_unfold(struct schedule *schedule, const struct cube *cube,
                       const struct communicator *comm, struct elements result) {
    if (cube->place < 0) {
        step_receive(schedule, comm->rank + 1, result);
        step_fence(schedule);
    } else if (comm->rank < cube->folded) {
        step_send(schedule, comm->rank - 1, result);
    }
}

static void add_doubling(const struct cube *cube, struct partial *partial) {
    for (int bit = 1; bit < cube->size; bit *= 2) {
        int place = cube->place ^ bit, rank = rank_at(cube, place);
        step_send(partial->schedule, rank, partial_elements(partial));
        if (place < cube->place)
            add_before(partial, rank);
        else
            add_behind(partial, rank);
    }
}

/* The elements of the places from `begin` to `end`, of values that are divided evenly. */
static struct elements part(const struct cube *cube, char *values, const struct partial *partial,
                            int begin, int end) {
    size_t size = (size_t)cube->size, count = partial->count;
    size_t first = count * (size_t)begin / size, last = count * (size_t)end / size;
    struct datatype *type = partial->reduction->type;
    return elements(element_at(values, first, type), last - first, type);
}

/* Each place ends with its part of the result. */
static void add_halving(const struct cube *cube, struct partial *partial) {
    struct schedule *schedule = partial->schedule;
    for (int bit = cube->size / 2, begin = 0, end = cube->size; bit > 0; bit /= 2) {
        int rank = rank_at(cube, cube->place ^ bit), middle = begin + bit;
        bool is_upper = cube->place & bit;
        struct elements given = is_upper ? part(cube, partial->values, partial, begin, middle)
                                         : part(cube, partial->values, partial, middle, end);
        begin = is_upper ? middle : begin;
        end = is_upper ? end : middle;
        struct elements kept = part(cube, partial->values, partial, begin, end);
        struct elements other = part(cube, partial->other, partial, begin, end);
        step_receive(schedule, rank, other);
        step_send(schedule, rank, given);
        step_fence(schedule);
        step_reduce(schedule, partial->reduction->operation, other.buffer, kept);
    }
}

/* The parts are gathered, in the opposite order. */
static void add_regathering(const struct cube *cube, struct partial *partial) {
    struct schedule *schedule = partial->schedule;
    for (int bit = 1; bit < cube->size; bit *= 2) {
        int begin = cube->place / bit * bit, rank = rank_at(cube, cube->place ^ bit);
        int others = begin ^ bit;
        step_receive(schedule, rank, part(cube, partial->values, partial, others, others + bit));
        step_send(schedule, rank, part(cube, partial->values, partial, begin, begin + bit));
        step_fence(schedule);
    }
}

/* Whether the values are worth being reduced in parts, by ranks in any order. */
static bool goes_in_parts(const struct reduction *reduction, size_t count) {
    return is_long(count * reduction->type->size, reduction->comm->size) &&
           count >= (size_t)reduction->comm->size && reduction->operation->commutes;
}

void add_all_reduce(struct schedule *schedule, const struct reduction *reduction, const void *own,
                    void *receive, size_t count) {
    struct cube cube = cube_of(reduction->comm);
    struct partial partial = new_partial(schedule, reduction, own, count);
    struct elements result = elements(receive, count, reduction->type);
    add_fold(&cube, &partial);
    if (cube.place >= 0) {
        if (goes_in_parts(reduction, count)) {
            add_halving(&cube, &partial);
            add_regathering(&cube, &partial);
        } else {
            add_doubling(&cube, &partial);
        }
        step_copy(schedule, partial_elements(&partial), result);
    }
    add_unfold(schedule, &cube, reduction->comm, result);
}

static int all_reduce(struct reduction *reduction) {
    int error = find_reduction(reduction);
    if (error)
        return error;
    struct communicator *comm = reduction->comm;
    CHECK_BUFFER_IN(reduction->function, reduction->receive, reduction->count, reduction->type);
    struct schedule *schedule = begin_collective(comm, ALLREDUCE, 0, reduction->function);
    struct elements result =
        elements(reduction->receive, (size_t)reduction->count, reduction->type);
    struct collective_call call = {ALLREDUCE, comm, 0, result, reduction};
    if (!reduction->request && override_collective(schedule, &call, &error))
        return error;
    add_all_reduce(schedule, reduction, own_values(reduction), reduction->receive,
                   (size_t)reduction->count);
    return finish_schedule(schedule, reduction->request);
}

/* Up a binomial tree of places; whether this rank ends with the result. */
static bool add_tree(struct partial *partial, int place, int root) {
    int size = partial->reduction->comm->size;
    for (int distance = 1; distance < size; distance *= 2) {
        if (place & distance) {
            step_send(partial->schedule, (place - distance + root) % size,
                      partial_elements(partial));
            return false;
        }
        if (place + distance < size)
            add_behind(partial, (place + distance + root) % size);
    }
    return true;
}

/* Each place's part goes to the root. */
static void add_collection(const struct cube *cube, struct partial *partial, void *receive) {
    const struct reduction *reduction = partial->reduction;
    if (reduction->comm->rank != reduction->root) {
        step_send(partial->schedule, reduction->root,
                  part(cube, partial->values, partial, cube->place, cube->place + 1));
        return;
    }
    for (int place = 0; place < cube->size; place++) {
        struct elements result = part(cube, receive, partial, place, place + 1);
        if (place == cube->place)
            step_copy(partial->schedule, part(cube, partial->values, partial, place, place + 1),
                      result);
        else
            step_receive(partial->schedule, rank_at(cube, place), result);
    }
}

/* Long values that commute. A root beyond the cube gets all parts from others. */
static void add_reduce_in_parts(struct partial *partial, void *receive) {
    struct cube cube = cube_of(partial->reduction->comm);
    add_fold(&cube, partial);
    if (cube.place >= 0)
        add_halving(&cube, partial);
    if (cube.place >= 0 || partial->reduction->comm->rank == partial->reduction->root)
        add_collection(&cube, partial, receive);
}

static int reduce(struct reduction *reduction) {
    int error = find_reduction(reduction);
    if (error)
        return error;
    struct communicator *comm = reduction->comm;
    size_t count = (size_t)reduction->count;
    int size = comm->size, root = reduction->root;
    bool is_root = comm->rank == root;
    CHECK_IN(reduction->function, is_root || reduction->send != MPI_IN_PLACE, MPI_ERR_BUFFER,
             "MPI_IN_PLACE is for the root");
    struct schedule *schedule = begin_collective(comm, REDUCTION, root, reduction->function);
    struct partial partial = new_partial(schedule, reduction, own_values(reduction), count);
    if (goes_in_parts(reduction, count)) {
        add_reduce_in_parts(&partial, reduction->receive);
        return finish_schedule(schedule, reduction->request);
    }
    int top = reduction->operation->commutes ? root : 0; /* of the tree */
    struct elements result = elements(reduction->receive, count, reduction->type);
    if (add_tree(&partial, (comm->rank - top + size) % size, top)) {
        if (is_root)
            step_copy(schedule, partial_elements(&partial), result);
        else
            step_send(schedule, root, partial_elements(&partial));
    } else if (is_root) {
        step_receive(schedule, top, result);
    }
    return finish_schedule(schedule, reduction->request);
}

#define ALL_ARGUMENTS                                                                              \
    const void *send, void *receive, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm
#define ARGUMENTS                                                                                  \
    const void *send, void *receive, int count, MPI_Datatype datatype, MPI_Op op, int root,        \
        MPI_Comm comm

int PMPI_Reduce(ARGUMENTS) {
    return reduce(REDUCTION(count, root, NULL));
}
MPI_NAME(Reduce);

int PMPI_Ireduce(ARGUMENTS, MPI_Request *request) {
    return reduce(REDUCTION(count, root, request));
}
MPI_NAME(Ireduce);

int PMPI_Allreduce(ALL_ARGUMENTS) {
    return all_reduce(REDUCTION(count, 0, NULL));
}
MPI_NAME(Allreduce);

int PMPI_Iallreduce(ALL_ARGUMENTS, MPI_Request *request) {
    return all_reduce(REDUCTION(count, 0, request));
}
MPI_NAME(Iallreduce);
