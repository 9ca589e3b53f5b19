/* What the poll shows. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_EVENTS_H
#define NARTHEX_FIRMWARE_VOYAGER_EVENTS_H

/* Waits until no operation is suspended any more. */
void finish_operations(void);

/* Takes all pointers that were captured. */
void take_captures(void);

#endif
