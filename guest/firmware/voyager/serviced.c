#include "firmware/voyager/serviced.h"

enum { PAGE_BITS = 12, PROCESS_MASK = 0xff };

static uint64_t queues_of_process;

void serviced_start(void) {
    queues_of_process = nic_load(REGISTER_VOYAGER_LIMITS) >> 48;
}

void approve(uint64_t offset, uint64_t value) {
    nic_store(REGISTER_VOYAGER_APPROVE_ADDRESS, offset);
    nic_store(REGISTER_VOYAGER_APPROVE_VALUE, value);
}

void take_serviced_load(uint64_t offset) {
    uint64_t process = offset >> PAGE_BITS & PROCESS_MASK;
    uint64_t number = (offset & ((1 << PAGE_BITS) - 1)) / DOUBLEWORD;
    if (number >= queues_of_process)
        return approve(offset, VOYAGER_NOTHING);
    struct receive_queue *queue = &receive_queues[process * queues_of_process + number];
    queue->process = process;
    queue->is_awaited = true;
    answer_load(queue);
}

/* As it was captured. */
static uint64_t load_of(const struct receive_queue *queue) {
    uint64_t number = (uint64_t)(queue - receive_queues) - queue->process * queues_of_process;
    return VOYAGER_OFFSET_SERVICED | queue->process << PAGE_BITS | number * DOUBLEWORD;
}

void answer_load(struct receive_queue *queue) {
    bool is_served = queue->state == OPEN && queue->keeping == IN_MEMORY;
    if (!queue->is_awaited || (is_served && queue->shown == queue->consumer))
        return;
    queue->is_awaited = false;
    approve(load_of(queue), is_served ? queue->shown : VOYAGER_NOTHING);
}
