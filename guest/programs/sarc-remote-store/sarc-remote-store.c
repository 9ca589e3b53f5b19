/* The one-way latency of a remote store, a message and a copy from tile to tile (Section 5.4.1).
 *
 *     sarc-remote-store [METHOD [TILE [COUNT]]]
 *
 * METHOD is store, message (a word out of a command buffer) or copy (a word by RDMA). Tile 0 and
 * TILE store a word to each other in turn, each as soon as it has loaded the other's. By default
 * tile 1, 1000 rounds. See README.md. */
#include "../sarc_work.h"

enum { STORE, MESSAGE, COPY, METHODS };
static const char *const NAMES[METHODS] = {"store", "message", "copy"};

static unsigned method, other;
static uint64_t count;

/* The words of a tile: what has come, the command buffer, and what a copy reads. */
struct end {
    uint64_t *own, *to, *command, *source;
};

static inline void send(const struct end *end, unsigned how, uint64_t value) {
    if (how == STORE) {
        sarc_store(end->to, value);
        return;
    }
    while (!sarc_command_is_free(end->command))
        ;
    if (how == MESSAGE) {
        sarc_message(end->command, end->to, &value, 1, NULL);
    } else {
        sarc_store(end->source, value);
        sarc_copy(end->command, end->to, end->source, sizeof value, NULL);
    }
}

static inline void await(const struct end *end, uint64_t value) {
    while (sarc_load(end->own) != value)
        ;
}

/* Made once for each method, so that nothing but the transfer and the poll is in the loops. */
static inline void rounds(const struct end *given, unsigned how, bool begins) {
    struct end end = *given;
    uint64_t last = count;
    for (uint64_t round = 1; round <= last; round++) {
        if (begins)
            send(&end, how, round);
        await(&end, round);
        if (!begins)
            send(&end, how, round);
    }
}

static void all_rounds(const struct end *end, bool begins) {
    if (method == STORE)
        rounds(end, STORE, begins);
    else if (method == MESSAGE)
        rounds(end, MESSAGE, begins);
    else
        rounds(end, COPY, begins);
}

static void work(unsigned tile) {
    uint64_t *lines = take_lines(2);
    struct end end = {.own = lines,
                      .to = sarc_remote(lines, tile == 0 ? other : 0),
                      .command = take_command(),
                      .source = lines + SARC_LINE_WORDS};
    sarc_rendezvous(tile);
    uint64_t begin = cycles_now();
    if (tile == 0)
        all_rounds(&end, true);
    else if (tile == other)
        all_rounds(&end, false);
    uint64_t elapsed = cycles_now() - begin;
    if (tile == 0)
        narthex_report("time", (double)elapsed / (2.0 * (double)count), "cycles");
}

int main(int arguments, char **values) {
    method = choice(arguments, values, 1, "method", NAMES, METHODS);
    other = (unsigned)argument(arguments, values, 2, "tile", 1, 127, 1);
    count = (uint64_t)argument(arguments, values, 3, "count", 1, 1000000, 1000);
    sarc_run(other + 1, work);
    return 0;
}
