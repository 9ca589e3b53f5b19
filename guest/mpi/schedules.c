#include "mpi/schedules.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "mpi/collectives.h"
#include "mpi/transport.h"
#include "runtime/marker.h"

enum step_kind { SEND, RECEIVE, COPY, REDUCE, FENCE };

struct step {
    enum step_kind kind;
    int rank;
    struct elements from, to; /* a send's data are `from`, a receive's `to`, a reduction's both */
    struct operation *operation;
};

/* In front of memory that a list has taken. */
struct memory {
    struct memory *next;
    void *address;
};

struct schedule {
    struct schedule *next; /* in the list of those under way, or of unused ones */
    struct communicator *comm;
    const char *function;
    int tag;
    size_t steps, room, position;
    struct step *step;
    size_t pending, pending_room;
    struct request **begun; /* since the last fence */
    struct memory *memory;
    struct request *request; /* of a nonblocking one */
    int error;
};

static struct schedule *unused, *under_way;
static const struct schedule *running; /* the blocking one */

struct schedule *new_schedule(struct communicator *comm, int tag, const char *function) {
    struct schedule *schedule = unused;
    if (schedule) {
        unused = schedule->next;
    } else {
        schedule = mpi_allocate(sizeof *schedule);
        *schedule = (struct schedule){0};
    }
    schedule->comm = comm;
    schedule->function = function;
    schedule->tag = tag;
    schedule->steps = schedule->position = schedule->pending = 0;
    schedule->memory = NULL;
    schedule->request = NULL;
    schedule->error = MPI_SUCCESS;
    return schedule;
}

/* Building */

static void *grown(void *memory, size_t *room, size_t each) {
    *room = *room ? 2 * *room : 16;
    memory = realloc(memory, *room * each);
    narthex_check(memory, "rank %d has no memory left for a collective's steps", world.rank);
    return memory;
}

static struct step *new_step(struct schedule *schedule, enum step_kind kind, int rank) {
    if (schedule->steps == schedule->room)
        schedule->step = grown(schedule->step, &schedule->room, sizeof *schedule->step);
    struct step *step = &schedule->step[schedule->steps++];
    step->kind = kind;
    step->rank = rank;
    return step;
}

void step_send(struct schedule *schedule, int rank, struct elements data) {
    if (data.count * data.type->size > 0)
        new_step(schedule, SEND, rank)->from = data;
}

void step_receive(struct schedule *schedule, int rank, struct elements data) {
    if (data.count * data.type->size > 0)
        new_step(schedule, RECEIVE, rank)->to = data;
}

static struct elements nothing(void) {
    return elements(NULL, 0, find_datatype(MPI_BYTE));
}

void step_signal(struct schedule *schedule, int rank) {
    new_step(schedule, SEND, rank)->from = nothing();
}

void step_await_signal(struct schedule *schedule, int rank) {
    new_step(schedule, RECEIVE, rank)->to = nothing();
}

void step_copy(struct schedule *schedule, struct elements from, struct elements to) {
    if (from.count * from.type->size == 0)
        return;
    struct step *step = new_step(schedule, COPY, 0);
    step->from = from;
    step->to = to;
}

void step_reduce(struct schedule *schedule, struct operation *operation, const void *in,
                 struct elements inout) {
    struct step *step = new_step(schedule, REDUCE, 0);
    step->from = elements(in, inout.count, inout.type);
    step->to = inout;
    step->operation = operation;
}

void step_fence(struct schedule *schedule) {
    new_step(schedule, FENCE, 0);
}

void *step_memory(struct schedule *schedule, size_t count, const struct datatype *type) {
    struct memory *memory = mpi_allocate(sizeof *memory);
    memory->next = schedule->memory;
    schedule->memory = memory;
    return allocate_elements(count, type, &memory->address);
}

/* Carrying out */

static struct request *message_of(const struct schedule *schedule, const struct step *step) {
    bool sends = step->kind == SEND;
    const struct elements *data = sends ? &step->from : &step->to;
    struct request *request = new_request(sends ? SEND_REQUEST : RECEIVE_REQUEST, schedule->comm);
    request->peer = world_rank(schedule->comm, step->rank);
    request->tag = schedule->tag;
    request->context = schedule->comm->context + 1;
    request->key = envelope_of(EAGER, request->context, request->tag);
    request->function = schedule->function;
    request->buffer = data->buffer;
    request->count = data->count;
    request->type = data->type;
    request->is.is_plain = !sends && data->type->name && data->type->is_contiguous;
    retain_datatype(request->type);
    return request;
}

