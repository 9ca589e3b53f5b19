/* What senders of blocks are told whose receivers have not registered what they go to. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_REFUSALS_H
#define NARTHEX_FIRMWARE_VOYAGER_REFUSALS_H

#include "firmware/voyager/nic.h"

void refusals_start(void);

/* Has the sender told, a rank of the job of this node's process, by its node's logical receive
 * queue. */
void refuse_block(uint64_t process, uint64_t rank, uint64_t told);

/* How many have been refused and sent. */
struct refusal_counts {
    uint32_t first, next; /* they wrap together */
};
extern struct refusal_counts refusals;

void send_owed_refusals(void);

/* Sends those that found no room before. */
static inline void send_refusals(void) {
    if (refusals.first != refusals.next)
        send_owed_refusals();
}

#endif
