/* Telling a process what was done: status of a descriptor, entry of a completion queue, answer to a
 * request, error that belongs to no call. */
#ifndef NARTHEX_FIRMWARE_VIA_COMPLETION_H
#define NARTHEX_FIRMWARE_VIA_COMPLETION_H

#include "firmware/via/state.h"
#include "firmware/via/transfer.h"
#include "via/vipl.h"

/* Enters into a completion queue that a descriptor of this VI is done. */
void cq_enter(struct cq *cq, struct vi *vi, bool is_receive);

/* Writes length and status of a descriptor, last of all. */
static inline void complete(struct vi *vi, struct cq *cq, uint64_t status_place, uint64_t bytes,
                            uint64_t status, bool is_receive) {
    write_doubleword(status_place, (status | VIP_STATUS_DONE) << 32 | bytes);
    if (cq)
        cq_enter(cq, vi, is_receive);
}

/* Answers a request of a process. */
void answer(uint64_t process, uint64_t sequence, VIP_RETURN status, uint64_t value, uint64_t other);

/* Reports an error that belongs to no call. */
void report(uint64_t process, VIP_ERROR_CODE code, VIP_RESOURCE_CODE resource, uint64_t vi,
            uint64_t descriptor);

#endif
