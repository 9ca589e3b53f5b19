/* Doorbells of VIs. */
#ifndef NARTHEX_FIRMWARE_VIA_DOORBELLS_H
#define NARTHEX_FIRMWARE_VIA_DOORBELLS_H

/* Does what the oldest doorbell asks. */
void answer_doorbell(void);

#endif
