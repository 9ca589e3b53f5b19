/* The interface's memory behind the firmware: first fit, by blocks of the bus. Only requests of the
 * kernel agent take memory. */
#ifndef NARTHEX_FIRMWARE_VIA_MEMORY_H
#define NARTHEX_FIRMWARE_VIA_MEMORY_H

#include <stdint.h>

/* Takes the memory from here to there. */
void memory_start(uint64_t start, uint64_t end);

/* Memory at a block's beginning, or 0 if there is not enough. What is in it stays. */
uint64_t memory_take(uint64_t bytes);

void memory_give(uint64_t address);

/* Bytes that nothing has, those in front of pieces included. */
uint64_t memory_left(void);

#endif
