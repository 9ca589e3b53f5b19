#include "via/pinned_cache.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "via/endpoint.h"

enum { PAGE_BYTES = 4096 };

void pinned_cache_open(struct pinned_cache *cache, VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE ptag,
                       size_t limit) {
    memset(cache, 0, sizeof *cache);
    cache->nic = nic;
    cache->attributes.Ptag = ptag;
    cache->limit = limit;
    for (int each = 0; each < PINNED_CACHE_ENTRIES; each++) {
        cache->entries[each].next = cache->unused;
        cache->unused = &cache->entries[each];
    }
}

static bool holds(const struct pinned_entry *entry, const char *start, const char *end) {
    return entry->start <= start && end <= entry->start + entry->bytes;
}

static bool overlaps(const struct pinned_entry *entry, const char *start, const char *end) {
    return entry->start < end && start < entry->start + entry->bytes;
}

/* Takes the entry behind this link out of the list and releases its registration. */
static void release(struct pinned_cache *cache, struct pinned_entry **link) {
    struct pinned_entry *entry = *link;
    via_check(VipDeregisterMem(cache->nic, entry->start, entry->handle), "VipDeregisterMem");
    *link = entry->next;
    entry->next = cache->unused;
    cache->unused = entry;
    cache->bytes -= entry->bytes;
    cache->releases += 1;
}

static void release_last(struct pinned_cache *cache) {
    struct pinned_entry **link = &cache->used;
    while ((*link)->next)
        link = &(*link)->next;
    release(cache, link);
}

/* Releases what overlaps a range, which grows to hold it. */
static void absorb(struct pinned_cache *cache, char **start, char **end) {
    struct pinned_entry **link = &cache->used;
    while (*link) {
        struct pinned_entry *entry = *link;
        if (!overlaps(entry, *start, *end)) {
            link = &entry->next;
            continue;
        }
        *start = entry->start < *start ? entry->start : *start;
        char *its_end = entry->start + entry->bytes;
        *end = its_end > *end ? its_end : *end;
        release(cache, link);
        link = &cache->used; /* the larger range may overlap one before */
    }
}

static VIP_RETURN add(struct pinned_cache *cache, char *start, char *end, VIP_MEM_HANDLE *handle) {
    size_t bytes = (size_t)(end - start);
    if (bytes > cache->limit)
        return VIP_ERROR_RESOURCE;
    absorb(cache, &start, &end);
    bytes = (size_t)(end - start);
    while (cache->used && (cache->bytes + bytes > cache->limit || !cache->unused))
        release_last(cache);
    VIP_RETURN result = VipRegisterMem(cache->nic, start, bytes, &cache->attributes, handle);
    if (result != VIP_SUCCESS)
        return result;
    struct pinned_entry *entry = cache->unused;
    cache->unused = entry->next;
    *entry = (struct pinned_entry){cache->used, start, bytes, *handle};
    cache->used = entry;
    cache->bytes += bytes;
    return VIP_SUCCESS;
}

VIP_RETURN pinned_cache_find(struct pinned_cache *cache, void *memory, size_t bytes,
                             VIP_MEM_HANDLE *handle) {
    char *start = memory, *end = start + bytes;
    for (struct pinned_entry **link = &cache->used; *link; link = &(*link)->next)
        if (holds(*link, start, end)) {
            struct pinned_entry *entry = *link;
            *link = entry->next;
            entry->next = cache->used;
            cache->used = entry;
            cache->hits += 1;
            *handle = entry->handle;
            return VIP_SUCCESS;
        }
    cache->misses += 1;
    uintptr_t mask = PAGE_BYTES - 1;
    start = (char *)((uintptr_t)start & ~mask);
    end = (char *)(((uintptr_t)end + mask) & ~mask);
    return add(cache, start, end, handle);
}

void pinned_cache_close(struct pinned_cache *cache) {
    while (cache->used)
        release(cache, &cache->used);
}
