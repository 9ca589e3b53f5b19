/* The address regions of the emulation (emulation.c): those that the program defines; all other
 * addresses are the emulated hardware's own. */
#ifndef NARTHEX_SARC_EMULATED_REGIONS_H
#define NARTHEX_SARC_EMULATED_REGIONS_H

#include <stdint.h>

/* Where an address is, for an access that needs these permissions (SARC_LOADS, SARC_STORES; 0:
 * none). Ends the program if no region covers it, or its region forbids the access. */
uint64_t *sarc_emulated_place(uint64_t address, unsigned needed);

/* What the kernel agent does for SARC_DEFINE_REGION and SARC_REMOVE_REGION. Return 0 or an errno.
 */
int sarc_emulate_region(const uint64_t *words);
int sarc_forget_region(uint64_t start);

#endif
