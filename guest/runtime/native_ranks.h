/* Several ranks without the simulator: processes of the host, each a machine's node, that share the
 * memory in which their packets cross. */
#ifndef NARTHEX_RUNTIME_NATIVE_RANKS_H
#define NARTHEX_RUNTIME_NATIVE_RANKS_H

#include <stddef.h>

/* The most ranks: memory for queues grows with the square of their number. */
enum { NATIVE_RANKS_LIMIT = 64 };

/* How many ranks the environment variable NARTHEX_RANKS asks for; 1 without it. */
int native_ranks(void);

/* Starts `ranks` processes, and returns in each of them its rank. They share `bytes` of memory,
 * zeros at first, at `*shared`. The calling process does not return: it waits for them and exits
 * with their exit code. If one fails, it says which one, and ends the others. */
int start_native_ranks(int ranks, size_t bytes, void **shared);

#endif
