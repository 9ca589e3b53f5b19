/* What the measuring programs of StarT-Voyager have in common: queues of the kinds that arguments
 * name, beside those of the messaging library, and messages whose every word is checked. */
#ifndef NARTHEX_PROGRAMS_VOYAGER_PAIR_H
#define NARTHEX_PROGRAMS_VOYAGER_PAIR_H

#include <string.h>

#include "messaging/copy.h"
#include "narthex.h"
#include "voyager/voyager.h"

enum { FIRST_OWN_QUEUE = 1 }; /* queue 0 is the library's */

static inline unsigned voyager_kind(const char *program, const char *name) {
    static const char *const NAMES[] = {"resident", "nonresident", "hybrid"};
    for (unsigned each = 0; each < sizeof NAMES / sizeof NAMES[0]; each++)
        if (strcmp(name, NAMES[each]) == 0)
            return VOYAGER_KIND_RESIDENT + each;
    narthex_fail("%s: a queue is resident, nonresident or hybrid, not \"%s\"", program, name);
}

static inline void voyager_check(int error, const char *call) {
    narthex_check(error == 0, "node %d: %s fails: %s", narthex_node(), call, strerror(error));
}

/* The word of a message, for a step of a key that no other message near it has. */
static inline word word_at(uint64_t key, size_t index) {
    return (word)(key * 0x10001 + index);
}

static inline void write_words(word *data, size_t bytes, uint64_t key) {
    for (size_t index = 0; index < bytes / sizeof *data; index++)
        data[index] = word_at(key, index);
}

/* Reads a message where it is; whether it is the right one. */
static inline bool is_right(const struct voyager_message *message, size_t bytes, uint64_t key) {
    const volatile word *data = message->payload;
    word wrong = message->bytes != bytes;
    for (size_t index = 0; index < bytes / sizeof *data; index++)
        wrong |= data[index] ^ word_at(key, index);
    return wrong == 0;
}

#endif
