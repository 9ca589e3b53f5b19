/* Collectives over active messages.
 *
 * A broadcast goes down a binomial tree: who has the data sends them to the node half the machine
 * away, then both to those a quarter away, and so on, relative to the root:
 *
 *     0 ----------> 4         step 1
 *     0 ----> 2     4 ----> 6      2
 *     0 > 1   2 > 3 4 > 5   6 > 7  3
 *
 * Sums go the other way, over a hypercube of the largest power of two of nodes; the nodes beyond it
 * first give their values to those as far from the start. In each step, nodes whose numbers differ
 * in one bit add up theirs, lower bits first. For an all-reduce both add; for a reduce only the one
 * nearer to the root. Since an addition's operands may be swapped, every node, and every root, gets
 * the same bits: ((0+1)+(2+3))+((4+5)+(6+7)).
 *
 * Every message starts with a preamble that says which call it belongs to. A message for a later
 * call than the one under way, or from a node whose turn has not come, waits in a list. A message
 * that fits no call here shows that the nodes do not make the same calls, and ends the run. */
#include "messaging/collectives.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "messaging/copy.h"
#include "messaging/messages.h"
#include "runtime/marker.h"

enum kind { BROADCAST, REDUCE, ALL_REDUCE, ALL_TO_ALL };

/* In front of every message: the call it belongs to. */
struct preamble {
    uint32_t sequence; /* counts the collectives from 1 */
    uint16_t root;
    uint8_t kind;
    uint8_t combination; /* type and operation */
};

/* A call: its preamble, and the bytes behind that in each of its messages. */
struct call {
    struct preamble preamble;
    size_t bytes;
};

/* A message that has arrived and waits for its turn. */
struct arrival {
    struct arrival *next;
    int source;
    size_t bytes; /* of data */
    const struct preamble *preamble;
};

static struct call current; /* the last one this node has begun */
static struct arrival *arrivals, *unused;

/* Errors */

static const char *function_of(const struct preamble *preamble) {
    static const char *const functions[] = {"narthex_broadcast", "narthex_reduce",
                                            "narthex_all_reduce", "narthex_all_to_all"};
    return functions[preamble->kind];
}

static const char *describe(char *text, size_t text_bytes, const struct preamble *preamble,
                            size_t bytes) {
    static const char *const operations[] = {"sum", "minimum", "maximum"};
    static const char *const types[] = {"doubles", "integers"};
    int type = preamble->combination >> 4, operation = preamble->combination & 15;
    int used = snprintf(text, text_bytes, "%s of %zu bytes", function_of(preamble), bytes);
    if (preamble->kind == BROADCAST || preamble->kind == REDUCE)
        used += snprintf(text + used, text_bytes - (size_t)used, ", root %d", preamble->root);
    if (preamble->kind == REDUCE || preamble->kind == ALL_REDUCE)
        snprintf(text + used, text_bytes - (size_t)used, ", %s of %s", operations[operation],
                 types[type]);
    return text;
}

static void fail_mismatch(const struct arrival *arrival) {
    char here[128], there[128];
    narthex_fail("node %d is in its collective %u, %s, and received from node %d its collective "
                 "%u, %s: every node must make the same calls in the same order",
                 narthex_node(), current.preamble.sequence,
                 describe(here, sizeof here, &current.preamble, current.bytes), arrival->source,
                 arrival->preamble->sequence,
                 describe(there, sizeof there, arrival->preamble, arrival->bytes));
}

/* Fails if the message is for the current call but another call's, or for one that is over. */
static void check_match(const struct arrival *arrival) {
    const struct preamble *here = &current.preamble, *there = arrival->preamble;
    bool same = here->root == there->root && here->kind == there->kind &&
                here->combination == there->combination && current.bytes == arrival->bytes;
    if (there->sequence < here->sequence || (there->sequence == here->sequence && !same))
        fail_mismatch(arrival);
}

/* Messages */

static struct arrival *new_arrival(void) {
    struct arrival *arrival = unused;
    if (arrival)
        unused = arrival->next;
    else
        arrival = malloc(sizeof *arrival);
    narthex_check(arrival, "node %d has no memory left for a collective's messages",
                  narthex_node());
    return arrival;
}

