/* A node as the driver sees it (orders.c): each step is one thing that happens in it. */
#ifndef NARTHEX_TESTS_INTERLEAVINGS_NODE_H
#define NARTHEX_TESTS_INTERLEAVINGS_NODE_H

#include <stdbool.h>
#include <stdint.h>

enum { LINES = 256, PROCESSORS = 2, QUEUES_OF_COMMANDS = 2 };

/* A packet of the firmware. */
struct packet {
    uint64_t message;
    int source;
    bool has_line;
    uint64_t line[4];
};

/* What the firmware may take up next. */
enum event { COMPLETION, CAPTURE, ARRIVAL, EVENTS };

struct node_steps {
    void (*start)(int node, int nodes, void (*send)(int from, int to, const struct packet *packet));

    /* The oldest command of a queue is carried out; false if there is none. */
    bool (*command)(int queue);

    /* A packet arrives; false if there is no room for it. */
    bool (*arrive)(const struct packet *packet);

    /* The firmware serves an event; false if there is none of this kind. */
    bool (*firmware)(enum event event);

    /* A processor reads a line's first doubleword, or adds 1 to it: false while it is refused. */
    bool (*access)(int processor, int line, bool is_write, uint64_t *value);

    int (*permission)(int line);
};

/* The steps of the node that a library holds. */
typedef const struct node_steps *node_of_library(void);

#endif
