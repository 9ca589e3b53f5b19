/* Commands of the kernel agent: what it has checked, and the firmware has to finish. */
#ifndef NARTHEX_FIRMWARE_VIA_COMMANDS_H
#define NARTHEX_FIRMWARE_VIA_COMMANDS_H

/* Carries out the oldest command. */
void carry_out_command(void);

#endif
