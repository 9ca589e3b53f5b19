/* What the kernel agent asks for: queues are opened and closed. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_AGENT_H
#define NARTHEX_FIRMWARE_VOYAGER_AGENT_H

#include <stdint.h>

void agent_start(void);

/* Carries out the agent's oldest command, whose first doubleword this is. */
void carry_out(uint64_t first);

#endif