static void begin_message(struct schedule *schedule, const struct step *step) {
    const struct elements *data = &step->from;
    if (step->kind == SEND &&
        send_eager(world_rank(schedule->comm, step->rank), schedule->comm->context + 1,
                   schedule->tag, data->buffer, data->count, data->type))
        return;
    struct request *request = message_of(schedule, step);
    if (schedule->pending == schedule->pending_room)
        schedule->begun = grown(schedule->begun, &schedule->pending_room, sizeof(struct request *));
    schedule->begun[schedule->pending++] = request;
    if (step->kind == SEND)
        start_send(request);
    else
        start_receive(request);
}

/* The first message that has begun and is not done; NULL if all are, whose requests are freed. */
static struct request *open_message(struct schedule *schedule) {
    while (schedule->pending > 0) {
        struct request *request = schedule->begun[schedule->pending - 1];
        if (!request->is.is_done)
            return request;
        if (request->error)
            schedule->error = request->error;
        free_request(request);
        schedule->pending -= 1;
    }
    return NULL;
}

/* Carries out what can be; returns the message that it waits for, NULL at the end. */
static struct request *advance(struct schedule *schedule) {
    struct request *open;
    while (schedule->position < schedule->steps) {
        const struct step *step = &schedule->step[schedule->position];
        switch (step->kind) {
        case SEND:
        case RECEIVE:
            begin_message(schedule, step);
            break;
        case COPY:
            copy_elements(step->from.buffer, step->from.count, step->from.type, step->to.buffer,
                          step->to.count, step->to.type);
            break;
        case REDUCE:
            operate(step->operation, step->from.buffer, step->to.buffer, step->to.count,
                    step->to.type);
            break;
        case FENCE:
            if ((open = open_message(schedule)))
                return open;
            break;
        }
        schedule->position += 1;
    }
    return open_message(schedule);
}

/* The end: returns its error as its communicator wants it. */
static int end(struct schedule *schedule) {
    while (schedule->memory) {
        struct memory *memory = schedule->memory;
        schedule->memory = memory->next;
        free(memory->address);
        free(memory);
    }
    int error = schedule->error;
    schedule->next = unused;
    unused = schedule;
    if (error)
        error = mpi_error(schedule->comm, error, schedule->function,
                          "another rank sent more than this one expects: the counts differ");
    return error;
}

int run_schedule(struct schedule *schedule) {
    struct request *open;
    const struct schedule *outer = running; /* an operation of a program may call MPI */
    running = schedule;
    ENTER(ACTIVITY_SYNCHRONISATION);
    while ((open = advance(schedule))) {
        awaits(open, schedule->function);
        do
            progress();
        while (!open->is.is_done);
    }
    awaits(NULL, NULL);
    LEAVE();
    running = outer;
    return end(schedule);
}

int start_schedule(struct schedule *schedule, MPI_Request *handle) {
    struct request *request = new_request(COLLECTIVE_REQUEST, schedule->comm);
    request->schedule = schedule;
    request->function = schedule->function;
    schedule->request = request;
    *handle = (MPI_Request)request;
    if (advance(schedule)) {
        schedule->next = under_way;
        under_way = schedule;
        mpi_under_way += 1;
        return MPI_SUCCESS;
    }
    int error = end(schedule);
    complete(request);
    return error;
}

int finish_schedule(struct schedule *schedule, MPI_Request *request) {
    return request ? start_schedule(schedule, request) : run_schedule(schedule);
}

bool are_schedules_under_way(void) {
    return under_way;
}

static void check_one(const struct schedule *schedule, uint16_t context, int source, int tag) {
    if (schedule->comm->context + 1 == context)
        check_same_collective(schedule->comm, schedule->tag, source, tag);
}

void check_running_collectives(uint16_t context, int source, int tag) {
    if (running)
        check_one(running, context, source, tag);
    for (const struct schedule *schedule = under_way; schedule; schedule = schedule->next)
        check_one(schedule, context, source, tag);
}

void advance_schedules(void) {
    static bool is_advancing; /* see run_schedule */
    if (is_advancing)
        return;
    is_advancing = true;
    for (struct schedule **link = &under_way; *link;) {
        struct schedule *schedule = *link;
        struct request *open = advance(schedule);
        if (open) {
            link = &schedule->next;
            continue;
        }
        *link = schedule->next;
        mpi_under_way -= 1;
        complete(schedule->request);
        end(schedule);
    }
    is_advancing = false;
}
