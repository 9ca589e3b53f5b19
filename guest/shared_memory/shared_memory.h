/* Shared memory in user space: the same addresses on every node, kept coherent block by block by a
 * protocol of active messages (the Tempest interface of cni-isca96 Section 4.1 and ni-design-hpca98
 * Section 5.1, which assume hardware for fine-grain access control).
 *
 * Each node has a copy of the shared segment in its own memory, and for each of its blocks an
 * access tag: none, read or write. The memory system checks the tag of every access at no cost; an
 * access that its tag forbids runs a handler on this processor, which fetches the block from its
 * home node and makes the access again. Every block has a home, whose memory holds it, and its
 * directory, as long as no other node may write it.
 *
 *     narthex_shared_start(1 << 20, 128);                      // all nodes: 1 MiB, blocks of 128
 * bytes double *grid = narthex_shared_allocate(bytes, 0, 4096);  // all nodes get the same address
 *     grid[i] = 1.0;                                           // any node, any time
 *
 * Two rules. A node answers others' requests in narthex_poll, barriers, locks and its own faults
 * only: a long computation polls now and then. And shared memory is not touched in a handler, nor
 * passed to narthex_send: a fault there would have to wait for messages (the run ends with an
 * error).
 *
 * Blocks are coherent and accesses of one node are seen in its order; races are settled with locks
 * and barriers as usual. A datum that lies in two blocks (one that is not aligned to its size)
 * costs two faults, and may cost more if others want the blocks too. Natively there is one node,
 * and shared memory is ordinary memory.
 *
 * Which node has which copies is decided by the protocol in protocols/invalidation.def; protocol.h
 * lets a program replace it for an allocation.
 *
 * Errors. As in narthex.h: a wrong call ends the run. */
#ifndef NARTHEX_SHARED_MEMORY_H
#define NARTHEX_SHARED_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A page of the segment. Chunks of this size have their homes by address, whichever node writes
 * there, as pages have under Tempest's default protocol. */
#define NARTHEX_SHARED_PAGE_BYTES 4096

/* Sets the segment up: `bytes` bytes in blocks of `block_bytes` (a power of two, 16 to 1024).
 * Called once by every node with the same arguments, before anything else here but locks; returns
 * when every node has called it. */
void narthex_shared_start(size_t bytes, size_t block_bytes);

/* Allocates `bytes` bytes, zero at first and aligned to a block. Every node makes the same
 * allocations in the same order and gets the same addresses; returns when every node has called it.
 * Consecutive chunks of `chunk_bytes` (a
 * multiple of the block size) have the homes `home`, `home` + 1, ... modulo the number of nodes;
 * with `chunk_bytes` 0 all of it has the home `home`. There is no way to give it back. */
void *narthex_shared_allocate(size_t bytes, int home, size_t chunk_bytes);

/* The home of the block at `address`. */
int narthex_shared_home(const void *address);

/* Takes lock `number` (0 to 65535); waits, handling messages, while another node has it. Nodes get
 * it in the order in which they asked. The lock lives on node `number` modulo the number of nodes.
 */
void narthex_lock(int number);

/* Gives the lock back. */
void narthex_unlock(int number);

#ifdef __cplusplus
}
#endif

#endif
