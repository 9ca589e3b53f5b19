/* Communicators of others' ranks. */
#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "mpi/attributes.h"
#include "mpi/errors.h"
#include "mpi/splitting.h"

/* What a rank wants of a split. */
struct wish {
    int color, key, rank;
};

static int compare_wishes(const void *one, const void *other) {
    const struct wish *left = one, *right = other;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->rank - right->rank;
}

int make_communicator(struct communicator *comm, struct group *group, struct communicator **made,
                      const char *function) {
    int context = agree_on_context(comm, group != NULL);
    *made = NULL;
    if (context < 0)
        return mpi_error(comm, MPI_ERR_OTHER, function,
                         "no context is left for a further communicator: free some");
    if (group)
        *made = new_communicator(group, context, comm);
    return MPI_SUCCESS;
}

static MPI_Comm handle_of(struct communicator *comm) {
    return comm ? communicator_handle(comm) : MPI_COMM_NULL;
}

/* The group of those ranks that have the same color. */
static struct group *group_of_color(const struct communicator *comm, struct wish *wishes,
                                    int color) {
    qsort(wishes, (size_t)comm->size, sizeof *wishes, compare_wishes);
    struct group *group = new_group(comm->size);
    group->size = 0;
    for (int index = 0; index < comm->size; index++)
        if (wishes[index].color == color)
            group->world[group->size++] = world_rank(comm, wishes[index].rank);
    return finish_group(group);
}

static int split(struct communicator *comm, int color, int key, MPI_Comm *newcomm,
                 const char *function) {
    struct wish own = {color, key, comm->rank};
    struct wish *wishes = mpi_allocate((size_t)comm->size * sizeof *wishes);
    int error = PMPI_Allgather(&own, 3, MPI_INT, wishes, 3, MPI_INT, communicator_handle(comm));
    if (error)
        return error;
    struct group *group = color == MPI_UNDEFINED ? NULL : group_of_color(comm, wishes, color);
    free(wishes);
    struct communicator *made;
    error = make_communicator(comm, group, &made, function);
    *newcomm = handle_of(made);
    return error;
}

int PMPI_Comm_split(MPI_Comm handle, int color, int key, MPI_Comm *newcomm) {
    FIND_COMMUNICATOR(comm, handle);
    CHECK(color >= 0 || color == MPI_UNDEFINED, MPI_ERR_ARG,
          "the color is %d, and colors are not negative", color);
    return split(comm, color, key, newcomm, FUNCTION);
}
MPI_NAME(Comm_split);

int PMPI_Comm_split_type(MPI_Comm handle, int split_type, int key, MPI_Info info,
                         MPI_Comm *newcomm) {
    (void)info;
    FIND_COMMUNICATOR(comm, handle);
    CHECK(split_type == MPI_COMM_TYPE_SHARED || split_type == MPI_UNDEFINED, MPI_ERR_ARG,
          "the type of split is %d, and MPI_COMM_TYPE_SHARED is the one there is", split_type);
    int node = narthex_node() / narthex_processes();
    int color = split_type == MPI_UNDEFINED ? MPI_UNDEFINED : node;
    return split(comm, color, key, newcomm, FUNCTION);
}
MPI_NAME(Comm_split_type);

int PMPI_Comm_dup(MPI_Comm handle, MPI_Comm *newcomm) {
    FIND_COMMUNICATOR(comm, handle);
    struct communicator *made;
    *newcomm = MPI_COMM_NULL;
    int error = make_communicator(comm, comm->group, &made, FUNCTION);
    if (error)
        return error;
    comm->group->references += 1;
    topology_copy(comm, made);
    error = attributes_copy(comm, made);
    if (error)
        return mpi_error(comm, error, FUNCTION, "the copy function of an attribute fails");
    *newcomm = handle_of(made);
    return MPI_SUCCESS;
}
MPI_NAME(Comm_dup);

int PMPI_Comm_create(MPI_Comm handle, MPI_Group wanted, MPI_Comm *newcomm) {
    FIND_COMMUNICATOR(comm, handle);
    struct group *group = find_group(wanted);
    CHECK(group, MPI_ERR_GROUP, "the group is none: it has been freed, or never set");
    for (int rank = 0; rank < group->size; rank++)
        CHECK(rank_of(comm, group->world[rank]) != MPI_UNDEFINED, MPI_ERR_GROUP,
              "rank %d of the group is not in the communicator", rank);
    bool is_member = group->rank != MPI_UNDEFINED;
    group->references += is_member;
    struct communicator *made;
    int error = make_communicator(comm, is_member ? group : NULL, &made, FUNCTION);
    *newcomm = handle_of(made);
    return error;
}
MPI_NAME(Comm_create);
