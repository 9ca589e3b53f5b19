/* Reads a GOAL schedule and executes this node's rank of it: what the programs `goal` and
 * `goal-mixed` have in common. They say when a run begins and ends (begin_together, end_together).
 *
 * What an operation waits for is counted; one that waits for nothing is ready. Ready operations are
 * executed in the order in which they have become so: a calculation spends its time, a send sends,
 * a receive is posted. When none is ready, the node polls. A message's handler looks for the oldest
 * posted receive with its source and tag, or keeps the message until its receive is posted.
 *
 * A message's first bytes are its tag, so it has at least four. Payloads are not looked into: a
 * receive takes what its send has sent. */
#ifndef NARTHEX_PROGRAMS_GOAL_SCHEDULE_H
#define NARTHEX_PROGRAMS_GOAL_SCHEDULE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../arguments.h"
#include "messaging/collectives.h"

enum { MESSAGE = 1 };
enum { SEND = 1, RECEIVE = 2, CALCULATE = 3 };
enum {
    COOKIE = 4223,
    COOKIE_BYTES = 8,
    HEAD_BYTES = 14,
    RECORD_BYTES = 39,
    CALIBRATION_CYCLES = 100000,
};
static const uint32_t ANY = UINT32_MAX;
static const uint32_t NONE = UINT32_MAX;

struct operation {
    uint64_t size; /* bytes, or nanoseconds */
    uint32_t waits_for, left;
    uint32_t peer, tag;
    uint32_t dependants, first;
    uint32_t start_dependants, start_first;
    uint32_t next; /* in a list of receives */
    int type;
};

/* A message without its receive. */
struct kept {
    uint32_t source, tag, next;
};

struct list {
    uint32_t first, last;
};

static struct operation *operations;
static uint32_t count;
static const uint32_t *appendix;
static uint32_t *ready, ready_first, ready_last;
static struct list posted, unexpected;
static struct kept *kept;
static uint32_t kept_count, kept_room;
static uint32_t over;
static uint64_t last_ns;
static uint32_t *payload;
static double cycles_per_ns;

/* Reading the file */

static void take(void *value, size_t bytes, const char **from) {
    memcpy(value, *from, bytes);
    *from += bytes;
}

#define TAKE(value) take(&(value), sizeof(value), &from)

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    narthex_check(memory, "goal: node %d has no memory left for its %u operations", narthex_node(),
                  count);
    return memory;
}

static void read_at(int file, uint64_t place, void *bytes, size_t length, const char *name) {
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(file, (char *)bytes + done, length - done, (off_t)(place + done));
        narthex_check(got > 0, "goal: '%s' is cut", name);
        done += (size_t)got;
    }
}

static void read_operation(struct operation *operation, const char *from) {
    uint8_t type, cpu, nic;
    TAKE(operation->waits_for);
    TAKE(type);
    TAKE(operation->peer);
    TAKE(operation->size);
    TAKE(operation->tag);
    TAKE(cpu);
    TAKE(nic);
    TAKE(operation->dependants);
    TAKE(operation->first);
    TAKE(operation->start_dependants);
    TAKE(operation->start_first);
    operation->type = type;
}

static size_t longest_message(void) {
    size_t longest = sizeof(uint32_t);
    for (uint32_t index = 0; index < count; index++)
        if (operations[index].type == SEND && operations[index].size > longest)
            longest = operations[index].size;
    narthex_check(longest <= narthex_payload_limit(),
                  "goal: rank %d sends a message of %zu bytes; allowed are %zu", narthex_node(),
                  longest, narthex_payload_limit());
    return longest;
}

static void read_schedule(const char *name) {
    int file = open(name, O_RDONLY);
    narthex_check(file >= 0, "goal: there is no file '%s'; give it with --file %s=FILE", name,
                  name);
    char head[HEAD_BYTES];
    read_at(file, 0, head, sizeof head, name);
    const char *from = head;
    uint64_t cookie, start, end;
    uint32_t ranks, roots;
    TAKE(cookie);
    TAKE(ranks);
    narthex_check(cookie == COOKIE, "goal: '%s' is no schedule in the binary format", name);
    narthex_check(ranks == (uint32_t)narthex_nodes(),
                  "goal: '%s' has %u ranks, and the machine %d nodes; each node is a rank", name,
                  ranks, narthex_nodes());
    uint64_t entry = HEAD_BYTES + 16 * (uint64_t)narthex_node();
    read_at(file, entry, &start, sizeof start, name);
    read_at(file, entry + sizeof start, &end, sizeof end, name);
    char *section = allocate(end - start);
    read_at(file, COOKIE_BYTES + start, section, end - start, name);
    close(file);
    from = section;
    TAKE(count);
    TAKE(roots);
    from += 4 * (size_t)roots;
    operations = allocate(count * sizeof *operations);
    for (uint32_t index = 0; index < count; index++, from += RECORD_BYTES)
        read_operation(&operations[index], from);
    size_t left = (size_t)(section + (end - start) - from);
    uint32_t *numbers = allocate(left);
    memcpy(numbers, from, left);
    appendix = numbers;
    free(section);
    ready = allocate(count * sizeof *ready);
    payload = allocate(longest_message());
}

