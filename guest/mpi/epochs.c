/* Epochs of some ranks of a window.
 *
 *     target   Win_post     ── POSTED ──►   Win_start      origin
 *              Win_wait     ◄─ COMPLETE ──  Win_complete
 *
 * Both are messages of no bytes of the window's own communicator. An origin has had the answers to
 * all that it has sent before it says that it is done. */
#include <stdlib.h>

#include "mpi/windows.h"

enum { POSTED = 1, COMPLETE = 2 };

static int find_ranks(struct window *window, MPI_Group handle, struct epoch *epoch,
                      const char *function) {
    struct communicator *comm = window->comm;
    struct group *group = find_group(handle);
    CHECK_IN(function, group, MPI_ERR_GROUP, "the group is none");
    CHECK_IN(function, !epoch->ranks, MPI_ERR_RMA_SYNC, "an epoch of this kind is open already");
    int *ranks = mpi_allocate((size_t)group->size * sizeof *ranks);
    for (int index = 0; index < group->size; index++) {
        ranks[index] = rank_of(comm, group->world[index]);
        if (ranks[index] == MPI_UNDEFINED) {
            free(ranks);
            return mpi_error(comm, MPI_ERR_GROUP, function,
                             "a rank of the group is none of the window's");
        }
    }
    *epoch =
        (struct epoch){ranks, group->size, mpi_allocate((size_t)group->size * sizeof(MPI_Request))};
    return MPI_SUCCESS;
}

static void close(struct epoch *epoch) {
    free(epoch->ranks);
    free(epoch->requests);
    *epoch = (struct epoch){NULL, 0, NULL};
}

/* Begins a message of no bytes to or from each rank of an epoch. */
static int tell(struct window *window, const struct epoch *epoch, int tag) {
    int error = MPI_SUCCESS;
    for (int index = 0; index < epoch->count && !error; index++)
        error = PMPI_Isend(NULL, 0, MPI_BYTE, epoch->ranks[index], tag,
                           communicator_handle(window->comm), &epoch->requests[index]);
    return error ? error : PMPI_Waitall(epoch->count, epoch->requests, MPI_STATUSES_IGNORE);
}

static int listen(struct window *window, const struct epoch *epoch, int tag) {
    int error = MPI_SUCCESS;
    for (int index = 0; index < epoch->count && !error; index++)
        error = PMPI_Irecv(NULL, 0, MPI_BYTE, epoch->ranks[index], tag,
                           communicator_handle(window->comm), &epoch->requests[index]);
    return error;
}

int PMPI_Win_post(MPI_Group group, int assertions, MPI_Win handle) {
    (void)assertions;
    FIND_WINDOW(window, handle);
    int error = find_ranks(window, group, &window->exposure, FUNCTION);
    if (!error)
        error = tell(window, &window->exposure, POSTED);
    return error ? error : listen(window, &window->exposure, COMPLETE);
}
MPI_NAME(Win_post);

int PMPI_Win_start(MPI_Group group, int assertions, MPI_Win handle) {
    (void)assertions;
    FIND_WINDOW(window, handle);
    int error = find_ranks(window, group, &window->access, FUNCTION);
    if (!error)
        error = listen(window, &window->access, POSTED);
    return error ? error
                 : PMPI_Waitall(window->access.count, window->access.requests, MPI_STATUSES_IGNORE);
}
MPI_NAME(Win_start);

int PMPI_Win_complete(MPI_Win handle) {
    FIND_WINDOW(window, handle);
    CHECK(window->access.ranks, MPI_ERR_RMA_SYNC, "no epoch has begun with MPI_Win_start");
    for (int index = 0; index < window->access.count; index++)
        flush_window(window, window->access.ranks[index], FUNCTION);
    int error = tell(window, &window->access, COMPLETE);
    close(&window->access);
    return error;
}
MPI_NAME(Win_complete);

#define CHECK_EXPOSED()                                                                            \
    CHECK(window->exposure.ranks, MPI_ERR_RMA_SYNC, "no epoch has begun with MPI_Win_post")

int PMPI_Win_wait(MPI_Win handle) {
    FIND_WINDOW(window, handle);
    CHECK_EXPOSED();
    int error =
        PMPI_Waitall(window->exposure.count, window->exposure.requests, MPI_STATUSES_IGNORE);
    close(&window->exposure);
    return error;
}
MPI_NAME(Win_wait);

int PMPI_Win_test(MPI_Win handle, int *flag) {
    FIND_WINDOW(window, handle);
    CHECK_EXPOSED();
    int error =
        PMPI_Testall(window->exposure.count, window->exposure.requests, flag, MPI_STATUSES_IGNORE);
    if (*flag)
        close(&window->exposure);
    return error;
}
MPI_NAME(Win_test);
