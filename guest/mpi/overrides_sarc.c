/* Collectives over SARC: counters for barriers, and messages that are written straight into other
 * tiles' scratchpads for broadcasts and reductions of a few words.
 *
 * A line at the receiver takes one message: the number of the call and how many bytes there are,
 * then the data. It is written as a whole, so a receiver looks at the first word alone. All calls
 * are numbered together, so that ranks in different collectives do not take each other's messages.
 *
 * A reduction's lines, one for each partner, are used in turn by every other call. No rank is two
 * calls ahead of its partner: to end one it needs what the partner sends in the same. A root of
 * broadcasts waits for nothing, so that all ranks meet in a barrier once all lines have been used.
 */
#if defined __riscv && defined ONLY_DRIVER
#include "messaging/collectives.h"
#include "messaging/narthex.h"
#include "mpi/overrides.h"
#include "sarc/barriers.h"
#include "sarc/sarc.h"

/* A reduction's partners: one for each bit of a rank's place in the hypercube, and those of ranks
 * beyond it, to which and from which values go. */
enum { ROUNDS = 2 * SARC_COUNTER_LEVELS, FOLD = ROUNDS, UNFOLD, PARTNERS };
enum { TURNS = 2 };
enum { BROADCASTS = 8 };
enum { LINES = 1 + SARC_COUNTER_BARRIER_LINES + TURNS * PARTNERS + BROADCASTS };

static uint64_t *command, *reductions, *broadcasts; /* the own tile's lines */
static uint64_t calls, reduced, broadcast;          /* so far */
static uint64_t last_broadcast;                     /* its number among all calls */
static struct sarc_counter_barrier barrier;

/* Whether all ranks have taken their lines at the same place of their scratchpads. */
static bool is_same_place(const uint64_t *lines) {
    int64_t place = lines ? (int64_t)((uintptr_t)lines % SARC_WINDOW_BYTES) : INT64_MIN / 2;
    int64_t ends[] = {place, -place};
    narthex_all_reduce(ends, 2, NARTHEX_INT64, NARTHEX_MINIMUM);
    return place >= 0 && ends[0] == -ends[1];
}

/* Ranks stand for tiles, so each has to be the process of one alone. */
bool sarc_collectives_start(void) {
    unsigned ranks = (unsigned)narthex_nodes();
    bool is_possible = sarc_register(SARC_REGISTER_TILES_OF_PROCESS) == 1 &&
                       ranks <= 1u << 2 * SARC_COUNTER_LEVELS;
    uint64_t *lines = is_possible ? sarc_allocate(LINES) : NULL;
    if (!is_same_place(lines)) {
        if (lines)
            sarc_free(lines, LINES);
        return false;
    }
    command = lines;
    uint64_t *counters = command + SARC_LINE_WORDS;
    reductions = counters + SARC_COUNTER_BARRIER_LINES * SARC_LINE_WORDS;
    broadcasts = reductions + TURNS * PARTNERS * SARC_LINE_WORDS;
    sarc_mark(command, SARC_ROLE_COMMAND);
    sarc_make_counter_barrier(&barrier, counters, (unsigned)narthex_node(), ranks);
    return true;
}

/* Messages */

enum { BYTES_BITS = 8 }; /* of a line's first word; the call's number is above them */

static void send_line(const struct communicator *comm, int rank, const uint64_t *line,
                      uint64_t number, const void *data, size_t bytes) {
    uint64_t words[SARC_MESSAGE_WORDS] = {number << BYTES_BITS | bytes};
    copy(words + 1, data, bytes);
    while (!sarc_command_is_free(command))
        ;
    sarc_message(command, sarc_remote(line, (unsigned)world_rank(comm, rank)), words,
                 1 + (bytes + sizeof *words - 1) / sizeof *words, NULL);
}

/* Waits for the message with this number, and takes up to `bytes` of it. Returns its bytes. */
static size_t take_line(const uint64_t *line, uint64_t number, void *data, size_t bytes) {
    uint64_t words[SARC_MESSAGE_WORDS];
    await_word(line, BYTES_BITS, number);
    size_t came = sarc_load(line) & ((1 << BYTES_BITS) - 1);
    for (size_t word = 1; word <= (came + sizeof *words - 1) / sizeof *words; word++)
        words[word] = sarc_load(&line[word]);
    copy(data, words + 1, came < bytes ? came : bytes);
    return came;
}

/* Collectives */

static void meet(void) {
    sarc_add(barrier.leaf, 1);
    await_word(barrier.flag, 0, 1);
    sarc_store(barrier.flag, 0);
}

