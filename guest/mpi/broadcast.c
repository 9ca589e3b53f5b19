/* The broadcast.
 *
 * Short data go down a binomial tree. Long ones are scattered down that tree, a part for each rank,
 * and then every rank passes parts on around a ring until all have all: each sends about twice the
 * data, and not as often as it has children (van de Geijn). */
#include "mpi/overrides.h"

/* A rank's place in the tree: the distance to its parent, which is the root's if it has none. */
static int parent_distance(int place, int size) {
    int distance = 1;
    while (distance < size && !(place & distance))
        distance *= 2;
    return distance;
}

static void add_tree(struct schedule *schedule, const struct communicator *comm,
                     struct elements data, int root) {
    int size = comm->size, place = (comm->rank - root + size) % size;
    int distance = parent_distance(place, size);
    if (place > 0) {
        step_receive(schedule, (place - distance + root) % size, data);
        step_fence(schedule);
    }
    while ((distance /= 2) > 0)
        if (place + distance < size)
            step_send(schedule, (place + distance + root) % size, data);
}

/* The parts of the places from `place` on, so many, of bytes that are divided evenly. */
static struct elements parts(struct elements bytes, int size, int place, int count) {
    size_t each = (bytes.count + (size_t)size - 1) / (size_t)size;
    size_t begin = each * (size_t)place, end = begin + each * (size_t)count;
    begin = begin < bytes.count ? begin : bytes.count;
    end = end < bytes.count ? end : bytes.count;
    return elements((char *)bytes.buffer + begin, end - begin, bytes.type);
}

/* Each place gets the parts of its subtree. */
static void add_scatter(struct schedule *schedule, const struct communicator *comm,
                        struct elements bytes, int root) {
    int size = comm->size, place = (comm->rank - root + size) % size;
    int distance = parent_distance(place, size);
    if (place > 0) {
        step_receive(schedule, (place - distance + root) % size,
                     parts(bytes, size, place, distance));
        step_fence(schedule);
    }
    while ((distance /= 2) > 0)
        if (place + distance < size)
            step_send(schedule, (place + distance + root) % size,
                      parts(bytes, size, place + distance, distance));
}

static void add_ring(struct schedule *schedule, const struct communicator *comm,
                     struct elements bytes, int root) {
    int size = comm->size, place = (comm->rank - root + size) % size;
    int right = (comm->rank + 1) % size, left = (comm->rank - 1 + size) % size;
    for (int step = 0; step < size - 1; step++) {
        int own = (place - step + size) % size, other = (own - 1 + size) % size;
        step_receive(schedule, left, parts(bytes, size, other, 1));
        step_send(schedule, right, parts(bytes, size, own, 1));
        step_fence(schedule);
    }
}

void add_broadcast(struct schedule *schedule, struct communicator *comm, struct elements data,
                   int root) {
    size_t bytes = data.count * data.type->size;
    if (!is_long(bytes, comm->size)) {
        add_tree(schedule, comm, data, root);
        return;
    }
    struct elements all = elements(data.buffer, bytes, find_datatype(MPI_BYTE));
    if (!data.type->is_contiguous) {
        all.buffer = step_memory(schedule, bytes, all.type);
        if (comm->rank == root)
            step_copy(schedule, data, all);
    }
    add_scatter(schedule, comm, all, root);
    add_ring(schedule, comm, all, root);
    if (all.buffer != data.buffer && comm->rank != root)
        step_copy(schedule, all, data);
}

static int broadcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm handle,
                     MPI_Request *request, const char *function) {
    FIND_COMMUNICATOR_IN(function, comm, handle);
    CHECK_COUNT_IN(function, count);
    FIND_DATATYPE_IN(function, type, datatype);
    CHECK_ROOT_IN(function, root);
    CHECK_BUFFER_IN(function, buffer, count, type);
    struct schedule *schedule = begin_collective(comm, BROADCAST, root, function);
    struct elements data = elements(buffer, (size_t)count, type);
    struct collective_call call = {
        .collective = BROADCAST, .comm = comm, .root = root, .data = data};
    int error;
    if (!request && override_collective(schedule, &call, &error))
        return error;
    if (comm->size > 1)
        add_broadcast(schedule, comm, data, root);
    return finish_schedule(schedule, request);
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    return broadcast(buffer, count, datatype, root, comm, NULL, FUNCTION);
}
MPI_NAME(Bcast);

int PMPI_Ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm,
                MPI_Request *request) {
    return broadcast(buffer, count, datatype, root, comm, request, FUNCTION);
}
MPI_NAME(Ibcast);
