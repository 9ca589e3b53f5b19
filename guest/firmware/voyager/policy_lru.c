#include "firmware/voyager/places.h"

struct place *least_recently_used(struct places *places) {
    struct place *oldest = places->all;
    places->time += 1;
    for (struct place *each = places->all; each < places->all + places->count; each++) {
        if (was_used(each))
            each->last_used = places->time;
        if (each->last_used < oldest->last_used)
            oldest = each;
    }
    oldest->last_used = places->time; /* by the queue that comes into it */
    return oldest;
}
