/* The parts of messages, put together in any order (messaging/partial_messages.h).
 *
 *     parts [COUNT]     random mixtures, by default 200
 *     parts cycles      reports what a part costs in order and out of order
 *
 * A mixture is a few messages of several packets, from few sources or many, with numbers that are
 * near each other or far apart, whose packets come in a random order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../arguments.h"
#include "../random_numbers.h"
#include "messaging/partial_messages.h"
#include "narthex.h"

enum { MESSAGES = 12, PACKETS = 9, PART = 248, LAST_PART = 12, TIMED = 100 };

struct message {
    uint64_t header; /* of its first packet */
    size_t packets, bytes;
};

struct part {
    const struct message *message;
    size_t index;
};

static uint64_t state;

static size_t below(size_t limit) {
    return random_next(&state) % limit;
}

static uint64_t header_of_part(struct part part) {
    bool last = part.index + 1 == part.message->packets;
    size_t bytes = last ? part.message->bytes - part.index * PART : PART;
    return (part.message->header + header_behind(part.index * PART)) | bytes << HEADER_BYTES_SHIFT |
           (last ? HEADER_LAST : 0);
}

static char byte_at(const struct message *message, size_t place) {
    return (char)(message->header * 7 + (message->header >> HEADER_NUMBER_SHIFT) * 13 + place);
}

static void check_message(const struct message *message, const struct partial_message *whole) {
    narthex_check(whole->arrangement.bytes == message->bytes, "%zu bytes came out of %zu",
                  whole->arrangement.bytes, message->bytes);
    for (size_t place = 0; place < message->bytes; place++)
        narthex_check(buffer_data(whole->buffer)[place] == byte_at(message, place),
                      "byte %zu of %zu is wrong", place, message->bytes);
    buffer_give(whole->buffer);
}

/* Takes one part in; returns whether it completed its message. */
static bool take(struct part part) {
    uint64_t header = header_of_part(part);
    struct deposit deposit = partial_deposit(header);
    for (size_t place = 0; place < header_bytes(header); place++)
        deposit.place[place] = byte_at(part.message, part.index * PART + place);
    if (deposit.completed)
        check_message(part.message, deposit.completed);
    return deposit.completed;
}

/* Messages of which no two have the same source and number. */
static void draw_messages(struct message *messages) {
    size_t sources = 1 + below(MESSAGES), spread = 1 + below(21);
    for (size_t each = 0; each < MESSAGES; each++) {
        uint64_t source = each % sources, number = each / sources * spread;
        messages[each].header = source | number << HEADER_NUMBER_SHIFT;
        messages[each].packets = 2 + below(PACKETS - 1);
        messages[each].bytes = (messages[each].packets - 1) * PART + 1 + below(PART);
    }
}

static void mix_and_take(void) {
    struct message messages[MESSAGES];
    struct part parts[MESSAGES * PACKETS];
    size_t count = 0, completed = 0;
    draw_messages(messages);
    for (size_t each = 0; each < MESSAGES; each++)
        for (size_t index = 0; index < messages[each].packets; index++)
            parts[count++] = (struct part){&messages[each], index};
    for (; count > 0; count--) {
        size_t chosen = below(count);
        completed += take(parts[chosen]);
        parts[chosen] = parts[count - 1];
    }
    narthex_check(completed == MESSAGES, "%zu of %d messages are complete", completed, MESSAGES);
}

/* Cycles to enter the two parts of a message, the part `first` first; of several messages. */
static double cycles_from(size_t first) {
    uint64_t cycles = 0;
    for (unsigned number = 0; number < TIMED; number++) {
        struct message message = {(uint64_t)number << HEADER_NUMBER_SHIFT, 2, PART + LAST_PART};
        uint64_t one = header_of_part((struct part){&message, first});
        uint64_t other = header_of_part((struct part){&message, 1 - first});
        uint64_t start = narthex_cycles();
        partial_deposit(one);
        struct deposit deposit = partial_deposit(other);
        uint64_t end = narthex_cycles();
        narthex_check(deposit.completed, "two parts are no message");
        buffer_give(deposit.completed->buffer);
        cycles += end - start;
    }
    return (double)cycles / TIMED;
}

int main(int count, char **values) {
    if (count > 1 && strcmp(values[1], "cycles") == 0) {
        cycles_from(0); /* so that all is in the cache */
        narthex_report("in order", cycles_from(0), "cycles");
        narthex_report("out of order", cycles_from(1), "cycles");
        return 0;
    }
    long mixtures = argument(count, values, 1, "count", 1, 1000000, 200);
    state = random_start(narthex_seed(), 0);
    for (long each = 0; each < mixtures; each++)
        mix_and_take();
    printf("%ld mixtures of %d messages\n", mixtures, MESSAGES);
    return 0;
}
