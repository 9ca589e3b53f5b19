#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "mpi/errors.h"

/* No communicator is given to these functions: their errors are the world's. */
static struct communicator *const comm = NULL;

static struct group empty = {GROUP_MARK, 1, 0, MPI_UNDEFINED};

struct group *new_group(int size) {
    struct group *group = mpi_allocate(sizeof *group + (size_t)size * sizeof(int));
    *group = (struct group){GROUP_MARK, 1, size, MPI_UNDEFINED};
    return group;
}

static int rank_in(const struct group *group, int world_rank) {
    for (int rank = 0; rank < group->size; rank++)
        if (group->world[rank] == world_rank)
            return rank;
    return MPI_UNDEFINED;
}

struct group *finish_group(struct group *group) {
    group->rank = rank_in(group, narthex_node());
    return group;
}

struct group *find_group(MPI_Group handle) {
    if (handle == MPI_GROUP_EMPTY)
        return &empty;
    struct group *group = (struct group *)handle;
    return !is_constant(handle) && group->mark == GROUP_MARK ? group : NULL;
}

void release_group(struct group *group) {
    if (--group->references > 0)
        return;
    group->mark = 0;
    free(group);
}

/* The handle of a group that is ready; an empty one is the constant. */
static MPI_Group handle_of(struct group *group) {
    if (group->size > 0)
        return (MPI_Group)finish_group(group);
    release_group(group);
    return MPI_GROUP_EMPTY;
}

#define FIND_GROUP(found, handle)                                                                  \
    struct group *found = find_group(handle);                                                      \
    CHECK(found, MPI_ERR_GROUP, "the group is %s",                                                 \
          (handle) == MPI_GROUP_NULL ? "MPI_GROUP_NULL" : "none: it has been freed, or never set")

int PMPI_Comm_group(MPI_Comm handle, MPI_Group *newgroup) {
    FIND_COMMUNICATOR(comm, handle);
    struct group *group = comm->group;
    group->references += 1;
    *newgroup = (MPI_Group)group;
    return MPI_SUCCESS;
}
MPI_NAME(Comm_group);

int PMPI_Group_size(MPI_Group handle, int *size) {
    FIND_GROUP(group, handle);
    *size = group->size;
    return MPI_SUCCESS;
}
MPI_NAME(Group_size);

int PMPI_Group_rank(MPI_Group handle, int *rank) {
    FIND_GROUP(group, handle);
    *rank = group->rank;
    return MPI_SUCCESS;
}
MPI_NAME(Group_rank);

int PMPI_Group_translate_ranks(MPI_Group group1, int count, const int ranks1[], MPI_Group group2,
                               int ranks2[]) {
    FIND_GROUP(one, group1);
    FIND_GROUP(other, group2);
    CHECK_COUNT(count);
    for (int index = 0; index < count; index++) {
        int rank = ranks1[index];
        bool is_null = rank == MPI_PROC_NULL;
        CHECK(is_null || (unsigned)rank < (unsigned)one->size, MPI_ERR_RANK,
              "the group has %d ranks, and none with number %d", one->size, rank);
        ranks2[index] = is_null ? MPI_PROC_NULL : rank_in(other, one->world[rank]);
    }
    return MPI_SUCCESS;
}
MPI_NAME(Group_translate_ranks);

int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result) {
    FIND_GROUP(one, group1);
    FIND_GROUP(other, group2);
    *result = one->size == other->size ? MPI_IDENT : MPI_UNEQUAL;
    for (int rank = 0; rank < one->size && *result != MPI_UNEQUAL; rank++) {
        int found = rank_in(other, one->world[rank]);
        if (found == MPI_UNDEFINED)
            *result = MPI_UNEQUAL;
        else if (found != rank)
            *result = MPI_SIMILAR;
    }
    return MPI_SUCCESS;
}
MPI_NAME(Group_compare);

/* Adds those members of `from` that are, or are not, in `other`. */
static void add(struct group *group, const struct group *from, const struct group *other,
                bool is_in) {
    for (int rank = 0; rank < from->size; rank++)
        if ((rank_in(other, from->world[rank]) != MPI_UNDEFINED) == is_in)
            group->world[group->size++] = from->world[rank];
}

/* An empty group with room for so many members. */
static struct group *group_for(int most) {
    struct group *group = new_group(most);
    group->size = 0;
    return group;
}

int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup) {
    FIND_GROUP(one, group1);
    FIND_GROUP(other, group2);
    struct group *group = group_for(one->size + other->size);
    add(group, one, &empty, false);
    add(group, other, one, false);
    *newgroup = handle_of(group);
    return MPI_SUCCESS;
}
MPI_NAME(Group_union);

