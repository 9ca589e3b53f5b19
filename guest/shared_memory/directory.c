#include "shared_memory/directory.h"

#include <stdlib.h>

#include "messaging/narthex.h"
#include "shared_memory/segment.h"

size_t directory_set_words = 1;

static struct directory_entry *entries;
static uint64_t *sets;
static int set_shift; /* a multiplication takes 17 cycles */
static struct request *unused;

void directory_start(size_t blocks) {
    for (; directory_set_words * 64 < (size_t)narthex_nodes(); directory_set_words *= 2)
        set_shift += 1;
    entries = segment_memory(blocks * sizeof *entries);
    sets = segment_memory((blocks << set_shift) * sizeof *sets);
}

struct directory_entry *directory_entry(size_t block) {
    return &entries[block];
}

uint64_t *directory_copies(size_t block) {
    return sets + (block << set_shift);
}

bool directory_has_others(const uint64_t *copies, int node, int another) {
    for (size_t index = 0; index < directory_set_words; index++) {
        uint64_t rest = copies[index];
        if ((size_t)node / 64 == index)
            rest &= ~(UINT64_C(1) << node % 64);
        if ((size_t)another / 64 == index)
            rest &= ~(UINT64_C(1) << another % 64);
        if (rest != 0)
            return true;
    }
    return false;
}

int directory_only(const uint64_t *copies) {
    int node = 0;
    for (; *copies == 0; copies++)
        node += 64;
    return node + __builtin_ctzll(*copies);
}

void directory_wait(struct directory_entry *entry, struct request request) {
    struct request *added = unused;
    if (added)
        unused = added->next;
    else
        added = malloc(sizeof *added);
    narthex_check(added, "node %d has no memory left for requests of shared memory",
                  narthex_node());
    *added = request;
    added->next = NULL;
    struct request **link = &entry->waiting;
    while (*link)
        link = &(*link)->next;
    *link = added;
}

bool directory_next(struct directory_entry *entry, struct request *request) {
    struct request *taken = entry->waiting;
    if (!taken)
        return false;
    entry->waiting = taken->next;
    *request = *taken;
    taken->next = unused;
    unused = taken;
    return true;
}
