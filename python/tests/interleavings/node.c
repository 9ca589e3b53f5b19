/* The firmware of one node with what is around it, each part of which makes a step when it is told
 * to: two processors with caches, memory, the snooped space, command queues, the miss queue. Its
 * shared memory is guest/firmware/voyager-shared as it is. A library holds one node. */
#include "node.h"

#include <stdio.h>
#include <stdlib.h>

#include "firmware/voyager/queues.h"
#include "firmware/voyager/receive.h"
#include "firmware/voyager/shared_memory.h"

enum { SNOOPED = 0x700000, TRANSLATIONS = VOYAGER_BANK_B, QUEUES_OF_PROCESS = 4 };
enum { ENTRIES = 4096, FREE_START = 0x4000, FREE_END = 0x8000 };
enum { MISS = 0x1000, MISS_SLOTS = 64, PACKETS_AT_A_TIME = 4, RING = 1024 };

/* Doublewords that each command queue has for shared memory and for what comes. */
static const unsigned ROOM[COMMAND_QUEUES] = {SHARED_MEMORY_SENDS, 28};

unsigned char sram[1 << 20];
struct transmit_queue transmit_queues[QUEUES];
struct suspended suspended[COMMAND_QUEUES];

static int own, all;
static void (*send_packet)(int from, int to, const struct packet *packet);

static void fail(const char *why) {
    printf("node %d: %s\n", own, why);
    exit(1);
}

/* Memory and caches */

enum cached { INVALID, SHARED, MODIFIED };

static uint64_t memory[LINES][4];
static uint64_t permissions[LINES];
static struct cache {
    enum cached states[LINES];
    uint64_t values[LINES];
} caches[PROCESSORS];

/* Memory has what a cache has newer. */
static void push(int line, enum cached left) {
    for (struct cache *each = caches; each < caches + PROCESSORS; each++) {
        if (each->states[line] == MODIFIED)
            memory[line][0] = each->values[line];
        if (each->states[line] > left)
            each->states[line] = left;
    }
}

static bool is_cached(int line, enum cached least) {
    return caches[0].states[line] >= least || caches[1].states[line] >= least;
}

/* The snooped space */

static uint64_t captures[RING], waiting[RING];
static unsigned captured, taken, waits;

static void capture(uint64_t kind, int line) {
    uint64_t entry = kind << 56 | (uint64_t)line;
    for (unsigned each = 0; each < waits; each++)
        if (waiting[each] == entry)
            return;
    waiting[waits++] = entry;
    captures[captured++ % RING] = entry;
}

static void permit(int line, uint64_t permission) {
    unsigned left = 0;
    for (unsigned each = 0; each < waits; each++)
        if ((int)(waiting[each] & 0xffffff) != line)
            waiting[left++] = waiting[each];
    waits = left;
    permissions[line] = permission;
}

static bool access_line(int processor, int line, bool is_write, uint64_t *value) {
    struct cache *cache = &caches[processor];
    enum cached needed = is_write ? MODIFIED : SHARED;
    uint64_t permission = is_write ? VOYAGER_PERMISSION_WRITE : VOYAGER_PERMISSION_READ;
    if (cache->states[line] < needed) {
        if (permissions[line] < permission) {
            capture(is_write ? VOYAGER_CAPTURED_SNOOPED_WRITE : VOYAGER_CAPTURED_SNOOPED_READ,
                    line);
            return false;
        }
        push(line, is_write ? INVALID : SHARED);
        cache->states[line] = needed;
        cache->values[line] = memory[line][0];
    }
    *value = cache->values[line] += is_write;
    return true;
}

static int permission_of_line(int line) {
    return (int)permissions[line];
}

/* Commands */

struct command {
    uint64_t command, sram, other;
};

static struct command commands[COMMAND_QUEUES][RING];
static unsigned issued[COMMAND_QUEUES], carried[COMMAND_QUEUES];
static int completions[RING];
static unsigned completed, resumed;

void issue(enum command_queue queue, uint64_t command, uint64_t lines, uint64_t sram_address,
           uint64_t other) {
    (void)lines;
    if (issued[queue] - carried[queue] == ROOM[queue])
        fail("a command queue is full");
    commands[queue][issued[queue]++ % RING] = (struct command){command, sram_address, other};
}

/* Permissions of many lines, at the start. */
void issue_long(enum command_queue queue, uint64_t doubleword) {
    static uint64_t first;
    (void)queue;
    if (first == 0) {
        first = doubleword;
        return;
    }
    int line = (int)((doubleword - SNOOPED) / LINE_BYTES);
    for (uint64_t each = 0; each < first >> 32; each++)
        permissions[line++] = first >> 24 & 3;
    first = 0;
}

static void carry_packet(const struct command *command) {
    struct packet packet = {
        .message = sram_load(command->sram),
        .source = own,
        .has_line = (sram_load(command->sram + DOUBLEWORD) & 0xff) != 0,
    };
    memcpy(packet.line, sram + command->sram + LINE_BYTES, LINE_BYTES);
    send_packet(own, command->other & 0xffff, &packet);
}

