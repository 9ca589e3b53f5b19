/* Writes into serviced space (Section 4.1: the sP determines "the destination for bus writes, and
 * when each bus transaction is allowed to complete"). A store to doubleword k of a process's page
 * is a message of its transmit queue k, which has its slots in SRAM:
 *
 *     captured, it waits ──► approved, with the queue's next slot as its destination
 *     captured again, over ──► the queue's producer; from there on as any message (transmit.c)
 *
 * The program sees the queue's pointers, and stores no more than there is room for. */
#include "firmware/voyager/writes.h"

#include "firmware/voyager/serviced.h"
#include "firmware/voyager/transmit.h"

enum { PAGE_BITS = 12, PROCESS_MASK = 7 };

/* The queue of a store; NULL if the process has none of that number. */
SELDOM static struct transmit_queue *queue_of(uint64_t offset) {
    uint64_t queues = nic_load(REGISTER_VOYAGER_LIMITS) >> 48;
    uint64_t process = offset >> PAGE_BITS & PROCESS_MASK;
    uint64_t number = (offset & ((1 << PAGE_BITS) - 1)) / DOUBLEWORD;
    return number < queues ? &transmit_queues[process * queues + number] : NULL;
}

/* Hardware does not have stores captured: the queue is lent no place from its first one on. Whether
 * it was opened for stores the kernel agent shows beside its pointers. */
SELDOM static bool takes_stores(struct transmit_queue *queue) {
    if (queue->keeping == HYBRID && queue->residency == NOT_RESIDENT &&
        shown(queue->shadow, VOYAGER_POINTER_STORES))
        queue->keeping = FIRMWARES;
    return queue->state == OPEN && queue->keeping == FIRMWARES;
}

SELDOM static void store_is_over(struct transmit_queue *queue, bool is_there) {
    if (queue->state != OPEN)
        return;
    if (is_there)
        send_up_to(queue, VOYAGER_POINTER_PRODUCER, (uint16_t)(queue->producer + 1));
    else
        stop_sending(queue, VOYAGER_STATUS_BAD_LENGTH);
}

SELDOM void take_serviced_store(uint64_t offset, uint64_t otherwise) {
    struct transmit_queue *queue = queue_of(offset);
    if (offset & VOYAGER_OFFSET_CARRIED)
        return store_is_over(queue, !(offset & VOYAGER_OFFSET_CARRIED_NOWHERE));
    if (!queue || !takes_stores(queue))
        return approve(offset, otherwise);
    if ((uint16_t)(queue->producer - queue->consumer) >= queue->slots) {
        stop_sending(queue, VOYAGER_STATUS_BAD_POINTER);
        return approve(offset, otherwise);
    }
    approve(offset,
            VOYAGER_APPROVE_TO_SRAM | slot_address(queue->base, queue->producer, queue->slots));
}
