#include "mpi/communicators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "mpi/attributes.h"
#include "mpi/errors.h"
#include "mpi/topologies.h"

struct communicator world = {
    .error_handler = MPI_ERRORS_ARE_FATAL, .name = "MPI_COMM_WORLD", .is_named = true};
struct communicator self = {
    .error_handler = MPI_ERRORS_ARE_FATAL, .name = "MPI_COMM_SELF", .is_named = true};

/* Freed communicators: their memory stays theirs, so that a stale handle is told from others. */
static struct communicator *unused;

MPI_Comm communicator_handle(struct communicator *comm) {
    return comm == &world ? MPI_COMM_WORLD : comm == &self ? MPI_COMM_SELF : (MPI_Comm)comm;
}

int rank_of(const struct communicator *comm, int world_rank) {
    if (!comm->world)
        return world_rank;
    for (int rank = 0; rank < comm->size; rank++)
        if (comm->world[rank] == world_rank)
            return rank;
    return MPI_UNDEFINED;
}

static void set_up(struct communicator *comm, struct group *group, int context) {
    comm->mark = COMMUNICATOR_MARK;
    comm->group = group;
    comm->world = group->world;
    comm->rank = group->rank;
    comm->size = group->size;
    comm->context = (uint16_t)context;
    comm->collective = 0;
}

void communicators_start(void) {
    int node = narthex_node(), nodes = narthex_nodes();
    struct group *all = new_group(nodes), *one = new_group(1);
    for (int rank = 0; rank < nodes; rank++)
        all->world[rank] = rank;
    one->world[0] = node;
    set_up(&world, finish_group(all), agree_on_context(NULL, true));
    set_up(&self, finish_group(one), agree_on_context(NULL, true));
    world.world = NULL; /* the ranks are the same */
}

struct communicator *new_communicator(struct group *group, int context,
                                      const struct communicator *parent) {
    struct communicator *comm = unused;
    if (comm)
        unused = comm->next;
    else
        comm = mpi_allocate(sizeof *comm);
    *comm = (struct communicator){.error_handler = parent->error_handler};
    set_up(comm, group, context);
    snprintf(comm->name, sizeof comm->name, "communicator %d of %d ranks", context / 2, comm->size);
    return comm;
}

int PMPI_Comm_size(MPI_Comm handle, int *size) {
    FIND_COMMUNICATOR(comm, handle);
    *size = comm->size;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_size);

int PMPI_Comm_rank(MPI_Comm handle, int *rank) {
    FIND_COMMUNICATOR(comm, handle);
    *rank = comm->rank;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_rank);

int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result) {
    FIND_COMMUNICATOR(one, comm1);
    FIND_COMMUNICATOR(other, comm2);
    int error = PMPI_Group_compare((MPI_Group)one->group, (MPI_Group)other->group, result);
    if (*result == MPI_IDENT && one != other)
        *result = MPI_CONGRUENT;
    return error;
}
MPI_NAME(Comm_compare);

int PMPI_Comm_test_inter(MPI_Comm handle, int *flag) {
    FIND_COMMUNICATOR(comm, handle);
    *flag = 0;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_test_inter);

int PMPI_Comm_set_name(MPI_Comm handle, const char *name) {
    FIND_COMMUNICATOR(comm, handle);
    snprintf(comm->name, sizeof comm->name, "%s", name);
    comm->is_named = true;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_set_name);

int PMPI_Comm_get_name(MPI_Comm handle, char *name, int *length) {
    FIND_COMMUNICATOR(comm, handle);
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", comm->is_named ? comm->name : "");
    return MPI_SUCCESS;
}
MPI_NAME(Comm_get_name);

/* Its context and its memory are free for others. */
static void give_back(struct communicator *comm) {
    free_context(comm->context);
    release_group(comm->group);
    comm->next = unused;
    unused = comm;
}

void release_communicator(struct communicator *comm) {
    comm->requests -= 1;
    if (comm->requests == 0 && comm->mark != COMMUNICATOR_MARK)
        give_back(comm);
}

int PMPI_Comm_free(MPI_Comm *handle) {
    FIND_COMMUNICATOR(comm, *handle);
    CHECK(comm != &world && comm != &self, MPI_ERR_COMM, "this one cannot be freed");
    int error = attributes_delete(comm);
    if (error)
        return error;
    topology_release(comm);
    comm->mark = 0;
    if (comm->requests == 0)
        give_back(comm);
    *handle = MPI_COMM_NULL;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_free);
