/* Locks of shared memory. */
#include "messaging/narthex.h"
#include "shared_memory/segment.h"
#include "shared_memory/shared_memory.h"

enum { LOCKS = 65536 };

static unsigned char held[LOCKS]; /* by this node */

static void check_number(const char *function, int number) {
    segment_check_started(function);
    narthex_check(number >= 0 && number < LOCKS, "node %d calls %s for lock %d: locks are 0 to %d",
                  narthex_node(), function, number, LOCKS - 1);
}

void narthex_lock(int number) {
    check_number("narthex_lock", number);
    narthex_check(!held[number], "node %d calls narthex_lock for lock %d, which it has already",
                  narthex_node(), number);
    held[number] = 1;
}

void narthex_unlock(int number) {
    check_number("narthex_unlock", number);
    narthex_check(held[number], "node %d calls narthex_unlock for lock %d, which it does not have",
                  narthex_node(), number);
    held[number] = 0;
}