int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup) {
    FIND_GROUP(one, group1);
    FIND_GROUP(other, group2);
    struct group *group = group_for(one->size);
    add(group, one, other, true);
    *newgroup = handle_of(group);
    return MPI_SUCCESS;
}
MPI_NAME(Group_intersection);

int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup) {
    FIND_GROUP(one, group1);
    FIND_GROUP(other, group2);
    struct group *group = group_for(one->size);
    add(group, one, other, false);
    *newgroup = handle_of(group);
    return MPI_SUCCESS;
}
MPI_NAME(Group_difference);

/* Whether each of these is a rank of the group, and none stands there twice. */
static int check_ranks(const struct group *old, int count, const int ranks[],
                       const char *function) {
    for (int index = 0; index < count; index++) {
        if ((unsigned)ranks[index] >= (unsigned)old->size)
            return mpi_error(NULL, MPI_ERR_RANK, function,
                             "the group has %d ranks, and none with number %d", old->size,
                             ranks[index]);
        for (int before = 0; before < index; before++)
            if (ranks[before] == ranks[index])
                return mpi_error(NULL, MPI_ERR_RANK, function, "rank %d is named twice",
                                 ranks[index]);
    }
    return MPI_SUCCESS;
}

/* The group of these ranks of another, or of all others. */
static int select_ranks(const struct group *old, int count, const int ranks[], bool includes,
                        MPI_Group *newgroup, const char *function) {
    int error = check_ranks(old, count, ranks, function);
    if (error)
        return error;
    struct group *chosen = group_for(count);
    for (int index = 0; index < count; index++)
        chosen->world[chosen->size++] = old->world[ranks[index]];
    if (!includes) {
        struct group *others = group_for(old->size);
        add(others, old, chosen, false);
        release_group(chosen);
        chosen = others;
    }
    *newgroup = handle_of(chosen);
    return MPI_SUCCESS;
}

int PMPI_Group_incl(MPI_Group handle, int count, const int ranks[], MPI_Group *newgroup) {
    FIND_GROUP(group, handle);
    CHECK_COUNT(count);
    return select_ranks(group, count, ranks, true, newgroup, FUNCTION);
}
MPI_NAME(Group_incl);

int PMPI_Group_excl(MPI_Group handle, int count, const int ranks[], MPI_Group *newgroup) {
    FIND_GROUP(group, handle);
    CHECK_COUNT(count);
    return select_ranks(group, count, ranks, false, newgroup, FUNCTION);
}
MPI_NAME(Group_excl);

/* How many ranks a range {first, last, stride} has; -1 if it is none. */
static int range_length(const int range[3]) {
    int first = range[0], last = range[1], stride = range[2];
    if (stride == 0)
        return -1;
    int length = (last - first) / stride + 1;
    bool is_empty = stride > 0 ? last < first : last > first;
    return is_empty ? 0 : length;
}

static int select_ranges(const struct group *old, int count, int ranges[][3], bool includes,
                         MPI_Group *newgroup, const char *function) {
    int ranks = 0;
    for (int index = 0; index < count; index++) {
        int length = range_length(ranges[index]);
        if (length < 0)
            return mpi_error(NULL, MPI_ERR_ARG, function, "range %d has a stride of 0", index);
        ranks += length;
    }
    int *list = mpi_allocate((size_t)ranks * sizeof *list), *next = list;
    for (int index = 0; index < count; index++)
        for (int step = 0; step < range_length(ranges[index]); step++)
            *next++ = ranges[index][0] + step * ranges[index][2];
    int error = select_ranks(old, ranks, list, includes, newgroup, function);
    free(list);
    return error;
}

int PMPI_Group_range_incl(MPI_Group handle, int count, int ranges[][3], MPI_Group *newgroup) {
    FIND_GROUP(group, handle);
    CHECK_COUNT(count);
    return select_ranges(group, count, ranges, true, newgroup, FUNCTION);
}
MPI_NAME(Group_range_incl);

int PMPI_Group_range_excl(MPI_Group handle, int count, int ranges[][3], MPI_Group *newgroup) {
    FIND_GROUP(group, handle);
    CHECK_COUNT(count);
    return select_ranges(group, count, ranges, false, newgroup, FUNCTION);
}
MPI_NAME(Group_range_excl);

int PMPI_Group_free(MPI_Group *handle) {
    FIND_GROUP(group, *handle);
    if (group != &empty)
        release_group(group);
    *handle = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
MPI_NAME(Group_free);
