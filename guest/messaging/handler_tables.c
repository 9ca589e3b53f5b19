#include "messaging/handler_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/handlers.h"
#include "messaging/narthex.h"

enum { NAME_BYTES = 60 };

/* What is compared, in ascending order of numbers. Longer names are compared by their beginnings.
 */
struct entry {
    int32_t number;
    char name[NAME_BYTES];
};

/* A table as it was sent. */
struct table {
    const struct entry *entries;
    size_t bytes;
};

static struct table own; /* once it is closed */
static bool is_closed;
static struct table early; /* came before that */
static int early_source;

bool table_is_closed(void) {
    return is_closed;
}

static const char *name_in(const struct table *table, int number) {
    for (size_t index = 0; index < table->bytes / sizeof *table->entries; index++)
        if (table->entries[index].number == number)
            return table->entries[index].name;
    return "nothing";
}

static void compare(int source, const struct table *theirs) {
    if (theirs->bytes == own.bytes && memcmp(theirs->entries, own.entries, own.bytes) == 0)
        return;
    for (int number = 0; number < NARTHEX_HANDLERS; number++) {
        const char *here = name_in(&own, number), *there = name_in(theirs, number);
        narthex_check(strncmp(here, there, NAME_BYTES) == 0,
                      "handler %d is %.*s on node %d and %.*s on node %d (narthex_barrier): every "
                      "node must register the same functions before its first barrier",
                      number, NAME_BYTES, there, source, NAME_BYTES, here, narthex_node());
    }
}

/* Makes the table; the memory is only taken now, because an array would be in the way of every
 * program's data. */
static struct table make_table(void) {
    struct entry *entries = calloc(NARTHEX_HANDLERS, sizeof *entries);
    narthex_check(entries, "node %d has no memory left for its table of handlers", narthex_node());
    size_t count = 0;
    for (int number = 0; number < NARTHEX_HANDLERS; number++)
        if (handlers[number]) {
            entries[count].number = number;
            snprintf(entries[count++].name, NAME_BYTES, "%s", handler_name(number));
        }
    return (struct table){entries, count * sizeof *entries};
}

const void *table_close(size_t *bytes) {
    own = make_table();
    is_closed = true;
    if (early.entries) {
        compare(early_source, &early);
        narthex_release(early.entries);
    }
    *bytes = own.bytes;
    return own.entries;
}

void table_compare(int source, const void *table, size_t bytes) {
    struct table theirs = {table, bytes};
    if (is_closed) {
        compare(source, &theirs);
        return;
    }
    narthex_keep(table);
    early = theirs;
    early_source = source;
}
