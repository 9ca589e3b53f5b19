#include "firmware/voyager/places.h"

struct place *next_by_clock(struct places *places) {
    for (uint32_t tried = 0;; tried++) {
        struct place *place = &places->all[places->hand];
        places->hand = (places->hand + 1) % places->count;
        if (!was_used(place) || tried == places->count)
            return place;
    }
}
