/* The directory: what a block's home knows of it. It is memory of the home node; an entry that is
 * never used is never touched. */
#ifndef NARTHEX_SHARED_MEMORY_DIRECTORY_H
#define NARTHEX_SHARED_MEMORY_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A request that waits until the block is at rest. */
struct request {
    struct request *next;
    uint32_t word; /* of its message */
    int source;
};

/* A block's entry. The nodes with copies are the bits of its set, one bit a node. */
struct directory_entry {
    struct request *waiting; /* the one that has waited longest first */
    int requester;           /* whose request is being served */
};

/* Sets of nodes have this many words each, a power of two. */
extern size_t directory_set_words;

/* Prepares entries for all blocks. */
void directory_start(size_t blocks);

struct directory_entry *directory_entry(size_t block);

/* The set of nodes other than the home that have copies. */
uint64_t *directory_copies(size_t block);

/* Whether the set has a node besides these two. */
bool directory_has_others(const uint64_t *copies, int node, int another);

/* The node of a set with one. */
int directory_only(const uint64_t *copies);

/* Adds a request to those that wait, and takes the one that has waited longest (*`request` is set
 * if there is one). */
void directory_wait(struct directory_entry *entry, struct request request);
bool directory_next(struct directory_entry *entry, struct request *request);

static inline bool set_has(const uint64_t *set, int node) {
    return set[node / 64] >> node % 64 & 1;
}

static inline void set_add(uint64_t *set, int node) {
    set[node / 64] |= UINT64_C(1) << node % 64;
}

static inline void set_remove(uint64_t *set, int node) {
    set[node / 64] &= ~(UINT64_C(1) << node % 64);
}

#endif
