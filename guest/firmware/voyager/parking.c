#include "firmware/voyager/parking.h"

enum {
    PROCESSES_LIMIT = 8,
    PLACES = 512,
    PLACES_OF_A_QUEUE = 32,
    DOUBLEWORDS = VOYAGER_SLOT_BYTES / DOUBLEWORD
};

struct parked {
    struct parked *next;
    uint64_t header;
    uint64_t slot[DOUBLEWORDS];
};

static struct parked places[PLACES];
static struct parked *unused;

/* A process has its share of the places, so that it cannot take those of others. */
static uint32_t taken[PROCESSES_LIMIT], share;
static uint64_t queues_of_process;

void parking_start(void) {
    share = PLACES / (uint32_t)(nic_load(REGISTER_VOYAGER_NODE) >> 48);
    queues_of_process = nic_load(REGISTER_VOYAGER_LIMITS) >> 48;
    for (struct parked *each = places; each < places + PLACES; each++) {
        each->next = unused;
        unused = each;
    }
}

/* Those of the process of a queue, which may not be open yet. */
static uint32_t *taken_by(const struct receive_queue *queue) {
    return &taken[(uint64_t)(queue - receive_queues) / queues_of_process];
}

bool park(struct receive_queue *queue, uint64_t slot, uint64_t header) {
    struct parked *place = unused;
    uint32_t *of_process = taken_by(queue);
    if (queue->parked == PLACES_OF_A_QUEUE || *of_process == share)
        return false;
    *of_process += 1;
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
    *taken_by(queue) -= 1;
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
