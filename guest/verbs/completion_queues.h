/* How a completion queue is made, whether its process polls or waits for events. */
#ifndef NARTHEX_VERBS_COMPLETION_QUEUES_H
#define NARTHEX_VERBS_COMPLETION_QUEUES_H

#include <errno.h>
#include <stdlib.h>

#include "verbs/provider.h"

enum { INVALID_ENTRY = 0xf1 };

/* Makes one in an object of so many bytes, which begins with it; NULL and errno. */
static inline struct ibv_cq *make_completion_queue(struct ibv_context *context, int cqe,
                                                   void *cq_context, size_t bytes) {
    uint32_t logarithm = verbs_logarithm((uint64_t)cqe), entries = UINT32_C(1) << logarithm;
    struct completion_queue *own = calloc(1, bytes);
    char *memory = verbs_allocate(entries * sizeof(struct completion) + RECORD_BYTES);
    if (!own || !memory) {
        free(own);
        free(memory);
        errno = ENOMEM;
        return NULL;
    }
    own->ring = (struct completion *)(void *)memory;
    own->record = (uint32_t *)(void *)(memory + entries * sizeof(struct completion));
    own->mask = entries - 1;
    for (uint32_t each = 0; each < entries; each++)
        own->ring[each].kind_and_owner = INVALID_ENTRY;
    uint64_t words[VERBS_REQUEST_WORDS] = {(uintptr_t)memory, logarithm, (uintptr_t)own->record};
    int error = verbs_request(context, VERBS_CREATE_COMPLETION_QUEUE, words);
    if (error) {
        free(own);
        free(memory);
        errno = error;
        return NULL;
    }
    own->cq = (struct ibv_cq){context, cq_context, (uint32_t)words[3], (int)entries};
    return &own->cq;
}

#endif
