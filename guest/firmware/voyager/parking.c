#include "firmware/voyager/parking.h"

enum { PLACES = 512, PLACES_OF_A_QUEUE = 32, DOUBLEWORDS = VOYAGER_SLOT_BYTES / DOUBLEWORD };

struct parked {
    struct parked *next;
    uint64_t header;
    uint64_t slot[DOUBLEWORDS];
};

static struct parked places[PLACES];
static struct parked *unused;

void parking_start(void) {
    for (struct parked *each = places; each < places + PLACES; each++) {
        each->next = unused;
        unused = each;
    }
}

bool park(struct receive_queue *queue, uint64_t slot, uint64_t header) {
    struct parked *place = unused;
    if (!place || queue->parked == PLACES_OF_A_QUEUE)
        return false;
    unused = place->next;
    place->next = NULL;
    place->header = header;
    for (unsigned each = 0; each < DOUBLEWORDS; each++)
        place->slot[each] = sram_load(slot + each * DOUBLEWORD);
    if (queue->parked++ == 0)
        queue->first = place;
    else
        queue->last->next = place;
    queue->last = place;
    return true;
}

/* Takes the oldest one out. */
static struct parked *leave(struct receive_queue *queue) {
    struct parked *place = queue->first;
    queue->first = place->next;
    queue->parked -= 1;
    place->next = unused;
    unused = place;
    return place;
}

uint64_t unpark(struct receive_queue *queue, uint64_t slot) {
    const struct parked *place = leave(queue);
    for (unsigned each = 0; each < DOUBLEWORDS; each++)
        sram_store(slot + each * DOUBLEWORD, place->slot[each]);
    return place->header;
}

void empty(struct receive_queue *queue) {
    while (queue->parked > 0)
        leave(queue);
}
