/* Lets nodes make their steps in an order that a seed chooses:
 *
 *     orders SEED ACCESSES LIBRARY LIBRARY ...
 *
 * After each step one node alone may write a line, or none. Each read gets the number of writes
 * before it, whoever made them, since a processor writes while no other has a copy. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "node.h"

enum { MOST_NODES = 8, MOST_LINES = 6, WAITING = 4096, PATIENCE = 2000000 };

/* What may happen in a node, and how often. */
enum step { TRANSMIT_COMMAND, RECEIVE_COMMAND, PACKET, FIRMWARE, ACCESS, STEPS };

static const struct node_steps *nodes[MOST_NODES];
static int node_count;
static uint64_t random_state;

static int random_below(int limit) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)((random_state >> 20) % (uint64_t)limit);
}

static int random_of(const int *weights, int count) {
    int sum = 0, each = 0;
    for (int place = 0; place < count; place++)
        sum += weights[place];
    for (int rest = random_below(sum); rest >= weights[each]; each++)
        rest -= weights[each];
    return each;
}

/* The network keeps the order of what a node sends to another one. */
static struct channel {
    unsigned sent, arrived;
    struct packet packets[WAITING];
} channels[MOST_NODES][MOST_NODES];

static void send(int from, int to, const struct packet *packet) {
    struct channel *channel = &channels[from][to];
    channel->packets[channel->sent++ % WAITING] = *packet;
}

static void let_arrive(int from, int to) {
    struct channel *channel = &channels[from][to];
    if (channel->sent != channel->arrived &&
        nodes[to]->arrive(&channel->packets[channel->arrived % WAITING]))
        channel->arrived += 1;
}

static int lines[MOST_LINES], line_count;
static uint64_t writes[LINES];

static void check_permissions(void) {
    for (int each = 0; each < line_count; each++) {
        int writers = 0, readers = 0;
        for (int node = 0; node < node_count; node++) {
            int permission = nodes[node]->permission(lines[each]);
            writers += permission == 2;
            readers += permission == 1;
        }
        if (writers > 1 || (writers == 1 && readers > 0)) {
            printf("line %d may be written by %d nodes and read by %d\n", lines[each], writers,
                   readers);
            exit(1);
        }
    }
}

/* What a processor is at. */
static struct access {
    bool is_under_way, is_write;
    int line;
} accesses[MOST_NODES][PROCESSORS];

/* Whether a processor's access is over. */
static bool let_access(int node, int processor, int write_percent) {
    struct access *access = &accesses[node][processor];
    if (!access->is_under_way)
        *access = (struct access){true, random_below(100) < write_percent,
                                  lines[random_below(line_count)]};
    uint64_t value = 0;
    if (!nodes[node]->access(processor, access->line, access->is_write, &value))
        return false;
    access->is_under_way = false;
    writes[access->line] += access->is_write;
    if (value != writes[access->line]) {
        printf("line %d: %s of %llu after %llu writes\n", access->line,
               access->is_write ? "a write" : "a read", (unsigned long long)value,
               (unsigned long long)writes[access->line]);
        exit(1);
    }
    return true;
}

int main(int count, char **values) {
    random_state = strtoull(values[1], NULL, 10) * 0x9e3779b97f4a7c15 + 1;
    long asked = strtol(values[2], NULL, 10), done = 0, idle = 0;
    node_count = count - 3;
    for (int node = 0; node < node_count; node++) {
        void *library = dlopen(values[3 + node], RTLD_NOW | RTLD_LOCAL);
        node_of_library *steps =
            library ? (node_of_library *)dlsym(library, "steps_of_node") : NULL;
        if (!steps) {
            printf("%s\n", dlerror());
            return 2;
        }
        nodes[node] = steps();
        nodes[node]->start(node, node_count, send);
    }
    int weights[STEPS], write_percent = 10 + random_below(90);
    for (int step = 0; step < STEPS; step++)
        weights[step] = 1 + random_below(20);
    line_count = 1 + random_below(MOST_LINES);
    for (int each = 0; each < line_count; each++)
        lines[each] = random_below(LINES);
    while (done < asked) {
        int node = random_below(node_count), step = random_of(weights, STEPS);
        if (++idle > PATIENCE) {
            printf("no access is over any more, after %ld\n", done);
            return 1;
        }
        if (step == PACKET)
            let_arrive(random_below(node_count), node);
        else if (step == FIRMWARE)
            nodes[node]->firmware((enum event)random_below(EVENTS));
        else if (step != ACCESS)
            nodes[node]->command(step);
        else if (let_access(node, random_below(PROCESSORS), write_percent)) {
            done += 1;
            idle = 0;
        }
        check_permissions();
    }
    return 0;
}
