/* Executes a GOAL schedule: each node is a rank of it.
 *
 *     goal FILE [RUNS]
 *         FILE in the binary format, given with --file; 2 runs, the last of which is measured
 *
 * All nodes begin a run at the same instant, which they agree upon. How operations are executed is
 * told in schedule.h. See README.md. */
#include "schedule.h"

enum { START_DELAY_NS = 20000 }; /* longer than nodes leave a collective apart */

/* The latest clock, and some time. */
static uint64_t begin_together(void) {
    narthex_barrier();
    int64_t begin = (int64_t)narthex_time_ns();
    narthex_all_reduce(&begin, 1, NARTHEX_INT64, NARTHEX_MAXIMUM);
    begin += START_DELAY_NS;
    while ((int64_t)narthex_time_ns() < begin)
        ;
    return (uint64_t)begin;
}

static void end_together(bool is_last) {
    (void)is_last;
    narthex_barrier();
}

int main(int arguments, char **values) {
    narthex_check(arguments > 1, "goal: the name of a schedule's file is missing");
    long runs = argument(arguments, values, 2, "runs", 1, 1000, 2);
    narthex_register_handler(MESSAGE, on_message);
    read_schedule(values[1]);
    calibrate();
    for (long index = 1; index <= runs; index++)
        run(index == runs);
    return 0;
}