static void arrive(int source, const void *payload, size_t bytes) {
    struct arrival *arrival = new_arrival();
    *arrival = (struct arrival){arrivals, source, bytes - sizeof(struct preamble), payload};
    check_match(arrival);
    narthex_keep(payload);
    arrivals = arrival;
}

void collectives_start(void) {
    set_handler(HANDLER_COLLECTIVE, arrive, "the collectives'");
}

static void send_data(int destination, const void *data) {
    send_after(destination, HANDLER_COLLECTIVE, &current.preamble, sizeof current.preamble, data,
               current.bytes);
}

enum { ANY_NODE = -1 };

/* Takes a message of the current call from `source` off the list; NULL if there is none. */
static struct arrival *find(int source) {
    for (struct arrival **link = &arrivals; *link; link = &(*link)->next) {
        struct arrival *arrival = *link;
        if (arrival->preamble->sequence == current.preamble.sequence &&
            (source == ANY_NODE || source == arrival->source)) {
            *link = arrival->next;
            return arrival;
        }
    }
    return NULL;
}

static struct arrival *wait_for(int source) {
    struct arrival *arrival;
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (!(arrival = find(source)))
        narthex_poll();
    LEAVE();
    return arrival;
}

static const void *data_of(const struct arrival *arrival) {
    return arrival->preamble + 1;
}

static void give_back(struct arrival *arrival) {
    narthex_release(arrival->preamble);
    arrival->next = unused;
    unused = arrival;
}

static void receive_data(int source, void *data) {
    struct arrival *arrival = wait_for(source);
    copy(data, data_of(arrival), current.bytes);
    give_back(arrival);
}

/* Calls */

static void begin(struct preamble preamble, const void *data, size_t bytes) {
    const char *function = function_of(&preamble);
    size_t limit = narthex_payload_limit() - sizeof preamble;
    check_outside_handler(function);
    narthex_check(bytes <= limit, "node %d calls %s for %zu bytes: the limit is %zu",
                  narthex_node(), function, bytes, limit);
    narthex_check(data || bytes == 0, "node %d calls %s for %zu bytes that are nowhere (NULL)",
                  narthex_node(), function, bytes);
    preamble.sequence = current.preamble.sequence + 1;
    current = (struct call){preamble, bytes};
    for (const struct arrival *arrival = arrivals; arrival; arrival = arrival->next)
        check_match(arrival);
}

static uint16_t check_root(const char *function, int root) {
    narthex_check(root >= 0 && root < narthex_nodes(),
                  "node %d calls %s with root %d: nodes are 0 to %d", narthex_node(), function,
                  root, narthex_nodes() - 1);
    return (uint16_t)root;
}

/* Forwards first, from the message as it came: others wait for it. */
void narthex_broadcast(int root, void *data, size_t bytes) {
    begin((struct preamble){.kind = BROADCAST, .root = check_root("narthex_broadcast", root)}, data,
          bytes);
    int nodes = narthex_nodes(), place = (narthex_node() - root + nodes) % nodes, distance = 1;
    while (distance < nodes && !(place & distance))
        distance *= 2;
    struct arrival *arrival = place == 0 ? NULL : wait_for((place - distance + root) % nodes);
    while ((distance /= 2) > 0) {
        if (place + distance >= nodes)
            continue;
        int destination = (place + distance + root) % nodes;
        if (arrival)
            send_message(destination, HANDLER_COLLECTIVE, arrival->preamble,
                         sizeof *arrival->preamble + bytes);
        else
            send_data(destination, data);
    }
    if (!arrival)
        return;
    copy(data, data_of(arrival), bytes);
    give_back(arrival);
}

#define COMBINE(type)                                                                              \
    static void combine_##type(type *values, const type *others, size_t count,                     \
                               enum narthex_operation operation) {                                 \
        for (size_t index = 0; index < count; index++) {                                           \
            type one = values[index], other = others[index];                                       \
            values[index] = operation == NARTHEX_SUM       ? (type)(one + other)                   \
                            : operation == NARTHEX_MINIMUM ? (one < other ? one : other)           \
                                                           : (one > other ? one : other);          \
        }                                                                                          \
    }

COMBINE(double)
COMBINE(int64_t)

