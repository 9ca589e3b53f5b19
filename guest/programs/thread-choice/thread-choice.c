/* Short and long requests to one core, whose interface chooses between their threads, or does not.
 *
 *     thread-choice [RATE [BYTES [REQUESTS [WARM-UP [ARRIVALS [BURST [THREADS [SHORT [LONG
 *                   [EVERY]]]]]]]]]]
 *         THREADS 2: one for each kind, that of short requests first; 1: all in order of arrival
 *         SHORT 100, LONG 10000 turns of a loop a request; each EVERY-th (50) is a long one
 *
 * See README.md for what is measured. */
#include "../load.h"
#include "messaging/contexts.h"

enum { SHORT_REQUEST = 1, LONG_REQUEST, ANSWER };
enum { SHORT_CONTEXT = 1, LONG_CONTEXT, STACK_BYTES = 16384 };

/* A message, and no more. */
struct request {
    uint64_t due_ns, number;
};

static long threads, turns[2], every;
static long served;
static struct narthex_latencies latencies[2]; /* of short and of long requests */
static _Alignas(16) char stacks[2][STACK_BYTES];

static bool is_long(uint64_t number) {
    return number % (uint64_t)every == (uint64_t)every - 1;
}

static void send_request(size_t number, uint64_t due_ns) {
    struct request request = {due_ns, number};
    int handler = is_long(number) ? LONG_REQUEST : SHORT_REQUEST;
    narthex_send(load_server(), handler, &request, sizeof request);
}

static void on_answer(int source, const void *payload, size_t bytes) {
    const struct request *answer = payload;
    narthex_check(bytes == sizeof *answer && source == load_server(),
                  "node %d receives %zu bytes from node %d instead of %zu from node %d",
                  narthex_node(), bytes, source, sizeof *answer, load_server());
    uint64_t latency_ns = narthex_time_ns() - answer->due_ns;
    narthex_open_loop_answered(&load_loop, answer->number, answer->due_ns);
    if (answer->number >= load_loop.warm_up)
        narthex_latency_add(&latencies[is_long(answer->number)], latency_ns);
}

static void work(long count) {
    while (count-- > 0)
        __asm__ volatile("");
}

/* One thread may interrupt the other here. */
static void count_request(void) {
    __atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
}

/* A context's thread. */
static void serve(void) {
    for (;;) {
        struct request request;
        uint64_t header = narthex_context_next(&request);
        work(turns[header_handler(header) == LONG_REQUEST]);
        narthex_context_send(header_peer(header), ANSWER, &request, sizeof request);
        count_request();
    }
}

/* Where the interface has no contexts, the library hands requests over, in order of arrival. */
static void on_request(int source, const void *payload, size_t bytes) {
    const struct request *request = payload;
    work(turns[is_long(request->number)]);
    narthex_send(source, ANSWER, request, bytes);
    count_request();
}

static void begin_contexts(void) {
    int of_long = threads == 2 ? LONG_CONTEXT : SHORT_CONTEXT;
    narthex_check(narthex_contexts() > of_long,
                  "node %d: the interface has %d contexts; %ld threads beside the program's own "
                  "need %d (contexts of the interface's section in the machine's file)",
                  narthex_node(), narthex_contexts(), threads, of_long + 1);
    for (int thread = 0; thread < threads; thread++)
        narthex_context(SHORT_CONTEXT + thread, thread, serve, stacks[thread], STACK_BYTES);
    narthex_context_of_handler(SHORT_REQUEST, SHORT_CONTEXT);
    narthex_context_of_handler(LONG_REQUEST, of_long);
    narthex_contexts_begin((int)threads);
}

static void report(const char *name, struct narthex_latencies *kind) {
    narthex_latencies_gather(kind);
    if (narthex_node() == 0 && kind->count > 0)
        narthex_latencies_report(kind, name);
}

int main(int count, char **values) {
    long all = load_prepare(count, values, send_request);
    threads = argument(count, values, LOAD_ARGUMENTS + 1, "threads", 1, 2, 2);
    turns[0] = argument(count, values, LOAD_ARGUMENTS + 2, "short", 0, 1000000000, 100);
    turns[1] = argument(count, values, LOAD_ARGUMENTS + 3, "long", 0, 1000000000, 10000);
    every = argument(count, values, LOAD_ARGUMENTS + 4, "every", 1, 1000000000, 50);
    bool has_contexts = narthex_node() == load_server() && narthex_contexts() > 1;
    narthex_register_handler(SHORT_REQUEST, on_request);
    narthex_register_handler(LONG_REQUEST, on_request);
    narthex_register_handler(ANSWER, on_answer);
    if (has_contexts)
        begin_contexts();
    load_run(all, &served);
    if (has_contexts)
        narthex_contexts_end();
    report("short", &latencies[0]);
    report("long", &latencies[1]);
    narthex_check(narthex_node() != load_server() || served == all,
                  "node %d served %ld requests of %ld", narthex_node(), served, all);
    return 0;
}