static bool carry_command(int queue) {
    if (carried[queue] == issued[queue])
        return false;
    struct command command = commands[queue][carried[queue]++ % RING];
    int line = (int)((command.other * LINE_BYTES - SNOOPED) / LINE_BYTES);
    switch (command.command & 0xff) {
    case VOYAGER_PERMISSION:
        permit(line, command.sram / LINE_BYTES);
        break;
    case VOYAGER_BUS_FLUSH:
        push(line, INVALID);
        break;
    case VOYAGER_BUS_READ:
        if (is_cached(line, MODIFIED))
            fail("a line is sent that a cache may write");
        memcpy(sram + command.sram, memory[line], LINE_BYTES);
        break;
    case VOYAGER_BUS_WRITE:
        if (is_cached(line, SHARED))
            fail("a line comes that a cache has");
        memcpy(memory[line], sram + command.sram, LINE_BYTES);
        break;
    case VOYAGER_COPY:
        memcpy(sram + command.other * LINE_BYTES, sram + command.sram, LINE_BYTES);
        break;
    case VOYAGER_PACKET:
        carry_packet(&command);
        break;
    case VOYAGER_COMPLETE:
        break;
    default:
        fail("an unknown command");
    }
    if (command.command & VOYAGER_COMMAND_NOTIFY)
        completions[completed++ % RING] = queue;
    return true;
}

/* The miss queue */

static uint64_t headers[MISS_SLOTS];
static unsigned arrived, seen, freed;

static bool arrive(const struct packet *packet) {
    unsigned slot = arrived % MISS_SLOTS;
    uint64_t address = MISS + slot * VOYAGER_SLOT_BYTES;
    if (arrived - freed == MISS_SLOTS)
        return false;
    memset(sram + address, 0xee, VOYAGER_SLOT_BYTES);
    sram_store(address + LINE_BYTES - DOUBLEWORD, packet->message);
    if (packet->has_line)
        memcpy(sram + address + LINE_BYTES, packet->line, LINE_BYTES);
    uint64_t bytes = packet->has_line ? LINE_BYTES : 0;
    headers[slot] = (uint64_t)packet->source | bytes << HEADER_BYTES_SHIFT | HEADER_OF_FIRMWARE;
    arrived += 1;
    return true;
}

/* As receive.c has it. */
static void take_packet(void) {
    unsigned slot = seen % MISS_SLOTS;
    uint64_t address = MISS + slot * VOYAGER_SLOT_BYTES;
    struct task *task = NULL;
    uint64_t message = shared_memory_message(address);
    bool stays = shared_memory_receives(headers[slot], message, address, &task);
    seen += 1;
    if (!stays && seen % 2 != 0)
        return;
    issue(FOR_RECEIVE, VOYAGER_COMPLETE | AWAITED, 1, 0, 0);
    suspend(FOR_RECEIVE, (struct operation){task ? SHARED_LINE_HAS_COME : FREE_OTHER, seen, task});
}

void free_other(const struct operation *operation) {
    freed = operation->place;
}

/* The firmware */

static void complete(void) {
    const struct operation *operation = resume(completions[resumed++ % RING]);
    if (!shared_memory_resumes(operation))
        free_other(operation);
}

static void take_capture(void) {
    uint64_t entry = captures[taken++ % RING];
    if (!shared_memory_takes(entry >> 56, entry & 0xffffff))
        fail("a capture is not taken");
}

static bool serve(enum event event) {
    switch (event) {
    case COMPLETION:
        if (resumed == completed)
            return false;
        complete();
        return true;
    case CAPTURE:
        if (taken == captured)
            return false;
        take_capture();
        return true;
    default:
        if (seen == arrived || seen - freed == PACKETS_AT_A_TIME)
            return false;
        take_packet();
        return true;
    }
}

uint64_t command_room(enum command_queue queue) {
    (void)queue;
    return SHARED_MEMORY_ROOM;
}

uint64_t nic_load(uintptr_t offset) {
    switch (offset) {
    case REGISTER_VOYAGER_NODE:
        return (uint64_t)own | (uint64_t)all << 32 | 1ul << 48;
    case REGISTER_VOYAGER_LIMITS:
        return (uint64_t)QUEUES_OF_PROCESS << 48;
    case REGISTER_VOYAGER_FREE_A:
        return FREE_START | (uint64_t)FREE_END << 32;
    case REGISTER_VOYAGER_SNOOPED_LINES:
        return LINES;
    case REGISTER_VOYAGER_SNOOPED_START:
        return SNOOPED;
    case REGISTER_VOYAGER_TRANSLATION:
        return TRANSLATIONS | (uint64_t)ENTRIES << 32;
    default:
        return 0;
    }
}

void nic_store(uintptr_t offset, uint64_t value) {
    (void)offset, (void)value;
    fail("a packet has come before one that left earlier");
}

void keep_commands(uint32_t doublewords) {
    (void)doublewords;
}

void carry_out(uint64_t first) {
    (void)first;
}

void approve(uint64_t offset, uint64_t value) {
    (void)offset, (void)value;
}

static void start(int node, int nodes,
                  void (*send)(int from, int to, const struct packet *packet)) {
    own = node;
    all = nodes;
    send_packet = send;
    for (uint64_t rank = 0; rank < (uint64_t)nodes; rank++)
        sram_store(TRANSLATIONS + rank * QUEUES_OF_PROCESS * DOUBLEWORD,
                   VOYAGER_TRANSLATION_VALID | rank);
    shared_memory_start();
}

const struct node_steps *steps_of_node(void) {
    static const struct node_steps steps = {
        .start = start,
        .command = carry_command,
        .arrive = arrive,
        .firmware = serve,
        .access = access_line,
        .permission = permission_of_line,
    };
    return &steps;
}
