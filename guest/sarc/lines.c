/* Making lines counters and queues: their words first, their role last, so that nothing that
 * arrives finds half of it. */
#include "messaging/narthex.h"
#include "sarc/sarc.h"

void sarc_make_counter(uint64_t *line, int64_t value, int64_t reset, uint64_t word,
                       uint64_t *const *notified, unsigned count) {
    sarc_store(&line[1], (uint64_t)reset);
    sarc_store(&line[2], word);
    for (unsigned each = 0; each < SARC_NOTIFICATIONS; each++)
        sarc_store(&line[4 + each], each < count ? (uintptr_t)notified[each] : 0);
    sarc_mark(line, SARC_ROLE_COUNTER);
    sarc_add(line, value);
}

void sarc_make_queue(uint64_t *lines, unsigned role, unsigned item_words, unsigned items) {
    sarc_store(&lines[3], item_words | (uint64_t)items << SARC_QUEUE_ITEMS);
    sarc_mark(lines, role);
}
