/* The physical queues of a direction that the firmware lends to hybrid queues, and which of them is
 * the next to be taken back: the policy. Firmware does not see the messages of a resident queue; it
 * finds out which have been used by their producers, which the hardware moves. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_PLACES_H
#define NARTHEX_FIRMWARE_VOYAGER_PLACES_H

#include "firmware/voyager/nic.h"

enum { PLACES_LIMIT = 15 };

struct place {
    void *queue;        /* to which it is lent; NULL if it is free */
    uint64_t physical;  /* its number */
    uintptr_t state;    /* where its state is */
    uint64_t producer;  /* when it was last looked at */
    uint32_t last_used; /* for the policy */
};

struct places {
    uint32_t count, hand, time;
    struct place all[PLACES_LIMIT];
};

static inline uint64_t physical_word(const struct place *place, uintptr_t word) {
    return load_register(place->state + word);
}

static inline void set_physical_word(const struct place *place, uintptr_t word, uint64_t value) {
    store_register(place->state + word, value);
}

/* Whether the queue in this place was used since it was last looked at. */
static inline bool was_used(struct place *place) {
    uint64_t producer = physical_word(place, REGISTER_VOYAGER_QUEUE_PRODUCER);
    bool is_other = producer != place->producer;
    place->producer = producer;
    return is_other;
}

/* The place whose queue has been idle for longest, as far as looking now and then tells. */
struct place *least_recently_used(struct places *places);

/* The next place in turn whose queue was not used since the last turn. */
struct place *next_by_clock(struct places *places);

#endif
