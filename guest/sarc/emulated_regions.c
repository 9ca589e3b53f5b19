/* Regions at addresses from SARC_REGIONS on; the hardware's own stay as they are. */
#ifndef __riscv
#include "sarc/emulated_regions.h"

#include <errno.h>
#include <string.h>

#include "messaging/narthex.h"
#include "sarc/sarc.h"

enum { MOST = 10, BOTH = SARC_LOADS | SARC_STORES };

struct region {
    uint64_t start, bytes, place, permissions;
};

static struct region regions[MOST];
static unsigned defined;

static struct region *overlapping(uint64_t start, uint64_t bytes) {
    for (struct region *each = regions; each < regions + defined; each++)
        if (start < each->start + each->bytes && each->start < start + bytes)
            return each;
    return NULL;
}

uint64_t *sarc_emulated_place(uint64_t address, unsigned needed) {
    if (address - SARC_REGIONS >= SARC_REGIONS_BYTES)
        return (uint64_t *)(uintptr_t)address;
    const struct region *region = overlapping(address, 1);
    narthex_check(region, "no address region of the tile covers %#llx",
                  (unsigned long long)address);
    narthex_check((region->permissions & needed) == needed, "the address region of %#llx allows %s",
                  (unsigned long long)address, needed == SARC_LOADS ? "no loads" : "no stores");
    return (uint64_t *)(uintptr_t)(region->place + (address - region->start));
}

int sarc_emulate_region(const uint64_t *words) {
    const struct region wanted = {words[0], words[1], words[2], words[3]};
    if ((wanted.start | wanted.bytes | wanted.place) % SARC_REGION_BYTES != 0 ||
        wanted.bytes == 0 || (wanted.permissions & BOTH) == 0 ||
        (wanted.permissions & ~(uint64_t)BOTH) != 0)
        return EINVAL;
    if (wanted.start < SARC_REGIONS || wanted.bytes > SARC_REGIONS_BYTES ||
        wanted.start - SARC_REGIONS > SARC_REGIONS_BYTES - wanted.bytes)
        return EFAULT;
    sarc_forget_region(wanted.start);
    if (overlapping(wanted.start, wanted.bytes))
        return EBUSY;
    if (defined == MOST)
        return ENOMEM;
    regions[defined++] = wanted;
    return 0;
}

int sarc_forget_region(uint64_t start) {
    for (unsigned each = 0; each < defined; each++) {
        if (regions[each].start == start) {
            regions[each] = regions[--defined];
            return 0;
        }
    }
    return ENOENT;
}

#endif
