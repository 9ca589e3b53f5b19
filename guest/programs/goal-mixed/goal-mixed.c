/* Executes a GOAL schedule of which a model executes some ranks: each node is one of the others.
 *
 *     goal-mixed FILE RUNS CONDUCTOR
 *         FILE in the binary format, given with --file; of the runs the last is measured
 *
 * The model's rank CONDUCTOR says when a run begins: a node tells it that it is ready, and is told
 * the time in nanoseconds at which the next run begins, or 0 if there is none. See README.md. */
#include "../goal/schedule.h"

enum { CONDUCT = 2 };

static int conductor;
static bool is_told;
static uint64_t told_ns;

static void on_told(int source, const void *time_ns, size_t bytes) {
    (void)source;
    narthex_check(bytes == sizeof told_ns, "goal-mixed: node %d is told %zu bytes", narthex_node(),
                  bytes);
    memcpy(&told_ns, time_ns, sizeof told_ns);
    is_told = true;
}

/* When the next run begins. */
static uint64_t conducted(void) {
    narthex_send(conductor, CONDUCT, &told_ns, sizeof told_ns);
    while (!is_told)
        narthex_poll();
    is_told = false;
    return told_ns;
}

static uint64_t begin_together(void) {
    uint64_t begin = conducted();
    narthex_check(narthex_time_ns() < begin, "goal-mixed: node %d is told too late to begin",
                  narthex_node());
    while (narthex_time_ns() < begin)
        ;
    return begin;
}

static void end_together(bool is_last) {
    if (is_last)
        conducted();
}

int main(int arguments, char **values) {
    narthex_check(arguments > 3, "goal-mixed: expected a schedule's file, runs, a conductor");
    conductor = (int)argument(arguments, values, 3, "conductor", 0, narthex_nodes() - 1, 0);
    long runs = argument(arguments, values, 2, "runs", 1, 1000, 2);
    narthex_register_handler(MESSAGE, on_message);
    narthex_register_handler(CONDUCT, on_told);
    read_schedule(values[1]);
    calibrate();
    for (long index = 1; index <= runs; index++)
        run(index == runs);
    return 0;
}
