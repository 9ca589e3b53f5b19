/* The one-way latency of a remote store, a message and a copy from tile to tile (Section 5.4.1).
 *
 *     sarc-remote-store [METHOD [TILE [COUNT [BYTES]]]]
 *
 * METHOD is store, message (a word out of a command buffer), copy (a word by RDMA) or transfer (a
 * copy of BYTES, whose acknowledgements make a counter of the receiver zero). Tile 0 and TILE send
 * to each other in turn, each as soon as it has loaded what the other sends. By default tile 1,
 * 1000 rounds, 8 bytes. See README.md. */
#include "../sarc_work.h"
#include "runtime/marker.h"

enum { STORE, MESSAGE, COPY, TRANSFER, METHODS };
static const char *const NAMES[METHODS] = {"store", "message", "copy", "transfer"};

static unsigned method, other;
static uint64_t count, bytes;

/* The words of a tile: what has come, the command buffer, what a copy reads, and the counter of
 * the tile to which a transfer goes. */
struct end {
    uint64_t *own, *to, *command, *source, *counter;
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
    } else if (how == COPY) {
        sarc_store(end->source, value);
        sarc_copy(end->command, end->to, end->source, sizeof value, NULL);
    } else {
        sarc_copy(end->command, end->to, end->source, bytes, end->counter);
    }
}

/* The counter's word is a flag in the place of the round's number. */
static inline void await(const struct end *end, unsigned how, uint64_t value) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    if (how == TRANSFER)
        sarc_await_flag(end->own);
    else
        while (sarc_load(end->own) != value)
            ;
    LEAVE();
}

/* Made once for each method, so that nothing but the transfer and the poll is in the loops. */
static inline void rounds(const struct end *given, unsigned how, bool begins) {
    struct end end = *given;
    uint64_t last = count;
    for (uint64_t round = 1; round <= last; round++) {
        if (begins)
            send(&end, how, round);
        await(&end, how, round);
        if (!begins)
            send(&end, how, round);
    }
}

static void all_rounds(const struct end *end, bool begins) {
    if (method == STORE)
        rounds(end, STORE, begins);
    else if (method == MESSAGE)
        rounds(end, MESSAGE, begins);
    else if (method == COPY)
        rounds(end, COPY, begins);
    else
        rounds(end, TRANSFER, begins);
}

/* A transfer has lines of its own to go from and to, a counter and a flag. */
static void prepare_transfer(struct end *end, unsigned to) {
    unsigned lines = (unsigned)((bytes + SARC_LINE_BYTES - 1) / SARC_LINE_BYTES);
    uint64_t *counter = take_lines(1);
    end->source = take_lines(lines);
    end->to = sarc_remote(take_lines(lines), to);
    end->counter = sarc_remote(counter, to);
    sarc_make_counter(counter, -(int64_t)bytes, -(int64_t)bytes, 1, &end->own, 1);
}

static void work(unsigned tile) {
    unsigned to = tile == 0 ? other : 0;
    uint64_t *lines = take_lines(2);
    struct end end = {.own = lines,
                      .to = sarc_remote(lines, to),
                      .command = take_command(),
                      .source = lines + SARC_LINE_WORDS};
    if (method == TRANSFER)
        prepare_transfer(&end, to);
    sarc_rendezvous(tile);
    if (tile == 0)
        narthex_region_begin("transfers");
    uint64_t begin = cycles_now();
    if (tile == 0)
        all_rounds(&end, true);
    else if (tile == other)
        all_rounds(&end, false);
    uint64_t elapsed = cycles_now() - begin;
    if (tile == 0)
        narthex_region_end("transfers");
    if (tile == 0)
        narthex_report("time", (double)elapsed / (2.0 * (double)count), "cycles");
}

int main(int arguments, char **values) {
    method = choice(arguments, values, 1, "method", NAMES, METHODS);
    other = (unsigned)argument(arguments, values, 2, "tile", 1, 127, 1);
    count = (uint64_t)argument(arguments, values, 3, "count", 1, 1000000, 1000);
    bytes = (uint64_t)argument(arguments, values, 4, "bytes", 1, SARC_COPY_BYTES, 8);
    sarc_run(other + 1, work);
    return 0;
}
