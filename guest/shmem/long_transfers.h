/* Puts and gets by block transfers, over interfaces that have them (messaging/long_puts.h):
 *
 *     source                                     target
 *     offer: place, bytes        ──────────►     registers its memory
 *     transfer   ◄──────────  grant: address, channel; or no address: the put goes in packets
 *     all data   ═════════════════════════►      its memory, and the put counts as done
 *
 * A get has the grant with it, as its own PE is the target of the data. If the other one cannot
 * register its memory, it says so, and the data come in packets.
 *
 * Only programs that are linked for such an interface have them (LONG_MESSAGES). */
#ifndef NARTHEX_SHMEM_LONG_TRANSFERS_H
#define NARTHEX_SHMEM_LONG_TRANSFERS_H

#include "messaging/long_puts.h"
#include "shmem/protocol.h"

#ifdef LONG_MESSAGES

/* Less is not worth an offer and a grant. Measured: docs/openshmem.md. */
enum { LONG_BYTES = 1024 };

/* Asks the target for its memory; whether it has granted it, and `grant` then says how. */
bool shmem_offer_put(int pe, struct header header, uint64_t bytes, struct long_grant *grant);

/* Asks for bytes at a place, to come to `dest` by a transfer; whether this PE could grant it. */
bool shmem_request_block(int pe, struct header header, void *dest, uint64_t bytes);

/* A request for a block, its data, and a refusal, that have come. */
void shmem_block_asked(int source, const struct header *header);
void shmem_block_came(const struct header *header);
void shmem_block_refused(const struct header *header);

/* Sends data that were asked for in packets (handling.c). */
void shmem_reply(int pe, uint64_t address, const void *data, size_t bytes, unsigned completion);

/* An offer, and the answer to one, that have come. */
void shmem_offer_arrived(int source, const struct header *header);
void shmem_grant_arrived(const struct header *header);

#endif

#endif