static const uint64_t *broadcast_line(void) {
    return broadcasts + broadcast % BROADCASTS * SARC_LINE_WORDS;
}

/* A counter does not tell a barrier from another collective; a broadcast that nobody has taken
 * does. */
int sarc_barrier(const struct collective_call *call) {
    calls += 1;
    meet();
    uint64_t number = sarc_load(broadcast_line()) >> BYTES_BITS;
    narthex_check(number <= last_broadcast,
                  "rank %d is in MPI_Barrier on %s, and another rank's MPI_Bcast in its place, or "
                  "before it, was taken by no collective of this rank: all ranks of a communicator "
                  "make the same collectives in the same order",
                  call->comm->rank, call->comm->name);
    return MPI_SUCCESS;
}

/* Down a binomial tree, as that of messages (mpi/broadcast.c). */
int sarc_broadcast(const struct collective_call *call) {
    const struct communicator *comm = call->comm;
    struct elements data = call->data;
    uint64_t packed[SARC_COLLECTIVE_BYTES / sizeof(uint64_t)];
    size_t bytes = data.count * data.type->size, came = bytes;
    if (broadcast % BROADCASTS == 0)
        meet();
    const uint64_t *line = broadcast_line();
    broadcast += 1;
    last_broadcast = ++calls;
    int size = comm->size, place = (comm->rank - call->root + size) % size, distance = 1;
    while (distance < size && !(place & distance))
        distance *= 2;
    if (place == 0)
        pack((char *)packed, data.buffer, data.count, data.type);
    else
        came = take_line(line, calls, packed, bytes);
    while ((distance /= 2) > 0)
        if (place + distance < size)
            send_line(comm, (place + distance + call->root) % size, line, calls, packed, came);
    if (came > bytes)
        return MPI_ERR_TRUNCATE;
    if (place > 0)
        unpack((const char *)packed, came, data.buffer, data.type);
    return MPI_SUCCESS;
}

/* The values of ranks that follow each other, and those of a partner. */
struct values {
    const struct collective_call *call;
    uint64_t own[SARC_COLLECTIVE_BYTES / sizeof(uint64_t)], other[SARC_COLLECTIVE_BYTES / 8];
    size_t bytes;
    int error;
};

static const uint64_t *reduction_line(unsigned partner) {
    return reductions + (reduced % TURNS * PARTNERS + partner) * SARC_LINE_WORDS;
}

static void give(const struct values *values, unsigned partner, int rank) {
    send_line(values->call->comm, rank, reduction_line(partner), calls, values->own, values->bytes);
}

static void take_values(struct values *values, unsigned partner, uint64_t *to) {
    if (take_line(reduction_line(partner), calls, to, values->bytes) > values->bytes)
        values->error = MPI_ERR_TRUNCATE;
}

static void combine(struct values *values, const uint64_t *before, uint64_t *behind) {
    const struct elements *data = &values->call->data;
    operate(values->call->reduction->operation, before, behind, data->count, data->type);
}

static void combine_with(struct values *values, unsigned partner, bool is_before) {
    take_values(values, partner, values->other);
    if (is_before) {
        combine(values, values->other, values->own);
    } else {
        combine(values, values->own, values->other);
        copy(values->own, values->other, values->bytes);
    }
}

/* Recursive doubling, as by messages (mpi/reductions.c): so every bit of the result is the same. */
int sarc_all_reduce(const struct collective_call *call) {
    const struct communicator *comm = call->comm;
    struct cube cube = cube_of(comm);
    struct values values = {.call = call, .bytes = call->data.count * call->data.type->size};
    bool has_neighbour = comm->rank < cube.folded; /* beyond the cube, or in it for one beyond */
    calls += 1;
    reduced += 1;
    copy(values.own, own_values(call->reduction), values.bytes);
    if (cube.place < 0) {
        give(&values, FOLD, comm->rank + 1);
        take_values(&values, UNFOLD, values.own);
    } else if (has_neighbour) {
        combine_with(&values, FOLD, true);
    }
    for (int round = 0, bit = 1; cube.place >= 0 && bit < cube.size; round++, bit *= 2) {
        int partner = cube.place ^ bit;
        give(&values, (unsigned)round, rank_at(&cube, partner));
        combine_with(&values, (unsigned)round, partner < cube.place);
    }
    if (cube.place >= 0 && has_neighbour)
        give(&values, UNFOLD, comm->rank - 1);
    copy(call->data.buffer, values.own, values.bytes);
    return values.error;
}

#else

typedef int no_sarc_collectives;

#endif
