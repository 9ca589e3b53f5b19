/* Several ranks without the simulator: processes of the host, each a machine's node, that share the
 * memory in which their packets cross. */
#ifndef NARTHEX_RUNTIME_NATIVE_RANKS_H
#define NARTHEX_RUNTIME_NATIVE_RANKS_H

#include <stddef.h>

/* The most that are started: each has a queue from each. */
enum { NATIVE_RANKS_LIMIT = 64 };

/* How many ranks the environment variable NARTHEX_RANKS asks for; 1 without it. */
int native_ranks(void);

/* Starts so many ranks, and returns the number of one in each of them. They share `bytes` of
 * memory, zeros at first, at `*shared`. The process that called waits for them, and ends as they
 * do: once one has failed it says which, and ends the others. */
int start_native_ranks(int ranks, size_t bytes, void **shared);

#endif
