/* Waits and tests. */
#include "mpi/errors.h"
#include "mpi/matching.h"
#include "mpi/messages.h"

/* The request of a handle that is under way or done; NULL where there is nothing to wait for. */
static int find(MPI_Request handle, struct request **found, const char *function) {
    struct request *request = (struct request *)handle;
    *found = NULL;
    if (mpi_state != ACTIVE)
        return mpi_error_communicator(MPI_COMM_WORLD, function);
    if (handle == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    if (is_constant(handle) || request->mark != REQUEST_MARK)
        return mpi_error(NULL, MPI_ERR_REQUEST, function,
                         "the request is none: it is over, or was never set");
    if (!request->is.is_persistent || request->is.is_active)
        *found = request;
    return MPI_SUCCESS;
}

/* Takes the result of a request that is done. */
static int take(struct request *request, MPI_Request *handle, MPI_Status *status,
                const char *function) {
    int error = end_request(request, status, function);
    if (request->is.is_persistent) {
        request->is.is_active = false;
    } else {
        free_request(request);
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

int PMPI_Wait(MPI_Request *handle, MPI_Status *status) {
    struct request *request;
    int error = find(*handle, &request, FUNCTION);
    if (error)
        return error;
    if (!request) {
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    wait_until_done(request, FUNCTION);
    await_departure();
    return take(request, handle, status, FUNCTION);
}
MPI_NAME(Wait);

int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status) {
    struct request *request;
    int error = find(*handle, &request, FUNCTION);
    if (error)
        return error;
    *flag = 1;
    if (!request) {
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    if (!request->is.is_done)
        progress();
    *flag = request->is.is_done;
    if (*flag)
        await_departure();
    return *flag ? take(request, handle, status, FUNCTION) : MPI_SUCCESS;
}
MPI_NAME(Test);

/* The status of one of many. */
static MPI_Status *status_at(MPI_Status *statuses, int index) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

/* Takes the results of all, which are done. */
static int take_all(int count, MPI_Request requests[], MPI_Status statuses[],
                    const char *function) {
    int all = MPI_SUCCESS;
    await_departure();
    for (int index = 0; index < count; index++) {
        struct request *request;
        MPI_Status *status = status_at(statuses, index);
        int error = find(requests[index], &request, function);
        if (request)
            error = take(request, &requests[index], status, function);
        else
            set_empty_status(status);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = error;
        if (error)
            all = MPI_ERR_IN_STATUS;
    }
    return all;
}

int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    struct communicator *comm = NULL;
    CHECK_COUNT(count);
    for (int index = 0; index < count; index++) {
        struct request *request;
        int error = find(requests[index], &request, FUNCTION);
        if (error)
            return error;
        if (request)
            wait_until_done(request, FUNCTION);
    }
    return take_all(count, requests, statuses, FUNCTION);
}
MPI_NAME(Waitall);

/* How many there are, how many of them are done, and the first that is and that is not. */
struct survey {
    int active, done, first_done;
    struct request *first_open;
};

static int survey(int count, MPI_Request requests[], struct survey *found, const char *function) {
    *found = (struct survey){0, 0, MPI_UNDEFINED, NULL};
    for (int index = 0; index < count; index++) {
        struct request *request;
        int error = find(requests[index], &request, function);
        if (error)
            return error;
        if (!request)
            continue;
        found->active += 1;
        if (request->is.is_done && found->done++ == 0)
            found->first_done = index;
        else if (!request->is.is_done && !found->first_open)
            found->first_open = request;
    }
    return MPI_SUCCESS;
}

/* Waits until one is done, if there is any. */
static int wait_for_one(int count, MPI_Request requests[], struct survey *found,
                        const char *function) {
    int error = survey(count, requests, found, function);
    if (error || found->active == 0 || found->done > 0)
        return error;
    awaits(found->first_open, function);
    while (!error && found->done == 0) {
        progress();
        error = survey(count, requests, found, function);
    }
    awaits(NULL, NULL);
    return error;
}

/* Looks once, lets what is under way go on, and looks again. */
static int test_for(int count, MPI_Request requests[], struct survey *found, const char *function) {
    int error = survey(count, requests, found, function);
    if (error || found->active == 0 || found->done == found->active)
        return error;
    progress();
    return survey(count, requests, found, function);
}

/* Takes the first that is done. */
static int take_first(MPI_Request requests[], const struct survey *found, int *index,
                      MPI_Status *status, const char *function) {
    *index = found->first_done;
    if (*index == MPI_UNDEFINED) {
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    MPI_Request *handle = &requests[*index];
    await_departure();
    return take((struct request *)*handle, handle, status, function);
}

/* Takes all that are done. */
static int take_some(int count, MPI_Request requests[], const struct survey *found, int *completed,
                     int indices[], MPI_Status statuses[], const char *function) {
    int all = MPI_SUCCESS, taken = 0;
    await_departure();
    for (int index = 0; index < count && found->active > 0; index++) {
        struct request *request;
        MPI_Status *status = status_at(statuses, taken);
        if (find(requests[index], &request, function) || !request || !request->is.is_done)
            continue;
        int error = take(request, &requests[index], status, function);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = error;
        if (error)
            all = MPI_ERR_IN_STATUS;
        indices[taken++] = index;
    }
    *completed = found->active == 0 ? MPI_UNDEFINED : taken;
    return all;
}

int PMPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    struct survey found;
    int error = wait_for_one(count, requests, &found, FUNCTION);
    return error ? error : take_first(requests, &found, index, status, FUNCTION);
}
MPI_NAME(Waitany);

int PMPI_Waitsome(int count, MPI_Request requests[], int *completed, int indices[],
                  MPI_Status statuses[]) {
    struct survey found;
    int error = wait_for_one(count, requests, &found, FUNCTION);
    return error ? error
                 : take_some(count, requests, &found, completed, indices, statuses, FUNCTION);
}
MPI_NAME(Waitsome);

int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    struct survey found;
    int error = test_for(count, requests, &found, FUNCTION);
    if (error)
        return error;
    *flag = found.done == found.active;
    return *flag ? take_all(count, requests, statuses, FUNCTION) : MPI_SUCCESS;
}
MPI_NAME(Testall);

int PMPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    struct survey found;
    int error = test_for(count, requests, &found, FUNCTION);
    if (error)
        return error;
    *flag = found.done > 0 || found.active == 0;
    *index = MPI_UNDEFINED;
    return *flag ? take_first(requests, &found, index, status, FUNCTION) : MPI_SUCCESS;
}
MPI_NAME(Testany);

int PMPI_Testsome(int count, MPI_Request requests[], int *completed, int indices[],
                  MPI_Status statuses[]) {
    struct survey found;
    int error = test_for(count, requests, &found, FUNCTION);
    return error ? error
                 : take_some(count, requests, &found, completed, indices, statuses, FUNCTION);
}
MPI_NAME(Testsome);

int PMPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status) {
    struct request *request;
    int error = find(handle, &request, FUNCTION);
    if (error)
        return error;
    *flag = 1;
    if (!request) {
        set_empty_status(status);
        return MPI_SUCCESS;
    }
    if (!request->is.is_done)
        progress();
    *flag = request->is.is_done;
    return *flag ? end_request(request, status, FUNCTION) : MPI_SUCCESS;
}
MPI_NAME(Request_get_status);

