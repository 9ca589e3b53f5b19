/* A set of page numbers: a table of a power of two places, at most half of them in use, in which a
 * number is in the first free place from the one that it hashes to. */
#include "voyager/registered_pages.h"

#include <stdint.h>
#include <stdlib.h>

#include "voyager/voyager.h"

enum { PAGE_BYTES = 4096, FIRST_PLACES = 256 };

static struct {
    uintptr_t *places; /* 0: free */
    size_t mask, used;
} set;

/* Where a page is in the set, or would be. */
static uintptr_t *place_of(uintptr_t page) {
    size_t place = page & set.mask;
    while (set.places[place] != 0 && set.places[place] != page)
        place = (place + 1) & set.mask;
    return &set.places[place];
}

static bool has_page(uintptr_t page) {
    return set.places && *place_of(page) != 0;
}

/* Doubles the table; false if there is no memory for it. */
static bool grow(void) {
    uintptr_t *before = set.places;
    size_t places = before ? (set.mask + 1) * 2 : FIRST_PLACES;
    uintptr_t *larger = calloc(places, sizeof *larger);
    if (!larger)
        return false;
    size_t end = before ? set.mask + 1 : 0;
    set.places = larger;
    set.mask = places - 1;
    for (size_t place = 0; place < end; place++)
        if (before[place] != 0)
            *place_of(before[place]) = before[place];
    free(before);
    return true;
}

static bool add_pages(uintptr_t first, uintptr_t end) {
    if (voyager_register((const void *)(first * PAGE_BYTES), (end - first) * PAGE_BYTES) != 0)
        return false;
    for (uintptr_t page = first; page < end; page++) {
        if ((!set.places || set.used * 2 > set.mask) && !grow())
            return false;
        *place_of(page) = page;
        set.used += 1;
    }
    return true;
}

bool register_pages(const void *memory, size_t bytes) {
    uintptr_t page = (uintptr_t)memory / PAGE_BYTES;
    uintptr_t end = ((uintptr_t)memory + bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    while (page < end) {
        uintptr_t first = page;
        while (page < end && !has_page(page))
            page += 1;
        if (page > first && !add_pages(first, page))
            return false;
        while (page < end && has_page(page))
            page += 1;
    }
    return true;
}
