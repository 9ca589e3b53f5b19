/* The pages that the process has registered for block transfers, and keeps so: a registration is a
 * call of the operating system, and messages come from and go to the same memory again and again.
 */
#ifndef NARTHEX_VOYAGER_REGISTERED_PAGES_H
#define NARTHEX_VOYAGER_REGISTERED_PAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Registers the pages of this memory that are not yet. False where the system refuses: pages
 * that are not there, or more than may be pinned (`operating_system.pinned_pages`). */
bool register_pages(const void *memory, size_t bytes);

#endif
