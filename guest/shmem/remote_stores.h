/* Puts and gets by loads and stores of other PEs' memory: SARC's scratchpads, in which a part of
 * the symmetric heap lies there (guest/sarc). The target takes no part in them. Between
 * scratchpads, more than a few bytes go by the interface's copies. */
#ifndef NARTHEX_SHMEM_REMOTE_STORES_H
#define NARTHEX_SHMEM_REMOTE_STORES_H

#include <stddef.h>
#include <stdint.h>

#include "shmem/requests.h"

/* Takes scratchpad for the symmetric heap, as much as there is up to `bytes`, and returns where it
 * is and how much; 0 bytes where the interface has none. */
void *remote_start(size_t *bytes);

/* Where this PE loads and stores what `pe` has at `place`, which is in its scratchpad. */
void *remote_address(int pe, uint64_t place);

/* A put may change its source and a get has come when it returns, if it is BLOCKING; else when all
 * is complete (remote_fence). */
void remote_put(int pe, uint64_t place, const void *source, size_t bytes,
                enum shmem_completion completion);
void remote_get(int pe, uint64_t place, void *dest, size_t bytes, enum shmem_completion completion);

/* Elements of `width` bytes, `step` bytes apart there and `own_step` here. */
void remote_put_strided(int pe, uint64_t place, ptrdiff_t step, const void *source,
                        ptrdiff_t own_step, size_t width, size_t count);
void remote_get_strided(int pe, uint64_t place, ptrdiff_t step, void *dest, ptrdiff_t own_step,
                        size_t width, size_t count);

/* Returns when all that was put is there, and all that was got here. */
void remote_fence(void);

#endif
