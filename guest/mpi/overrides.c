#include "mpi/overrides.h"

#ifdef ONLY_DRIVER

#include <stdlib.h>
#include <string.h>

#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "mpi/requests.h"

struct override {
    enum collective collective;
    size_t most_bytes;
    int (*run)(const struct collective_call *call);
};

/* By the driver's name, as for ONLY_DRIVER. */
#define START_sarc sarc_collectives_start
#define OVERRIDES_sarc                                                                             \
    {BARRIER, 0, sarc_barrier}, {BROADCAST, SARC_COLLECTIVE_BYTES, sarc_broadcast},                \
        {ALLREDUCE, SARC_COLLECTIVE_BYTES, sarc_all_reduce},

#define START_OF(number, name) START_##name
#define OVERRIDES_OF(number, name) OVERRIDES_##name
static const struct override overrides[] = {ONLY_DRIVER(OVERRIDES_OF)};

static bool are_ready;

/* Whether the program's environment wants them. */
static bool are_wanted(void) {
    const char *wanted = getenv("NARTHEX_MPI_OVERRIDES");
    bool is_no = wanted && strcmp(wanted, "no") == 0;
    narthex_check(!wanted || is_no || strcmp(wanted, "yes") == 0,
                  "the environment's NARTHEX_MPI_OVERRIDES is \"%s\"; allowed are yes and no",
                  wanted);
    return !is_no;
}

void overrides_start(void) {
    are_ready = are_wanted() && ONLY_DRIVER(START_OF)();
}

static const struct override *override_for(const struct collective_call *call) {
    size_t bytes = call->data.type ? call->data.count * call->data.type->size : 0;
    for (size_t index = 0; index < sizeof overrides / sizeof *overrides; index++)
        if (overrides[index].collective == call->collective)
            return bytes <= overrides[index].most_bytes ? &overrides[index] : NULL;
    return NULL;
}

/* Values whose elements have gaps, or that programs have made, are reduced by messages. */
static bool is_of_one_block(const struct reduction *reduction) {
    return !reduction || (reduction->type->name && reduction->type->is_contiguous);
}

bool override_collective(struct schedule *schedule, const struct collective_call *call,
                         int *error) {
    const struct override *override = override_for(call);
    if (!are_ready || !override || call->comm->size != narthex_nodes() ||
        !is_of_one_block(call->reduction))
        return false;
    *error = run_override(schedule, override->run, call);
    return true;
}

/* Looks at the word a few times before it looks for messages, which takes longer. */
void await_word(const volatile uint64_t *place, unsigned bits, uint64_t value) {
    enum { LOOKS = 4 };
    for (;;) {
        for (int look = 0; look < LOOKS; look++)
            if (*place >> bits == value)
                return;
        progress();
    }
}

#else

typedef int no_overrides;

#endif
