/* Which part of the processor's cache belongs to what.
 *
 * In a cache of few ways memory that is used by turns must not fall on the same lines, or each use
 * evicts the other. An address's colour is where it falls: the address modulo the bytes of one way,
 * which the information page tells. An operating system that colours pages hands out memory by it;
 * here the runtime does. Colours belong to
 *
 *     the program's data    as it was linked
 *     the stack             its hot end
 *     the queues            and their pointers, as large as this machine's interface has them
 *     shared memory         once it has started
 *     what is left          the heap, one allocation behind the other
 *
 * So what a program allocates shares no line with any of the others, and, up to what is left, with
 * no other allocation. */
#ifndef NARTHEX_RUNTIME_COLOURS_H
#define NARTHEX_RUNTIME_COLOURS_H

#include <stddef.h>
#include <stdint.h>

/* The first address from `from` on, a multiple of `alignment`, at which `bytes` bytes are off the
 * colours that are taken; the first aligned one where there is none. */
uintptr_t colours_place(uintptr_t from, size_t bytes, size_t alignment);

/* From now on the colours of these bytes are taken; unless the heap would be left with less than a
 * quarter of the cache: memory that large is everywhere. */
void colours_take(uintptr_t address, size_t bytes);

#endif
