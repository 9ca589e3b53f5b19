/* The server's hash table (table.h). */
#include "table.h"

#include <stdlib.h>

#include "narthex.h"

static struct entry *entries;
static char *values; /* one behind the other, in the order in which keys are added */
static size_t value_bytes, used, mask;
static int hash_shift;

void table_make(size_t keys, size_t bytes) {
    size_t places = 2;
    for (hash_shift = 63; places < 2 * keys; hash_shift--)
        places *= 2;
    mask = places - 1;
    value_bytes = bytes;
    entries = calloc(places, sizeof *entries);
    values = malloc(keys * bytes);
    narthex_check(entries && values, "node %d has no memory for %zu values of %zu bytes",
                  narthex_node(), keys, bytes);
}

/* Where a key is, or would be. */
static struct entry *place_of(uint32_t key) {
    size_t place = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> hash_shift);
    while (entries[place & mask].value && entries[place & mask].key != key)
        place += 1;
    return &entries[place & mask];
}

struct entry *table_find(uint32_t key) {
    struct entry *entry = place_of(key);
    return entry->value ? entry : NULL;
}

struct entry *table_add(uint32_t key) {
    struct entry *entry = place_of(key);
    *entry = (struct entry){key, 0, values + used++ * value_bytes};
    return entry;
}
