/* Schedules: a collective as a list of steps.
 *
 * Steps are carried out in their order. Sends and receives only begin; a fence waits until all that
 * have begun are done. Whoever builds a list states for each step what it reads and writes; memory
 * that a list takes is freed at its end. A blocking collective walks through its list and lets
 * others go on while it waits; a nonblocking one joins those that progress() advances. */
#ifndef NARTHEX_MPI_SCHEDULES_H
#define NARTHEX_MPI_SCHEDULES_H

#include "mpi/operations.h"
#include "mpi/requests.h"

struct schedule;

/* Elements in memory. */
struct elements {
    void *buffer;
    size_t count;
    struct datatype *type;
};

static inline struct elements elements(const void *buffer, size_t count, struct datatype *type) {
    return (struct elements){(void *)(uintptr_t)buffer, count, type};
}

/* A new list for a collective of a communicator, whose messages have this tag. */
struct schedule *new_schedule(struct communicator *comm, int tag, const char *function);

/* Steps. Ranks are the communicator's. Nothing is sent, received or copied that has no elements,
 * but messages are (step_signal): they say that a rank has come this far. */
void step_send(struct schedule *schedule, int rank, struct elements data);
void step_receive(struct schedule *schedule, int rank, struct elements data);
void step_copy(struct schedule *schedule, struct elements from, struct elements to);
void step_signal(struct schedule *schedule, int rank);
void step_await_signal(struct schedule *schedule, int rank);
void step_fence(struct schedule *schedule);

/* `inout` becomes `in` op `inout`. */
void step_reduce(struct schedule *schedule, struct operation *operation, const void *in,
                 struct elements inout);

/* Memory for `count` elements, as the address of a buffer, until the end. */
void *step_memory(struct schedule *schedule, size_t count, const struct datatype *type);

/* Carries the list out; or begins to, and makes a request of it. */
int run_schedule(struct schedule *schedule);
int start_schedule(struct schedule *schedule, MPI_Request *request);

/* Carries the list out, or begins to where there is a request to be made. */
int finish_schedule(struct schedule *schedule, MPI_Request *request);

/* Whether nonblocking collectives are under way. */
bool are_schedules_under_way(void);

/* Checks a message of a collective that has come for no receive, by those of its context that have
 * begun and are not over (check_same_collective). */
void check_running_collectives(uint16_t context, int source, int tag);

/* Lets each nonblocking collective that is under way go on, if there is one. */
void advance_schedules(void);

#endif
