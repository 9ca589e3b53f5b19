/* $name: node 0 sends numbers to the others, which send their sum back.
 *
 *     narthex run $name.c            on the machine and interface of narthex.toml
 *     narthex compare $name.c        on every interface that the machine can have
 */
#include "narthex.h"

enum { NUMBERS = 32, TAKE = 1, SUM = 2 };

static long sums; /* what has come back, on node 0 */
static int answers;

static void on_sum(int source, const void *payload, size_t bytes) {
    (void)source, (void)bytes;
    sums += *(const long *)payload;
    answers++;
}

static void on_numbers(int source, const void *payload, size_t bytes) {
    const int *numbers = payload;
    long sum = 0;
    for (size_t i = 0; i < bytes / sizeof *numbers; i++)
        sum += numbers[i];
    narthex_send(source, SUM, &sum, sizeof sum);
}

int main(void) {
    int numbers[NUMBERS], others = narthex_nodes() - 1;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = i + 1;
    narthex_register_handler(TAKE, on_numbers);
    narthex_register_handler(SUM, on_sum);
    narthex_barrier(); /* every node has its handlers */

    narthex_region_begin("main"); /* what the ledger is to show */
    if (narthex_node() == 0) {
        uint64_t start = narthex_time_ns();
        for (int node = 1; node <= others; node++)
            narthex_send(node, TAKE, numbers, sizeof numbers);
        while (answers < others)
            narthex_poll();
        narthex_report("time", (double)(narthex_time_ns() - start), "ns");
        long expected = (long)others * NUMBERS * (NUMBERS + 1) / 2;
        narthex_check(sums == expected, "the sums are %ld, not %ld", sums, expected);
    }
    narthex_barrier();
    narthex_region_end("main");
}
