/* Shared memory of StarT-Voyager (Ang, Chiou, Rudolph and Arvind, Section 4.1): a region that all
 * ranks of a job load from and store to as from and to memory of their own.
 *
 *     double *grid;
 *     int error = voyager_open_shared_memory((void **)&grid, bytes);
 *     grid[place] = 1;
 *     atomic_thread_fence(memory_order_seq_cst);
 *     narthex_barrier();
 *
 * Each process has a copy of the region in its part of the snooped space (S-COMA). The network
 * interface lets its loads and stores pass that the permission of a line of 32 bytes allows; others
 * are tried again until the service processor's firmware has brought the line and the permission
 * from the line's home. One copy of a line may be written, or several may be read: so ranks see
 * each other's stores in one order, atomic operations are atomic, and a store is visible to all
 * once a fence behind it is over. A load or store of a line that is here takes what one of any
 * memory takes.
 *
 * It needs the firmware `firmware/voyager-shared`
 * (`node.processors.service_processor.runs = "firmware/voyager-shared"`), and is not in programs on
 * Voyager-CNI, whose queues are in the snooped space. While a processor waits for a line it takes
 * nothing out of its queues: no more messages may be on their way to it then than its receive
 * queues have room for. */
#ifndef NARTHEX_VOYAGER_SHARED_MEMORY_H
#define NARTHEX_VOYAGER_SHARED_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Gives the region of this many bytes, the same number at all ranks of the job. Its bytes are 0
 * until a rank stores others. It begins at a multiple of 64 bytes and ends where the snooped space
 * ends, behind which nothing is mapped: an access behind it ends the program. Every call gives the
 * same memory. Returns 0 or an errno: ENOENT where the machine has no such interface, ENOSYS where
 * its firmware has no shared memory or the queues are in the snooped space, E2BIG if the job has
 * more than 64 ranks, ENOBUFS if a command queue has fewer than 32 doublewords
 * (`interfaces.voyager.command_words`), EINVAL for no bytes, ENOMEM for more than there are
 * (`interfaces.voyager.snooped`, at most 512 KiB of a node). */
int voyager_open_shared_memory(void **region, size_t bytes);

/* The rank whose firmware knows who has copies of the line at this address of the region. Pages of
 * 4 KiB of the snooped space have the ranks in turn as their homes; a home's own accesses to lines
 * of which no other has a copy take no message. */
int voyager_home_of(const void *address);

/* Bytes of a line, of which ranks have copies. */
enum { VOYAGER_SHARED_LINE_BYTES = 32 };

#ifdef __cplusplus
}
#endif

#endif
