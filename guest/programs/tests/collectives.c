/* Self-checking: collectives of random kinds, roots and sizes, one after the other.
 *
 *     collectives [COUNT [LARGEST]]  by default 60 collectives of up to 700 values
 *     collectives root|outside|bytes|kind|limit|handler
 *                                    the error of nodes that disagree, and of wrong calls
 *
 * All nodes draw the same calls, and waste different times between them, so that messages for later
 * calls arrive early. Sums are of numbers whose order of addition shows in the last bits: they must
 * be what every other node and every other root gets. */
#include <stdbool.h>
#include <stdio.h>

#include "../arguments.h"
#include "../pattern.h"
#include "messaging/collectives.h"

static uint64_t random_state; /* the same on every node */
static long largest;

static uint64_t draw(uint64_t below) {
    return random_next(&random_state) % below;
}

static void waste_time(uint64_t key) {
    if (pattern_word(key, (size_t)narthex_node()) % 4 == 0)
        narthex_pause(pattern_word(key, (size_t)narthex_node()) % 20000);
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes + 16);
    narthex_check(memory, "node %d has no memory for %zu bytes", narthex_node(), bytes);
    return memory;
}

static void check_broadcast(uint64_t key) {
    int root = (int)draw((uint64_t)narthex_nodes());
    size_t bytes = draw((uint64_t)largest * 8 + 1);
    char *memory = allocate(bytes), *data = memory + draw(8);
    memset(data, 0, bytes);
    if (narthex_node() == root)
        pattern_fill(data, bytes, key);
    narthex_broadcast(root, data, bytes);
    pattern_check(data, bytes, key);
    free(memory);
}

static double number(uint64_t key, int node, size_t index) {
    return (double)(int64_t)pattern_word(key + (uint64_t)node * 1000, index) / 3e15;
}

static void check_doubles(const double *values, size_t count, uint64_t key) {
    for (size_t index = 0; index < count; index++) {
        double sum = 0, size = 0;
        for (int node = 0; node < narthex_nodes(); node++) {
            double value = number(key, node, index);
            sum += value;
            size += value < 0 ? -value : value;
        }
        double error = values[index] - sum;
        narthex_check(error <= 1e-14 * size && -error <= 1e-14 * size,
                      "node %d: value %zu is %.17g, not %.17g", narthex_node(), index,
                      values[index], sum);
    }
}

/* A reduce to any root and an all-reduce give the same bits. */
static void check_sum(uint64_t key) {
    int root = (int)draw((uint64_t)narthex_nodes());
    size_t count = draw((uint64_t)largest + 1);
    double *values = allocate(count * sizeof *values), *all = allocate(count * sizeof *all);
    for (size_t index = 0; index < count; index++)
        values[index] = all[index] = number(key, narthex_node(), index);
    narthex_all_reduce(all, count, NARTHEX_DOUBLE, NARTHEX_SUM);
    narthex_reduce(root, values, count, NARTHEX_DOUBLE, NARTHEX_SUM);
    check_doubles(all, count, key);
    bool same = narthex_node() != root || memcmp(values, all, count * sizeof *values) == 0;
    narthex_check(same, "node %d: narthex_reduce and narthex_all_reduce differ", narthex_node());
    narthex_broadcast(root, values, count * sizeof *values);
    same = memcmp(values, all, count * sizeof *values) == 0;
    narthex_check(same, "node %d has another sum than node %d", narthex_node(), root);
    free(values);
    free(all);
}

static void check_extremes(uint64_t key) {
    size_t count = draw(20) + 1;
    int64_t *least = allocate(count * sizeof *least), *most = allocate(count * sizeof *most);
    for (size_t index = 0; index < count; index++)
        least[index] = most[index] = (int64_t)pattern_word(key + (uint64_t)narthex_node(), index);
    narthex_all_reduce(least, count, NARTHEX_INT64, NARTHEX_MINIMUM);
    narthex_all_reduce(most, count, NARTHEX_INT64, NARTHEX_MAXIMUM);
    for (size_t index = 0; index < count; index++) {
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (int node = 0; node < narthex_nodes(); node++) {
            int64_t value = (int64_t)pattern_word(key + (uint64_t)node, index);
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
        narthex_check(least[index] == low && most[index] == high,
                      "node %d: extremes %lld and %lld instead of %lld and %lld", narthex_node(),
                      (long long)least[index], (long long)most[index], (long long)low,
                      (long long)high);
    }
    free(least);
    free(most);
}

static void check_all_to_all(uint64_t key) {
    size_t bytes = draw((uint64_t)largest + 1), all = bytes * (size_t)narthex_nodes();
    char *outgoing = allocate(all), *incoming = allocate(all);
    uint64_t node = (uint64_t)narthex_node();
    for (uint64_t peer = 0; peer < (uint64_t)narthex_nodes(); peer++)
        pattern_fill(outgoing + peer * bytes, bytes, key * 4096 + node * 64 + peer);
    narthex_all_to_all(outgoing, incoming, bytes);
    for (uint64_t peer = 0; peer < (uint64_t)narthex_nodes(); peer++)
        pattern_check(incoming + peer * bytes, bytes, key * 4096 + peer * 64 + node);
    free(outgoing);
    free(incoming);
}

static void in_handler(int source, const void *payload, size_t bytes) {
    double value = (double)source + (double)bytes + (payload != NULL);
    narthex_all_reduce(&value, 1, NARTHEX_DOUBLE, NARTHEX_SUM);
}

static void do_wrong(const char *what) {
    double values[4] = {0};
    bool last = narthex_node() == narthex_nodes() - 1;
    if (strcmp(what, "root") == 0)
        narthex_broadcast(last ? 1 : 0, values, 8);
    if (strcmp(what, "outside") == 0)
        narthex_broadcast(narthex_nodes(), values, 8);
    if (strcmp(what, "bytes") == 0)
        narthex_all_reduce(values, last ? 2 : 4, NARTHEX_DOUBLE, NARTHEX_SUM);
    if (strcmp(what, "kind") == 0 && last)
        narthex_reduce(0, values, 1, NARTHEX_DOUBLE, NARTHEX_SUM);
    if (strcmp(what, "kind") == 0 && !last)
        narthex_broadcast(0, values, 8);
    if (strcmp(what, "limit") == 0)
        narthex_broadcast(0, values, narthex_payload_limit());
    if (strcmp(what, "handler") == 0) {
        narthex_register_handler(1, in_handler);
        narthex_send(narthex_node(), 1, "", 0);
    }
    narthex_barrier();
    while (strcmp(what, "handler") == 0)
        narthex_poll();
}

int main(int count, char **values) {
    static void (*const checks[])(uint64_t) = {check_broadcast, check_sum, check_extremes,
                                               check_all_to_all};
    if (count > 1)
        do_wrong(values[1]);
    long collectives = argument(count, values, 1, "count", 0, 1000000, 60);
    largest = argument(count, values, 2, "largest", 0, 100000, 700);
    random_state = random_start(narthex_seed(), 0);
    for (long index = 0; index < collectives; index++) {
        waste_time((uint64_t)index);
        checks[draw(sizeof checks / sizeof *checks)]((uint64_t)index);
    }
    narthex_barrier();
    if (narthex_node() == 0)
        printf("%ld collectives over %d nodes\n", collectives, narthex_nodes());
    return 0;
}
