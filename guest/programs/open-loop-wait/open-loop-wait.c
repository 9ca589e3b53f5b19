/* Latency under an open-loop load of a server that waits for requests: open-loop, but the server
 * calls narthex_wait, so that it sleeps where its interface interrupts.
 *
 *     open-loop-wait [RATE [BYTES [REQUESTS [WARM-UP [ARRIVALS [BURST]]]]]]
 *
 * A program of its own, because waiting takes instructions that would move open-loop's results. */
#define LOAD_LOOK_FOR_REQUESTS() narthex_wait(UINT64_MAX)
#include "../open-loop/open-loop.c"
