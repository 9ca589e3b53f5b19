/* Registrations that wait for room: "If memory registration cannot proceed because of lack of free
 * space in the NI memory, it can be postponed until a free space is available or EDT-based NI can
 * fall back to DMA-based transfer" (Section 5). Which of the two, interfaces.via.when_full says. */
#ifndef NARTHEX_FIRMWARE_VIA_POSTPONED_H
#define NARTHEX_FIRMWARE_VIA_POSTPONED_H

#include "firmware/via/state.h"

/* Answers a registration once its region has a copy, or is to have none; at once if regions without
 * room fall back to DMA. */
void answer_registration(struct region *region, uint64_t process, uint64_t sequence);

/* Tries again, in the order of their calls, after room has become free. */
void try_postponed(void);

/* A region goes: its registration does not wait any more. */
void forget_postponed(const struct region *region);

#endif
