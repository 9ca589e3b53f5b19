/* How long the service processor is occupied by an invocation for a basic message.
 *
 * firmware/voyager takes what its code takes: nothing of this is in it. firmware/voyager-stated is
 * the same code, and fills each such invocation up to the cycles of Table 2, which the machine's
 * file states. The paper measured them as "the cost for each invocation of the sP" (Section 5.3.1),
 * to which "polling and then dispatching to these events, and saving and restoring the state"
 * contribute: so they count from the start of the poll that found the event. What the code takes
 * longer for stays; an invocation that does the work of several takes their sum. Blocks are not in
 * Table 2. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_OCCUPANCY_H
#define NARTHEX_FIRMWARE_VOYAGER_OCCUPANCY_H

#ifdef STATED_OCCUPANCY

#include "firmware/voyager/nic.h"

enum invocation {
    MARSHAL,
    LAUNCH,
    DEMULTIPLEX,
    FREE_BUFFER_OF_MESSAGE,
    RELEASE,
    A_BLOCK,
    INVOCATIONS
};

static struct {
    uint64_t stated[INVOCATIONS]; /* in cycles; a block's packet has none */
    uint64_t begin, cycles;       /* of the invocation under way */
} occupancy;

static inline void occupancy_start(void) {
    for (unsigned each = MARSHAL; each <= RELEASE; each++)
        occupancy.stated[each] =
            nic_load(REGISTER_VOYAGER_STATED_MARSHAL_CYCLES + each * DOUBLEWORD);
}

static inline void begin_invocation(void) {
    occupancy.begin = cycle_count();
    occupancy.cycles = 0;
}

static inline void end_invocation(void) {
    while (cycle_count() - occupancy.begin < occupancy.cycles)
        ;
}

#define OCCUPANCY_START() occupancy_start()
#define BEGIN_INVOCATION() begin_invocation()
#define TAKES(invocation) (occupancy.cycles += occupancy.stated[invocation])
#define END_INVOCATION() end_invocation()

#else

#define OCCUPANCY_START() ((void)0)
#define BEGIN_INVOCATION() ((void)0)
#define TAKES(invocation) ((void)0)
#define END_INVOCATION() ((void)0)

#endif

#endif
