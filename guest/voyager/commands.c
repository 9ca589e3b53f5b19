/* Block transfers by the program's own commands: three doublewords for each part that goes to a
 * receiver, two for each that is read, all stores to one place of the interface. A part is read
 * into one half of the program's room in SRAM while the part before leaves from the other one: the
 * block transmit unit does one command at a time, so that one which has begun finds all before it
 * gone. */
#include <errno.h>

#include "narthex.h"
#include "runtime/information.h"
#include "voyager/slots.h"

enum { PART_BYTES = 1024, HALVES = 2, NO_CHANNEL = 255, ADDRESS_BITS = 48 };
enum { READ_WORDS = 2, TRANSMIT_WORDS = 3, COUNTER_WORDS = 2 };
/* Where commands have their operands. */
enum { OWN_QUEUE = 16, TOLD_QUEUE = 24, COUNTED = 24, SRAM = 32, CHANNEL = 52 };

int voyager_open_commands(struct voyager_commands *commands) {
    uint64_t words[VOYAGER_REQUEST_WORDS] = {HALVES * PART_BYTES};
    int error = voyager_request(VOYAGER_STAGING, words);
    if (error == 0)
        *commands = (struct voyager_commands){
            .window = (volatile uint64_t *)(uintptr_t)words[6],
            .staging = (uint32_t)words[5],
        };
    return error;
}

unsigned voyager_commands_fault(const struct voyager_commands *commands) {
    return (unsigned)commands->window[VOYAGER_WINDOW_FAULT / sizeof(uint64_t)];
}

static uint32_t room_of(const struct voyager_commands *commands) {
    return (uint32_t)commands->window[VOYAGER_WINDOW_ISSUE / sizeof(uint64_t)];
}

/* The room is read only when there seems to be too little. A part takes a microsecond at least, and
 * each load takes the bus from the lines that are read. */
static void await_room(struct voyager_commands *commands, uint32_t words) {
    enum { PAUSE_CYCLES = 100 };
    if (commands->room < words)
        commands->room = room_of(commands);
    while (commands->room < words) {
        narthex_pause(PAUSE_CYCLES);
        commands->room = room_of(commands);
    }
    commands->room -= words;
}

static void issue(const struct voyager_commands *commands, uint64_t word) {
    commands->window[VOYAGER_WINDOW_ISSUE / sizeof(uint64_t)] = word;
}

static bool is_queue(unsigned number) {
    return number < narthex_information()->voyager_queues;
}

static bool is_channel(unsigned channel) {
    return channel < narthex_information()->voyager_channels;
}

int voyager_command_channel(struct voyager_commands *commands, unsigned channel, uint32_t packets,
                            unsigned number, uint32_t value) {
    if (!is_channel(channel) || !is_queue(number))
        return EINVAL;
    await_room(commands, COUNTER_WORDS);
    issue(commands,
          VOYAGER_ISSUE_COUNTER | (uint64_t)channel << COUNTED | (uint64_t)packets << SRAM);
    issue(commands, 1 | (uint64_t)number << 8 | (uint64_t)value << 32);
    return 0;
}

/* A part of a block, of which all receivers get the same bytes. */
struct part {
    uint64_t sram, from, to, bytes;
    uint64_t options; /* of each command that sends it */
};

static void read_part(struct voyager_commands *commands, const struct part *part) {
    await_room(commands, READ_WORDS);
    issue(commands, VOYAGER_ISSUE_READ | part->sram << SRAM);
    issue(commands, part->from | part->bytes << ADDRESS_BITS);
}

static void send_part(struct voyager_commands *commands, const struct part *part, int rank,
                      uint64_t options) {
    await_room(commands, TRANSMIT_WORDS);
    issue(commands, VOYAGER_ISSUE_TRANSMIT | VOYAGER_ISSUE_CHAINED | part->options | options |
                        part->sram << SRAM);
    issue(commands, part->to | part->bytes << ADDRESS_BITS);
    issue(commands, voyager_destination(rank, 0));
}

static bool are_ranks(const int *ranks, size_t count) {
    for (size_t each = 0; each < count; each++)
        if (ranks[each] < 0 || ranks[each] >= narthex_nodes())
            return false;
    return count > 0;
}

static bool is_range(const void *memory, size_t bytes) {
    const uint64_t end = UINT64_C(1) << ADDRESS_BITS, start = (uintptr_t)memory;
    return bytes > 0 && start < end && bytes <= end - start;
}

int voyager_multicast(struct voyager_commands *commands, const int *ranks, size_t count,
                      const void *from, const void *to, size_t bytes, unsigned channel,
                      unsigned number) {
    bool is_counted = channel != VOYAGER_NOBODY, is_told = number != VOYAGER_NOBODY;
    if (!are_ranks(ranks, count) || !is_range(from, bytes) || !is_range(to, bytes) ||
        (is_counted && !is_channel(channel)) || (is_told && !is_queue(number)))
        return EINVAL;
    uint64_t options = (uint64_t)(is_counted ? channel : NO_CHANNEL) << CHANNEL;
    if (is_told)
        options |= VOYAGER_ISSUE_TOLD | (uint64_t)number << TOLD_QUEUE;
    COMPILER_BARRIER();
    for (size_t done = 0, length; done < bytes; done += length) {
        /* Packets end at the same places as those of a whole block. */
        length = PART_BYTES - ((uintptr_t)to + done) % PART_BYTES;
        length = length < bytes - done ? length : bytes - done;
        struct part part = {
            .sram = commands->staging + (commands->half++ % HALVES) * PART_BYTES,
            .from = (uintptr_t)from + done,
            .to = (uintptr_t)to + done,
            .bytes = length,
            .options = options | (done + length == bytes ? VOYAGER_ISSUE_LAST : 0),
        };
        read_part(commands, &part);
        for (size_t each = 0; each < count; each++) {
            bool ends = is_told && done + length == bytes && each + 1 == count;
            send_part(commands, &part, ranks[each],
                      ends ? VOYAGER_ISSUE_NOTIFY | (uint64_t)number << OWN_QUEUE : 0);
        }
    }
    return 0;
}
