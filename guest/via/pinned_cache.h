/* A pinned-down cache: registrations that are kept for the next message from the same memory ("the
 * request to de-register is delayed so that the pinned-down area can be reused", eager data
 * transfer, Section 5).
 *
 * It registers whole pages. A registration is released when all together would exceed the limit,
 * the one used longest ago first, or when a new one overlaps it: the new one is then of both. */
#ifndef NARTHEX_VIA_PINNED_CACHE_H
#define NARTHEX_VIA_PINNED_CACHE_H

#include <stddef.h>

#include "via/vipl.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { PINNED_CACHE_ENTRIES = 64 };

struct pinned_entry {
    struct pinned_entry *next; /* used longer ago */
    char *start;
    size_t bytes;
    VIP_MEM_HANDLE handle;
};

struct pinned_cache {
    VIP_NIC_HANDLE nic;
    VIP_MEM_ATTRIBUTES attributes;
    size_t limit, bytes; /* registered at most, and now */
    struct pinned_entry entries[PINNED_CACHE_ENTRIES];
    struct pinned_entry *used, *unused; /* used ones by their last use, latest first */
    unsigned long hits, misses, releases;
};

/* An empty cache for memory with this protection tag, of `limit` bytes. */
void pinned_cache_open(struct pinned_cache *cache, VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE ptag,
                       size_t limit);

/* The handle of a registration that holds the bytes. VIP_ERROR_RESOURCE if they cannot be
 * registered, more than the limit for example; then the message has to be copied. */
VIP_RETURN pinned_cache_find(struct pinned_cache *cache, void *memory, size_t bytes,
                             VIP_MEM_HANDLE *handle);

/* Releases all registrations. */
void pinned_cache_close(struct pinned_cache *cache);

#ifdef __cplusplus
}
#endif

#endif
