/* Windows: made, freed, and their epochs. */
#include "mpi/windows.h"

#include <stdlib.h>
#include <string.h>

struct window *find_window(MPI_Win handle) {
    struct window *window = (struct window *)handle;
    return !is_constant(handle) && window->mark == WINDOW_MARK ? window : NULL;
}

/* All ranks make it together. `allocated` is freed with it. */
static int make(void *base, MPI_Aint bytes, int unit, MPI_Comm handle, void *allocated,
                MPI_Win *made, const char *function) {
    FIND_COMMUNICATOR_IN(function, comm, handle);
    CHECK_IN(function, bytes >= 0, MPI_ERR_SIZE, "the window has %lld bytes", (long long)bytes);
    CHECK_IN(function, unit > 0, MPI_ERR_DISP, "a displacement has %d bytes", unit);
    MPI_Comm own;
    int error = PMPI_Comm_dup(handle, &own);
    if (error)
        return error;
    struct window *window = mpi_allocate(sizeof *window);
    *window = (struct window){.mark = WINDOW_MARK,
                              .comm = find_communicator(own),
                              .base = base,
                              .bytes = (size_t)bytes,
                              .unit = unit,
                              .allocated = allocated};
    window->wishes_end = &window->wishes;
    size_t counters = (size_t)comm->size * sizeof *window->pending;
    window->pending = mpi_allocate(counters);
    memset(window->pending, 0, counters);
    strcpy(window->comm->name, "a window");
    window_register(window);
    *made = (MPI_Win)window;
    return PMPI_Barrier(own); /* every rank knows it before the first message */
}

int PMPI_Win_create(void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm,
                    MPI_Win *window) {
    (void)info;
    return make(base, bytes, unit, comm, NULL, window, FUNCTION);
}
MPI_NAME(Win_create);

int PMPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base,
                      MPI_Win *window) {
    (void)info;
    void *memory = mpi_allocate(bytes > 0 ? (size_t)bytes : 1);
    *(void **)base = memory;
    return make(memory, bytes, unit, comm, memory, window, FUNCTION);
}
MPI_NAME(Win_allocate);

/* Memory for windows, or for any other use. */
int PMPI_Alloc_mem(MPI_Aint bytes, MPI_Info info, void *base) {
    (void)info;
    struct communicator *comm = NULL;
    CHECK_ACTIVE();
    CHECK(bytes >= 0, MPI_ERR_ARG, "the memory has %lld bytes", (long long)bytes);
    *(void **)base = mpi_allocate((size_t)bytes);
    return MPI_SUCCESS;
}
MPI_NAME(Alloc_mem);

int PMPI_Free_mem(void *base) {
    free(base);
    return MPI_SUCCESS;
}
MPI_NAME(Free_mem);

int PMPI_Win_free(MPI_Win *handle) {
    FIND_WINDOW(window, *handle);
    flush_whole_window(window, FUNCTION);
    MPI_Comm own = communicator_handle(comm);
    int error = PMPI_Barrier(own);
    if (error)
        return error;
    window_unregister(window);
    window->mark = 0;
    free(window->allocated);
    free(window->pending);
    *handle = MPI_WIN_NULL;
    return PMPI_Comm_free(&own);
}
MPI_NAME(Win_free);

int PMPI_Win_get_group(MPI_Win handle, MPI_Group *group) {
    FIND_WINDOW(window, handle);
    return PMPI_Comm_group(communicator_handle(comm), group);
}
MPI_NAME(Win_get_group);

#define CHECK_TARGET_IN(function, rank)                                                            \
    CHECK_IN(function, (unsigned)(rank) < (unsigned)comm->size, MPI_ERR_RANK,                      \
             "the target is rank %d, and ranks are 0 to %d", (rank), comm->size - 1)
#define CHECK_TARGET(rank) CHECK_TARGET_IN(FUNCTION, rank)

/* Flushes are the same to the target as to the origin alone: answers come from the target. */
static int flush(MPI_Win handle, int rank, const char *function) {
    FIND_WINDOW_IN(function, window, handle);
    CHECK_TARGET_IN(function, rank);
    flush_window(window, rank, function);
    return MPI_SUCCESS;
}

static int flush_all(MPI_Win handle, const char *function) {
    FIND_WINDOW_IN(function, window, handle);
    flush_whole_window(window, function);
    return MPI_SUCCESS;
}

int PMPI_Win_fence(int assertions, MPI_Win handle) {
    (void)assertions;
    FIND_WINDOW(window, handle);
    flush_whole_window(window, FUNCTION);
    return PMPI_Barrier(communicator_handle(comm));
}
MPI_NAME(Win_fence);

/* Asks for a lock, and waits for it. */
static void lock(struct window *window, int rank, bool is_exclusive, const char *function) {
    window->is_granted = false;
    send_to_window(window, rank, (struct window_header){.kind = LOCK, .is_exclusive = is_exclusive},
                   NULL, 0);
    window_waits(window, rank, function);
    while (!*(volatile bool *)&window->is_granted)
        progress();
    window_waited();
}

/* What this rank has begun at the other is over before it gives the lock back. */
static void unlock(struct window *window, int rank, const char *function) {
    flush_window(window, rank, function);
    send_to_window(window, rank, (struct window_header){.kind = UNLOCK}, NULL, 0);
    flush_window(window, rank, function);
}

int PMPI_Win_lock(int type, int rank, int assertions, MPI_Win handle) {
    (void)assertions;
    FIND_WINDOW(window, handle);
    CHECK(type == MPI_LOCK_EXCLUSIVE || type == MPI_LOCK_SHARED, MPI_ERR_LOCKTYPE,
          "the type of lock is %d", type);
    CHECK_TARGET(rank);
    lock(window, rank, type == MPI_LOCK_EXCLUSIVE, FUNCTION);
    return MPI_SUCCESS;
}
MPI_NAME(Win_lock);

int PMPI_Win_unlock(int rank, MPI_Win handle) {
    FIND_WINDOW(window, handle);
    CHECK_TARGET(rank);
    unlock(window, rank, FUNCTION);
    return MPI_SUCCESS;
}
MPI_NAME(Win_unlock);

int PMPI_Win_lock_all(int assertions, MPI_Win handle) {
    (void)assertions;
    FIND_WINDOW(window, handle);
    for (int rank = 0; rank < comm->size; rank++)
        lock(window, rank, false, FUNCTION);
    return MPI_SUCCESS;
}
MPI_NAME(Win_lock_all);

int PMPI_Win_unlock_all(MPI_Win handle) {
    FIND_WINDOW(window, handle);
    for (int rank = 0; rank < comm->size; rank++)
        unlock(window, rank, FUNCTION);
    return MPI_SUCCESS;
}
MPI_NAME(Win_unlock_all);

int PMPI_Win_flush(int rank, MPI_Win handle) {
    return flush(handle, rank, FUNCTION);
}
MPI_NAME(Win_flush);

int PMPI_Win_flush_all(MPI_Win handle) {
    return flush_all(handle, FUNCTION);
}
MPI_NAME(Win_flush_all);

int PMPI_Win_flush_local(int rank, MPI_Win handle) {
    return flush(handle, rank, FUNCTION);
}
MPI_NAME(Win_flush_local);

int PMPI_Win_flush_local_all(MPI_Win handle) {
    return flush_all(handle, FUNCTION);
}
MPI_NAME(Win_flush_local_all);

/* Memory is the same for loads and messages: there is nothing to be done. */
int PMPI_Win_sync(MPI_Win handle) {
    FIND_WINDOW(window, handle);
    return MPI_SUCCESS;
}
MPI_NAME(Win_sync);
