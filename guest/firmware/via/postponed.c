#include "firmware/via/postponed.h"

#include "firmware/via/completion.h"
#include "firmware/via/regions.h"

enum { WAITING_LIMIT = 64 };

struct registration {
    struct region *region;
    uint64_t process, sequence;
};

/* The oldest first. */
static struct registration waiting[WAITING_LIMIT];
static unsigned waiting_count;

static void remove_at(unsigned place) {
    waiting_count -= 1;
    for (; place < waiting_count; place++)
        waiting[place] = waiting[place + 1];
}

/* Tries to give a region its copy. Returns whether there is nothing to wait for: it has one, shares
 * a block, falls back, or no room can become free. */
static bool is_settled(struct region *region) {
    return region_give_copy(region) || !machine.postpones || !regions_have_copies();
}

void answer_registration(struct region *region, uint64_t process, uint64_t sequence) {
    bool is_next = waiting_count == 0;
    if (is_next ? is_settled(region) : waiting_count == WAITING_LIMIT)
        answer(process, sequence, VIP_SUCCESS, 0, 0);
    else
        waiting[waiting_count++] = (struct registration){region, process, sequence};
}

void try_postponed(void) {
    while (waiting_count > 0 && is_settled(waiting[0].region)) {
        struct registration oldest = waiting[0];
        remove_at(0);
        answer(oldest.process, oldest.sequence, VIP_SUCCESS, 0, 0);
    }
}

void forget_postponed(const struct region *region) {
    for (unsigned each = 0; each < waiting_count; each++)
        if (waiting[each].region == region) {
            struct registration gone = waiting[each];
            remove_at(each);
            answer(gone.process, gone.sequence, VIP_ERROR_RESOURCE, 0, 0);
            return;
        }
}
