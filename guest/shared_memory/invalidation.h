/* The protocol of all shared memory that is allocated without one of its own: invalidation, as
 * protocols/invalidation.def has it. */
#ifndef NARTHEX_SHARED_MEMORY_INVALIDATION_H
#define NARTHEX_SHARED_MEMORY_INVALIDATION_H

#include "shared_memory/protocol.h"

extern const struct narthex_protocol invalidation_protocol;

/* Prepares it; called once, when the segment has been set up. */
void invalidation_start(void);

#endif
