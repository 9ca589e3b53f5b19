/* Writes into serviced space: each is a message of one of its process's transmit queues. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_WRITES_H
#define NARTHEX_FIRMWARE_VOYAGER_WRITES_H

#include <stdint.h>

/* A store that no queue takes is approved with this: its bytes go nowhere. */
enum { NOWHERE = 0 };

/* A store has been captured: one that waits is tried again until it is approved, with a slot or
 * with `otherwise`; one that is over has left its doubleword in the slot (VOYAGER_OFFSET_CARRIED).
 */
void take_serviced_store(uint64_t offset, uint64_t otherwise);

#endif
