/* The comparison of the nodes' handler tables.
 *
 * A message names its handler by a number, which means something only if its number stands for the
 * same function on both nodes. So every node sends its table to the next one with the first message
 * of its first barrier, and compares it with that of the node before: if any two nodes differ, so
 * do two neighbours. After the first barrier the table is closed. */
#ifndef NARTHEX_MESSAGING_HANDLER_TABLES_H
#define NARTHEX_MESSAGING_HANDLER_TABLES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether no more handlers may be registered. */
bool table_is_closed(void);

/* Closes this node's table and returns it, to be sent. */
const void *table_close(size_t *bytes);

/* Compares with the table of `source`, or keeps it until this node's is closed. Called in a
 * handler. Ends the run if the two differ. */
void table_compare(int source, const void *table, size_t bytes);

#endif
