/* Packets in the order that the arguments state, through the drivers that every program has.
 *
 *     exchange STEP...
 *
 * The steps are `send PEER BYTES` (one packet), `send-header HEADER` (one with this header),
 * `receive PEER` (the next packet, which must be that rank's next) or `receive any`, `repeat COUNT
 * STEP... end` (at least once), `pause CYCLES`, `report NAME` (the processor's cycles), `begin
 * NAME` and `finish NAME` (a region), and `stand-still` (for ever). A peer is a rank, or ^N or +N:
 * this one's exclusive or, and sum, with N. `on WHO` says whose the steps up to the next `on` are:
 * one rank's, or those of all that are even, odd or others (than 0).
 *
 * What no driver does: `take` (the next packet, whatever it is) and `execute INSTRUCTION ADDRESS
 * VALUE` (a load, store, atomic operation or fence; a load ignores the value). @N is the address
 * of byte N of memory that has no other use.
 *
 * Nothing is received unless a step says so, also while a send waits for room: so programs of the
 * tests can fill every queue, and wait for each other. A rank counts the packets to each other one
 * and fills them with words that follow from that number; each must arrive whole, and once. */
#include <stdbool.h>
#include <string.h>

#include "../arguments.h"
#include "messaging/driver.h"
#include "runtime/marker.h"

enum { HANDLER = 7, RANKS_LIMIT = 64, STEPS_LIMIT = 64, OVERTAKING_LIMIT = 512, ANY = -1 };

enum verb {
    SEND,
    RECEIVE,
    REPEAT,
    END,
    SEND_HEADER,
    PAUSE,
    REPORT,
    BEGIN,
    FINISH,
    STAND_STILL,
    TAKE,
    EXECUTE,
};

struct step {
    enum verb verb;
    uint64_t value;   /* header, peer, count, cycles, or the instruction's operand */
    uint64_t address; /* of the instruction */
    const char *name; /* what is reported, the region, or the instruction */
};

static struct step steps[STEPS_LIMIT];
static size_t count_of_steps;

/* The messaging library has started them. Packets are as long as their steps say, whatever the
 * machine's header. */
static struct send_driver sender;
static struct receive_driver receiver;

static uint32_t sent[RANKS_LIMIT];                   /* packets to each rank */
static uint32_t received[RANKS_LIMIT];               /* packets of each rank */
static uint32_t missing[RANKS_LIMIT];                /* the number of the first that has not come */
static bool has_come[RANKS_LIMIT][OVERTAKING_LIMIT]; /* those behind it, by their numbers */

static _Alignas(64) uint32_t outgoing[64], incoming[64];
static _Alignas(4096) char scratch[1 << 16];

static uint32_t word_of(int source, int destination, uint32_t number, size_t index) {
    return number + (uint32_t)index * (uint32_t)(source << 16 | destination << 8 | 1);
}

static void send(uint64_t header) {
    int peer = header_peer(header);
    size_t bytes = header_bytes(header);
    uint32_t number = peer < RANKS_LIMIT ? sent[peer]++ : 0;
    for (size_t index = 0; index * sizeof(uint32_t) < bytes; index++)
        outgoing[index] = word_of(narthex_node(), peer, number, index);
    ENTER(ACTIVITY_SEND);
    if (!sender.has_room()) {
        ENTER(ACTIVITY_WAIT_TO_SEND);
        while (!sender.has_room())
            continue;
        LEAVE();
    }
    sender.send(header, outgoing, bytes);
    LEAVE();
}

static void check_packet(int64_t expected, uint64_t header) {
    int source = header_peer(header);
    size_t bytes = header_bytes(header);
    uint32_t number = bytes > 0 ? incoming[0] : missing[source];
    uint32_t ahead = number - missing[source];
    bool *comes = has_come[source];
    narthex_check(expected == ANY || (expected == source && ahead == 0),
                  "node %d received packet %u of node %d out of its turn", narthex_node(), number,
                  source);
    narthex_check(ahead < OVERTAKING_LIMIT && !comes[number % OVERTAKING_LIMIT],
                  "node %d received packet %u of node %d again", narthex_node(), number, source);
    for (size_t index = 0; index * sizeof(uint32_t) < bytes; index++)
        narthex_check(incoming[index] == word_of(source, narthex_node(), number, index),
                      "node %d received %#x as word %zu of a packet of node %d", narthex_node(),
                      incoming[index], index, source);
    comes[number % OVERTAKING_LIMIT] = true;
    received[source] += 1;
    for (; comes[missing[source] % OVERTAKING_LIMIT]; missing[source]++)
        comes[missing[source] % OVERTAKING_LIMIT] = false;
}

static uint64_t take(void) {
    uint64_t header;
    ENTER(ACTIVITY_POLL);
    while ((header = receiver.arrived()) == 0)
        continue;
    LEAVE();
    ENTER(ACTIVITY_RECEIVE);
    receiver.receive(incoming, header_bytes(header));
    LEAVE();
    return header;
}

