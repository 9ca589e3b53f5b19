/* Communicators and groups.
 *
 * A communicator is an ordered set of ranks with a context: a number that its messages carry and no
 * other communicator's do, the odd one next to it for those of its collectives. All members must
 * take the same number, and one that is free at each of them: they combine their sets of free ones
 * (contexts.c). */
#ifndef NARTHEX_MPI_COMMUNICATORS_H
#define NARTHEX_MPI_COMMUNICATORS_H

#include "mpi/library.h"

struct topology;
struct attribute;

/* An ordered set of ranks. */
struct group {
    uint64_t mark; /* GROUP_MARK while it is one */
    int references;
    int size;
    int rank;    /* this one's, or MPI_UNDEFINED */
    int world[]; /* the ranks of the world, by rank of the group */
};

struct communicator {
    uint64_t mark;       /* COMMUNICATOR_MARK while it is one */
    const int *world;    /* ranks of the world, by rank; NULL where they are the same */
    int rank, size;      /* this rank's, and all */
    uint16_t context;    /* even */
    uint16_t collective; /* how many collectives it has begun */
    MPI_Errhandler error_handler;
    struct group *group;
    struct topology *topology;
    struct attribute *attributes;
    struct communicator *next;      /* of those that are freed */
    char name[MPI_MAX_OBJECT_NAME]; /* of a program, or for messages */
    bool is_named;                  /* by a program */
    int requests;                   /* that name it */
};

enum { COMMUNICATOR_MARK = 0x636f6d6d, GROUP_MARK = 0x67726f75 };

extern struct communicator world, self;

/* The communicator of a handle; NULL if it is none, or MPI is not active. */
static inline struct communicator *find_communicator(MPI_Comm handle) {
    if (__builtin_expect(mpi_state != ACTIVE, 0))
        return NULL;
    if (handle == MPI_COMM_WORLD)
        return &world;
    if (handle == MPI_COMM_SELF)
        return &self;
    struct communicator *comm = (struct communicator *)handle;
    bool is_one = !is_constant(handle) && ((uintptr_t)handle & ~UINT64_C(1)) != 0x44000000 &&
                  comm->mark == COMMUNICATOR_MARK;
    return is_one ? comm : NULL;
}

MPI_Comm communicator_handle(struct communicator *comm);

/* The world's rank of a communicator's, and the other way (MPI_UNDEFINED if it has none). */
static inline int world_rank(const struct communicator *comm, int rank) {
    return comm->world ? comm->world[rank] : rank;
}
int rank_of(const struct communicator *comm, int world_rank);

/* A communicator of a group with this rank, whose context all its members have agreed on. */
struct communicator *new_communicator(struct group *group, int context,
                                      const struct communicator *parent);

/* A request that is not over names a communicator, and does so no more: one that its program has
 * freed is kept as long. */
static inline void retain_communicator(struct communicator *comm) {
    comm->requests += 1;
}
void release_communicator(struct communicator *comm);

/* Sets up the world and this rank's own. */
void communicators_start(void);

/* A context that is free at all ranks of a communicator, which call this together; it is taken by
 * those that say so. Negative if there is none. */
int agree_on_context(struct communicator *comm, bool takes_it);
void free_context(int context);

/* A new group of `size` ranks, whose members are to be entered. */
struct group *new_group(int size);
/* Finds this rank in a group whose members have been entered. */
struct group *finish_group(struct group *group);
struct group *find_group(MPI_Group handle);
void release_group(struct group *group);

#endif
