#include "firmware/via/completion.h"

#include "firmware/via/connections.h"

struct cq cqs[QUEUES];
struct process processes[PROCESSES];

static bool has_room(struct cq *cq) {
    if (cq->entered - cq->taken < cq->entries)
        return true;
    cq->taken = read_doubleword(&cq->region, cq->region.base);
    return cq->entered - cq->taken < cq->entries;
}

void cq_enter(struct cq *cq, struct vi *vi, bool is_receive) {
    if (!has_room(cq)) {
        report(vi->process, VIP_ERROR_COMP_PROT, VIP_RESOURCE_CQ, vi->number, 0);
        break_connection(vi, VIP_ERROR_CONN_LOST);
        return;
    }
    uint64_t at = cq->region.base + VIA_CQ_ENTRIES_AT + cq->index * sizeof(uint64_t);
    write_doubleword(place_of(&cq->region, at), via_cq_entry(vi->number, is_receive, cq->sense));
    cq->entered += 1;
    cq->index += 1;
    if (cq->index == cq->entries) {
        cq->index = 0;
        cq->sense ^= 1;
    }
}

void answer(uint64_t process, uint64_t sequence, VIP_RETURN status, uint64_t value,
            uint64_t other) {
    static struct via_answer from;
    uint64_t page = processes[process].page;
    if (page == 0)
        return;
    from = (struct via_answer){sequence, status, {value, other}};
    dma_out(&from, page + sequence % VIA_ANSWERS * sizeof from, sizeof from);
}

void report(uint64_t process, VIP_ERROR_CODE code, VIP_RESOURCE_CODE resource, uint64_t vi,
            uint64_t descriptor) {
    static struct via_event from;
    struct process *to = &processes[process];
    if (to->page == 0)
        return;
    uint64_t place = to->events % VIA_EVENTS;
    to->events += 1;
    from =
        (struct via_event){to->events, (uint64_t)code | (uint64_t)resource << 32, vi, descriptor};
    dma_out(&from, to->page + offsetof(struct via_command_page, events) + place * sizeof from,
            sizeof from);
}