/* Executing it */

static void release(uint32_t dependants, uint32_t first) {
    for (uint32_t index = 0; index < dependants; index++) {
        uint32_t later = appendix[first + index];
        if (--operations[later].left == 0)
            ready[ready_last++] = later;
    }
}

static void start(const struct operation *operation) {
    release(operation->start_dependants, operation->start_first);
}

static void end(const struct operation *operation) {
    if (++over == count)
        last_ns = narthex_time_ns();
    release(operation->dependants, operation->first);
}

static bool matches(uint32_t peer, uint32_t tag, uint32_t source, uint32_t sent_tag) {
    return (peer == source || peer == ANY) && (tag == sent_tag || tag == ANY);
}

static void on_message(int source, const void *message, size_t bytes) {
    (void)bytes;
    uint32_t tag = *(const uint32_t *)message, before = NONE; /* messages are aligned */
    for (uint32_t index = posted.first; index != NONE; index = operations[index].next) {
        struct operation *receive = &operations[index];
        if (matches(receive->peer, receive->tag, (uint32_t)source, tag)) {
            if (before == NONE)
                posted.first = receive->next;
            else
                operations[before].next = receive->next;
            if (posted.last == index)
                posted.last = before;
            end(receive);
            return;
        }
        before = index;
    }
    if (kept_count == kept_room) {
        kept_room = kept_room ? 2 * kept_room : 64;
        kept = realloc(kept, kept_room * sizeof *kept);
        narthex_check(kept, "goal: node %d has no memory left for messages", narthex_node());
    }
    kept[kept_count] = (struct kept){(uint32_t)source, tag, NONE};
    if (unexpected.first == NONE)
        unexpected.first = kept_count;
    else
        kept[unexpected.last].next = kept_count;
    unexpected.last = kept_count++;
}

static void post(uint32_t own) {
    struct operation *receive = &operations[own];
    uint32_t before = NONE;
    for (uint32_t index = unexpected.first; index != NONE; index = kept[index].next) {
        if (matches(receive->peer, receive->tag, kept[index].source, kept[index].tag)) {
            if (before == NONE)
                unexpected.first = kept[index].next;
            else
                kept[before].next = kept[index].next;
            if (unexpected.last == index)
                unexpected.last = before;
            end(receive);
            return;
        }
        before = index;
    }
    receive->next = NONE;
    if (posted.first == NONE)
        posted.first = own;
    else
        operations[posted.last].next = own;
    posted.last = own;
}

static void execute(uint32_t index) {
    struct operation *operation = &operations[index];
    start(operation);
    switch (operation->type) {
    case SEND:
        *payload = operation->tag;
        narthex_send((int)operation->peer, MESSAGE, payload,
                     operation->size > sizeof operation->tag ? operation->size
                                                             : sizeof operation->tag);
        end(operation);
        break;
    case RECEIVE:
        post(index);
        break;
    case CALCULATE:
        if (operation->size > 0)
            narthex_pause((uint64_t)((double)operation->size * cycles_per_ns));
        end(operation);
        break;
    }
}

static void reset(void) {
    over = ready_first = ready_last = kept_count = 0;
    posted.first = unexpected.first = NONE;
    for (uint32_t index = 0; index < count; index++) {
        operations[index].left = operations[index].waits_for;
        if (operations[index].left == 0)
            ready[ready_last++] = index;
    }
}

/* The time at which this run begins, when it has come: the same on all nodes. */
static uint64_t begin_together(void);

/* Returns when no rank has anything left to do. */
static void end_together(bool is_last);

static void run(bool measured) {
    reset();
    uint64_t begin_ns = begin_together();
    last_ns = begin_ns;
    if (measured)
        narthex_region_begin("schedule");
    while (over < count) {
        if (ready_first < ready_last)
            execute(ready[ready_first++]);
        else
            narthex_poll();
    }
    if (measured) {
        narthex_region_end("schedule");
        narthex_report("finish", (double)(last_ns - begin_ns), "ns");
    }
    end_together(measured);
}

static void calibrate(void) {
    uint64_t cycles = narthex_cycles(), time_ns = narthex_time_ns();
    narthex_pause(CALIBRATION_CYCLES);
    cycles_per_ns = (double)(narthex_cycles() - cycles) / (double)(narthex_time_ns() - time_ns);
}

#endif