static void execute(const char *name, uint64_t address, uint64_t value) {
#define INSTRUCTION(mnemonic, operands)                                                            \
    if (strcmp(name, mnemonic) == 0) {                                                             \
        __asm__ volatile(mnemonic " " operands : : "r"(address), "r"(value) : "t0", "memory");     \
        return;                                                                                    \
    }
    INSTRUCTION("lb", "t0, (%0)")
    INSTRUCTION("lh", "t0, (%0)")
    INSTRUCTION("lw", "t0, (%0)")
    INSTRUCTION("ld", "t0, (%0)")
    INSTRUCTION("sb", "%1, (%0)")
    INSTRUCTION("sh", "%1, (%0)")
    INSTRUCTION("sw", "%1, (%0)")
    INSTRUCTION("sd", "%1, (%0)")
    INSTRUCTION("lr.d", "t0, (%0)")
    INSTRUCTION("sc.w", "t0, %1, (%0)")
    INSTRUCTION("sc.d", "t0, %1, (%0)")
    INSTRUCTION("amoor.w", "t0, %1, (%0)")
    INSTRUCTION("amoadd.d", "t0, %1, (%0)")
    INSTRUCTION("amoswap.d", "t0, %1, (%0)")
    INSTRUCTION("fence", "")
#undef INSTRUCTION
    narthex_check(false, "\"%s\" is no instruction of these steps", name);
}

static uint64_t number(const char *word) {
    if (*word == '@')
        return (uintptr_t)scratch + number(word + 1);
    char *end;
    uint64_t value = strtoull(word, &end, 0);
    narthex_check(*word && !*end, "\"%s\" is no number", word);
    return value;
}

static uint64_t peer_of(const char *word) {
    if (*word == '^')
        return (uint64_t)narthex_node() ^ number(word + 1);
    if (*word == '+')
        return ((uint64_t)narthex_node() + number(word + 1)) % (uint64_t)narthex_nodes();
    return number(word);
}

static bool is_meant(const char *who) {
    if (strcmp(who, "even") == 0 || strcmp(who, "odd") == 0)
        return narthex_node() % 2 == (*who == 'o');
    if (strcmp(who, "others") == 0)
        return narthex_node() != 0;
    return (uint64_t)narthex_node() == number(who);
}

/* Reads the step at `words`, which may be another rank's, and returns the next one's words. */
static char **read_step(char **words, struct step *step) {
    static const char *const verbs[] = {"send",        "receive",     "repeat", "end",
                                        "send-header", "pause",       "report", "begin",
                                        "finish",      "stand-still", "take",   "execute"};
    for (; strcmp(*words, verbs[step->verb]) != 0; step->verb++)
        narthex_check(step->verb < EXECUTE, "\"%s\" is no step", *words);
    switch (step->verb) {
    case END:
    case STAND_STILL:
    case TAKE:
        return words + 1;
    case SEND:
        step->value = header_of(HANDLER, 0) | HEADER_LAST | peer_of(words[1]) |
                      number(words[2]) << HEADER_BYTES_SHIFT;
        return words + 3;
    case RECEIVE:
        step->value = strcmp(words[1], "any") == 0 ? (uint64_t)ANY : peer_of(words[1]);
        return words + 2;
    case REPEAT:
    case SEND_HEADER:
    case PAUSE:
        step->value = number(words[1]);
        return words + 2;
    case EXECUTE:
        step->name = words[1];
        step->address = number(words[2]);
        step->value = number(words[3]);
        return words + 4;
    default:
        step->name = words[1];
        return words + 2;
    }
}

static void read_steps(char **words) {
    bool meant = true;
    while (*words) {
        if (strcmp(*words, "on") == 0) {
            meant = is_meant(words[1]);
            words += 2;
            continue;
        }
        narthex_check(count_of_steps < STEPS_LIMIT, "more than %d steps", STEPS_LIMIT);
        struct step step = {0};
        words = read_step(words, &step);
        if (meant)
            steps[count_of_steps++] = step;
    }
}

static size_t repeat(size_t first, uint64_t times);

/* Does the steps from `first` on up to the end of their turn, and returns where that is. */
static size_t do_steps(size_t first) {
    size_t index = first;
    for (; index < count_of_steps && steps[index].verb != END; index++) {
        const struct step *step = &steps[index];
        if (step->verb == SEND || step->verb == SEND_HEADER)
            send(step->value);
        else if (step->verb == RECEIVE)
            check_packet((int64_t)step->value, take());
        else if (step->verb == TAKE)
            take();
        else if (step->verb == EXECUTE)
            execute(step->name, step->address, step->value);
        else if (step->verb == PAUSE)
            narthex_pause(step->value);
        else if (step->verb == REPORT)
            narthex_report(step->name, (double)narthex_cycles(), "cycles");
        else if (step->verb == BEGIN)
            narthex_region_begin(step->name);
        else if (step->verb == FINISH)
            narthex_region_end(step->name);
        else if (step->verb == STAND_STILL)
            for (;;)
                continue;
        else
            index = repeat(index + 1, step->value);
    }
    return index;
}

static size_t repeat(size_t first, uint64_t times) {
    size_t end;
    do
        end = do_steps(first);
    while (times-- > 1);
    return end;
}

int main(int count, char **values) {
    narthex_check(narthex_nodes() <= RANKS_LIMIT, "more than %d ranks", RANKS_LIMIT);
    const struct narthex_information *machine = narthex_information();
    sender = pick_send_driver(machine->send_driver, SMALL_HEADER);
    receiver = pick_receive_driver(machine->receive_driver, SMALL_HEADER);
    read_steps(values + (count > 0));
    do_steps(0);
    for (int rank = 0; rank < narthex_nodes(); rank++)
        narthex_check(received[rank] == missing[rank], "node %d lacks packet %u of node %d",
                      narthex_node(), missing[rank], rank);
    return 0;
}