int PMPI_Request_free(MPI_Request *handle) {
    struct request *request = (struct request *)*handle, *active;
    struct communicator *comm = NULL;
    CHECK(*handle != MPI_REQUEST_NULL, MPI_ERR_REQUEST, "the request is MPI_REQUEST_NULL");
    int error = find(*handle, &active, FUNCTION);
    if (error)
        return error;
    if (request->is.is_persistent && request->is.is_done)
        release_datatype(request->type);
    request->is.is_plain = false;
    if (request->is.is_done)
        free_request(request);
    else
        request->is.is_orphan = true;
    *handle = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
MPI_NAME(Request_free);

int PMPI_Cancel(MPI_Request *handle) {
    struct request *request;
    int error = find(*handle, &request, FUNCTION);
    if (error)
        return error;
    struct communicator *comm = NULL;
    CHECK(request, MPI_ERR_REQUEST, "the request is not under way");
    if (request->is.kind == RECEIVE_REQUEST && !request->is.is_done && unpost(request)) {
        request->is.is_cancelled = true;
        complete(request);
    }
    return MPI_SUCCESS;
}
MPI_NAME(Cancel);

int PMPI_Test_cancelled(const MPI_Status *status, int *flag) {
    *flag = status->MPI_internal[2] != 0;
    return MPI_SUCCESS;
}
MPI_NAME(Test_cancelled);
