/* Requests of the kernel agent, /dev/sarc. */
#ifndef NARTHEX_SARC_AGENT_H
#define NARTHEX_SARC_AGENT_H

#include <stdint.h>

/* Makes a request of SARC_REQUEST_WORDS doublewords: first what it takes, then what it gives.
 * Returns 0 or an errno. */
enum { SARC_REQUEST_WORDS = 8 };
int sarc_request(unsigned long number, uint64_t *words);

/* The emulation is told on which tile the calling thread is; a machine knows. */
#ifdef __riscv
static inline void sarc_emulate_tile(unsigned tile) {
    (void)tile;
}
#else
void sarc_emulate_tile(unsigned tile);
#endif

#endif
