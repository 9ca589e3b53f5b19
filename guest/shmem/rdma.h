/* Puts and gets by RDMA over VIA (via/vipl.h), in programs that are linked for it (RDMA).
 *
 *     initiator                                  target
 *     key asked: place           ──────────►     registers the granule of memory around it
 *               ◄──────────  key: address, handle; or refused: it goes in packets
 *     write     ═════════════════════════►       its memory
 *     read      ◄═════════════════════════       its memory
 *
 * A granule is asked for once: later transfers from and to it are the interfaces' alone. What has
 * been registered for others stays so. A PE has a VI for each other one, beside that of messages.
 *
 * Order. A question is a message as others (shmem/protocol.h): it is answered once all before the
 * last fence is done. So a write asks again when messages that it must not overtake may be under
 * way. Nothing has to wait for a write: the firmware serves doorbells in their order, and packets
 * of a node in theirs, so a message that is sent after a write has left is handled after it has
 * come. A write is not counted, but its target is asked at the next quiet. */
#ifndef NARTHEX_SHMEM_RDMA_H
#define NARTHEX_SHMEM_RDMA_H

#include "shmem/protocol.h"

#ifdef RDMA

/* What is shorter goes in packets. Measured: docs/openshmem.md. */
enum { RDMA_PUT_BYTES = 256, RDMA_GET_BYTES = 512 };

/* Connects all PEs if the interface has VIs enough. All call it together. */
void shmem_rdma_start(void);

/* Writes to the header's place, or reads from it, and returns when the data have left, or come.
 * False, and nothing is done, if memory cannot be registered. The header asks for the key. */
bool shmem_rdma_put(int pe, struct header header, const void *source, size_t bytes);
bool shmem_rdma_get(int pe, struct header header, void *dest, size_t bytes);

/* A question, and the answer to one, that have come. */
void shmem_key_asked(int source, const struct header *header);
void shmem_key_answered(int source, const struct header *header);

#endif

#endif
