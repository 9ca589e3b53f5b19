/* Latency under an open-loop load: clients send requests at times of their own to a server that
 * sends them back.
 *
 *     open-loop [RATE [BYTES [REQUESTS [WARM-UP [ARRIVALS [BURST]]]]]]
 *         by default 50 thousand requests a second of 64 bytes, 2000 measured after 200,
 *         ARRIVALS poisson; or fixed, bursts (of BURST: 8), or a file of times, with RATE 0
 *
 * See README.md for what is inside the latency and what is not. */
#include "../load.h"

enum { REQUEST = 1, ANSWER = 2 };

/* A message begins with it; words of a pattern follow, to its end. */
struct echo {
    uint64_t due_ns, number;
};

/* Between two words of a pattern: odd, and with bits everywhere. */
#define PATTERN_STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t *request; /* the client's next */
static size_t request_bytes;
static long served;

static size_t words(void) {
    return (request_bytes - sizeof(struct echo)) / 8;
}

static void send_request(size_t number, uint64_t due_ns) {
    *(struct echo *)request = (struct echo){due_ns, number};
    uint64_t *word = (uint64_t *)((struct echo *)request + 1), value = pattern_word(number, 0);
    for (size_t index = 0; index < words(); index++)
        word[index] = value += PATTERN_STEP;
    narthex_send(load_server(), REQUEST, request, request_bytes);
}

static void on_request(int source, const void *payload, size_t bytes) {
    served += 1;
    narthex_send(source, ANSWER, payload, bytes);
}

static void on_answer(int source, const void *payload, size_t bytes) {
    const struct echo *answer = payload;
    narthex_check(bytes == request_bytes && source == load_server(),
                  "node %d receives %zu bytes from node %d instead of %zu from node %d",
                  narthex_node(), bytes, source, request_bytes, load_server());
    narthex_open_loop_answered(&load_loop, answer->number, answer->due_ns);
    const uint64_t *word = (const uint64_t *)(answer + 1);
    uint64_t value = pattern_word(answer->number, 0);
    for (size_t index = 0; index < words(); index++)
        narthex_check(word[index] == (value += PATTERN_STEP),
                      "node %d: the answer to request %zu is wrong in the bytes from %zu on",
                      narthex_node(), (size_t)answer->number, sizeof *answer + 8 * index);
}

int main(int count, char **values) {
    request_bytes = load_bytes(count, values, sizeof(struct echo));
    long all = load_prepare(count, values, send_request);
    narthex_check((request = malloc(request_bytes)), "node %d has no memory for %zu bytes",
                  narthex_node(), request_bytes);
    narthex_register_handler(REQUEST, on_request);
    narthex_register_handler(ANSWER, on_answer);
    load_run(all, &served);
    narthex_check(narthex_node() != load_server() || served == all,
                  "node %d served %ld requests of %ld", narthex_node(), served, all);
    return 0;
}
