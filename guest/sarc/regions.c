/* Address regions: entries of the tables by which the hardware translates and checks. */
#include <errno.h>

#include "sarc/agent.h"
#include "sarc/sarc.h"

void *sarc_define_region(uint64_t start, const void *place, size_t bytes, unsigned permissions) {
    uint64_t offset = (uintptr_t)place % SARC_REGION_BYTES, first = (uintptr_t)place - offset;
    uint64_t pages = (offset + bytes + SARC_REGION_BYTES - 1) / SARC_REGION_BYTES;
    uint64_t words[SARC_REQUEST_WORDS] = {start, pages * SARC_REGION_BYTES, first, permissions};
    errno = bytes == 0 ? EINVAL : sarc_request(SARC_DEFINE_REGION, words);
    return errno == 0 ? (void *)(uintptr_t)(start + offset) : NULL;
}

int sarc_remove_region(uint64_t start) {
    uint64_t words[SARC_REQUEST_WORDS] = {start};
    return sarc_request(SARC_REMOVE_REGION, words);
}