static void receive_and_combine(int source, void *values) {
    struct arrival *arrival = wait_for(source);
    size_t count = current.bytes / sizeof(double);
    enum narthex_operation operation = current.preamble.combination & 15;
    if (current.preamble.combination >> 4 == NARTHEX_DOUBLE)
        combine_double(values, data_of(arrival), count, operation);
    else
        combine_int64_t(values, data_of(arrival), count, operation);
    give_back(arrival);
}

static uint8_t check_combination(const char *function, size_t count, enum narthex_type type,
                                 enum narthex_operation operation) {
    narthex_check(count <= narthex_payload_limit() / sizeof(double),
                  "node %d calls %s for %zu values: the limit is %zu", narthex_node(), function,
                  count, narthex_payload_limit() / sizeof(double) - 1);
    narthex_check((unsigned)type <= NARTHEX_INT64 && (unsigned)operation <= NARTHEX_MAXIMUM,
                  "node %d calls %s with type %d and operation %d, which narthex_type and "
                  "narthex_operation do not have",
                  narthex_node(), function, (int)type, (int)operation);
    return (uint8_t)(type << 4 | operation);
}

/* The nodes of the hypercube. */
static int hypercube_nodes(void) {
    int nodes = 1;
    while (nodes * 2 <= narthex_nodes())
        nodes *= 2;
    return nodes;
}

/* Before the first step: the values of the nodes beyond the hypercube move into it. Whether this
 * node is in it. */
static bool fold(int cube, void *values) {
    int node = narthex_node();
    if (node >= cube)
        send_data(node - cube, values);
    else if (node + cube < narthex_nodes())
        receive_and_combine(node + cube, values);
    return node < cube;
}

/* Towards the root within the hypercube; whether this node ended with the result. */
static bool reduce_in_cube(int cube, int root, void *values) {
    int node = narthex_node();
    for (int bit = 1; bit < cube; bit *= 2) {
        if ((node ^ root) & bit) {
            send_data(node ^ bit, values);
            return false;
        }
        receive_and_combine(node ^ bit, values);
    }
    return true;
}

void narthex_reduce(int root, void *values, size_t count, enum narthex_type type,
                    enum narthex_operation operation) {
    static const char function[] = "narthex_reduce";
    begin((struct preamble){.kind = REDUCE,
                            .root = check_root(function, root),
                            .combination = check_combination(function, count, type, operation)},
          values, count * sizeof(double));
    int cube = hypercube_nodes(), deputy = root % cube;
    bool has_result = fold(cube, values) && reduce_in_cube(cube, deputy, values);
    if (has_result && root != deputy)
        send_data(root, values);
    else if (narthex_node() == root && !has_result)
        receive_data(deputy, values);
}

void narthex_all_reduce(void *values, size_t count, enum narthex_type type,
                        enum narthex_operation operation) {
    begin((struct preamble){.kind = ALL_REDUCE,
                            .combination =
                                check_combination("narthex_all_reduce", count, type, operation)},
          values, count * sizeof(double));
    int cube = hypercube_nodes(), node = narthex_node();
    if (!fold(cube, values)) {
        receive_data(node - cube, values);
        return;
    }
    for (int bit = 1; bit < cube; bit *= 2) {
        send_data(node ^ bit, values);
        receive_and_combine(node ^ bit, values);
    }
    if (node + cube < narthex_nodes())
        send_data(node + cube, values);
}

void narthex_all_to_all(const void *outgoing, void *incoming, size_t bytes) {
    begin((struct preamble){.kind = ALL_TO_ALL}, outgoing, bytes);
    narthex_check(incoming || bytes == 0,
                  "node %d calls narthex_all_to_all for %zu bytes to nowhere (NULL)",
                  narthex_node(), bytes);
    int node = narthex_node(), nodes = narthex_nodes(), missing = nodes - 1;
    copy((char *)incoming + (size_t)node * bytes, (const char *)outgoing + (size_t)node * bytes,
         bytes);
    for (int distance = 1; distance < nodes; distance++) {
        int destination = (node + distance) % nodes;
        send_data(destination, (const char *)outgoing + (size_t)destination * bytes);
        narthex_poll();
    }
    for (; missing > 0; missing--) {
        struct arrival *arrival = wait_for(ANY_NODE);
        copy((char *)incoming + (size_t)arrival->source * bytes, data_of(arrival), bytes);
        give_back(arrival);
    }
}
