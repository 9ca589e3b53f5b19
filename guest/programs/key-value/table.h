/* The server's hash table: open addressing with linear probing, at most half full, so that a key
 * is found in a few steps. Keys are added before the load begins, and stay. */
#ifndef KEY_VALUE_TABLE_H
#define KEY_VALUE_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct entry {
    uint32_t key, version;
    void *value; /* NULL: the entry is free */
};

/* Makes room for `keys` keys with values of `value_bytes` bytes. */
void table_make(size_t keys, size_t value_bytes);

/* Adds a key that is not there, with version 0. */
struct entry *table_add(uint32_t key);

/* The entry of a key, or NULL. */
struct entry *table_find(uint32_t key);

#endif
