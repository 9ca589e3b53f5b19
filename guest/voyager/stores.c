#include "runtime/information.h"
#include "voyager/slots.h"

/* The doubleword that is stored is the first one of a slot: its header and four bytes. */
void voyager_store(struct voyager_queue *queue, unsigned destination, uint8_t user,
                   uint32_t value) {
    volatile uint64_t *page =
        (volatile uint64_t *)(uintptr_t)narthex_information()->voyager_serviced;
    while (!voyager_finds_room(queue))
        ;
    queue->own += 1;
    page[queue->number] = voyager_header(destination, sizeof value, user) | (uint64_t)value << 32;
}
