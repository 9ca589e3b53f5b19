/* Self-checking: messages of random sizes between random nodes, each answered from its handler.
 *
 *     messages [COUNT [LARGEST]]          by default 100 messages a node of 0 to 5000 bytes
 *     messages destination|payload|nowhere|number|twice|absent|tables|late|missing|
 *              poll|barrier|keep|send
 *                                         the error of a wrong call
 *
 * Every node sends COUNT messages to nodes drawn at random, itself included. The receiver checks
 * every byte and answers from the handler with the size it saw; the sender waits for all answers.
 */
#include <stdbool.h>
#include <stdio.h>

#include "../arguments.h"
#include "../pattern.h"

enum { DATA = 1, ANSWER = 2, WRONG = 3 };

/* What the first bytes of every message say about the rest. */
struct preamble {
    uint64_t key, bytes;
};

static long answers, received;
static uint64_t bytes_sent, bytes_answered;

static void on_data(int source, const void *payload, size_t bytes) {
    uint64_t size = bytes;
    if (bytes >= sizeof(struct preamble)) {
        const struct preamble *preamble = payload;
        narthex_check(preamble->bytes == bytes, "node %d received %zu bytes instead of %llu",
                      narthex_node(), bytes, (unsigned long long)preamble->bytes);
        pattern_check(preamble + 1, bytes - sizeof *preamble, preamble->key);
    }
    received += 1;
    narthex_send(source, ANSWER, &size, sizeof size);
}

static void on_answer(int source, const void *payload, size_t bytes) {
    (void)source;
    narthex_check(bytes == sizeof(uint64_t), "node %d received an answer of %zu bytes",
                  narthex_node(), bytes);
    answers += 1;
    bytes_answered += *(const uint64_t *)payload;
}

static void send_one(uint64_t *random, char *buffer, long largest) {
    int destination = (int)(random_next(random) % (uint64_t)narthex_nodes());
    size_t bytes = random_next(random) % (uint64_t)(largest + 1);
    if (bytes >= sizeof(struct preamble)) {
        struct preamble preamble = {random_next(random), bytes};
        memcpy(buffer, &preamble, sizeof preamble);
        pattern_fill(buffer + sizeof preamble, bytes - sizeof preamble, preamble.key);
    }
    narthex_send(destination, DATA, buffer, bytes);
    bytes_sent += bytes;
}

/* Handlers that do what a handler must not. */

static void on_poll(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    narthex_poll();
}

static void on_barrier(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    narthex_barrier();
}

static void on_keep(int source, const void *payload, size_t bytes) {
    narthex_keep(payload);
    narthex_keep(payload);
    narthex_send(source, DATA, payload, bytes);
}

static void on_send(int source, const void *payload, size_t bytes) {
    narthex_send(source + narthex_nodes(), DATA, payload, bytes);
}

/* Every node has itself run `handler`. */
static _Noreturn void run_handler(int handler) {
    narthex_send(narthex_node(), handler, "x", 1);
    for (;;)
        narthex_poll();
}

static void do_wrong(const char *what) {
    bool last = narthex_node() == narthex_nodes() - 1;
    if (strcmp(what, "destination") == 0)
        narthex_send(narthex_nodes(), DATA, "x", 1);
    if (strcmp(what, "payload") == 0)
        narthex_send(0, DATA, "x", narthex_payload_limit() + 1);
    if (strcmp(what, "nowhere") == 0)
        narthex_send(0, DATA, NULL, 1);
    if (strcmp(what, "number") == 0)
        narthex_register_handler(NARTHEX_HANDLERS, on_data);
    if (strcmp(what, "twice") == 0)
        narthex_register_handler(DATA, on_send);
    if (strcmp(what, "absent") == 0)
        run_handler(200);
    if (strcmp(what, "tables") == 0) {
        if (last)
            narthex_register_handler(WRONG, on_poll);
        else
            narthex_register_handler(WRONG, on_barrier);
        narthex_barrier();
    }
    if (strcmp(what, "late") == 0) {
        narthex_barrier();
        narthex_register_handler(WRONG, on_poll);
    }
    if (strcmp(what, "missing") == 0) {
        if (!last)
            narthex_barrier();
        exit(0);
    }
    static const struct {
        const char *name;
        narthex_handler *handler;
    } wrong[] = {{"poll", on_poll}, {"barrier", on_barrier}, {"keep", on_keep}, {"send", on_send}};
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++)
        if (strcmp(what, wrong[index].name) == 0) {
            narthex_register_named_handler(WRONG, wrong[index].handler, wrong[index].name);
            run_handler(WRONG);
        }
}

int main(int count, char **values) {
    narthex_register_handler(DATA, on_data);
    narthex_register_handler(ANSWER, on_answer);
    if (count > 1)
        do_wrong(values[1]);
    long messages = argument(count, values, 1, "count", 0, 1000000000, 100);
    long largest = argument(count, values, 2, "largest", 0, 8000000, 5000);
    uint64_t random = random_start(narthex_seed(), narthex_node());
    /* One byte off a doubleword's boundary every other run of the loop: payloads need no alignment.
     */
    char *buffer = malloc((size_t)largest + 8);
    narthex_check(buffer, "node %d has no memory for %ld bytes", narthex_node(), largest);
    narthex_barrier();
    for (long index = 0; index < messages; index++) {
        send_one(&random, buffer + index % 2, largest);
        narthex_poll();
    }
    while (answers < messages)
        narthex_poll();
    narthex_check(bytes_answered == bytes_sent, "node %d sent %llu bytes; %llu were answered",
                  narthex_node(), (unsigned long long)bytes_sent,
                  (unsigned long long)bytes_answered);
    narthex_barrier();
    printf("node %d: %ld messages of %llu bytes answered, %ld received\n", narthex_node(), answers,
           (unsigned long long)bytes_sent, received);
    return 0;
}
