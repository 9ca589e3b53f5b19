/* The hardware of a program that runs without the simulator: one chip of tiles in memory, on which
 * everything happens at once. It is the reference of what a program computes, and says nothing of
 * time. */
#ifndef __riscv

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "messaging/narthex.h"
#include "sarc/agent.h"
#include "sarc/emulated_regions.h"
#include "sarc/sarc.h"

enum { TILES = 16, L2_BYTES = 256 << 10, LINES = L2_BYTES / SARC_LINE_BYTES, LOCKS = 16 };
enum { DRAM_BYTES = 1 << 20, PLAIN = SARC_ROLE_SCRATCHPAD };

/* What a line has beside its words. Head and tail count what was ever enqueued and dequeued. */
struct line {
    unsigned role; /* 0: the cache's */
    unsigned valid;
    int64_t value;
    uint64_t head, tail;
    bool holds_requests;
    struct request *requests; /* of a queue, as many as items */
};

struct request {
    uint64_t to, acknowledged;
};

static struct line lines[TILES][LINES];
static unsigned allocated[TILES];
static size_t dram_allocated;
static bool locks[LOCKS];
static pthread_mutex_t hardware = PTHREAD_MUTEX_INITIALIZER;

static void write_words(uint64_t *to, const uint64_t *words, size_t count);

/* Machine and agent */

static void map(uint64_t address, uint64_t bytes) {
    void *wanted = (void *)(uintptr_t)address;
    void *memory =
        mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    narthex_check(memory == wanted, "the host has no memory at %p", wanted);
}

static uint64_t offset_of(const volatile uint64_t *address) {
    return (uintptr_t)address % SARC_WINDOW_BYTES;
}

static struct line *place_of(const volatile uint64_t *address) {
    uint64_t tile = ((uintptr_t)address - SARC_WINDOW) / SARC_WINDOW_BYTES;
    uint64_t number = offset_of(address) / SARC_LINE_BYTES;
    narthex_check(tile < TILES && number < LINES, "there is no scratchpad at %p", (void *)address);
    return &lines[tile][number];
}

/* NULL: of memory off the chip. */
static struct line *line_of(const volatile uint64_t *address) {
    if ((uintptr_t)address >= SARC_DRAM)
        return NULL;
    struct line *line = place_of(address);
    narthex_check(line->role != SARC_ROLE_CACHE, "the line at %p is the cache's", (void *)address);
    return line;
}

static _Thread_local unsigned own_tile;

void sarc_emulate_tile(unsigned tile) {
    own_tile = tile;
}

static int allocate(uint64_t *words) {
    uint64_t tile = words[0], count = words[1];
    if (count == 0 || count > LINES - allocated[tile])
        return ENOMEM;
    for (uint64_t each = 0; each < count; each++)
        lines[tile][allocated[tile] + each].role = PLAIN;
    words[3] = SARC_WINDOW + tile * SARC_WINDOW_BYTES + allocated[tile] * SARC_LINE_BYTES;
    allocated[tile] += (unsigned)count;
    return 0;
}

/* A line's state and words, as they are swapped. */
struct swapped {
    uint64_t words[SARC_LINE_WORDS];
    struct line *line; /* its state stays with the emulation */
    uint64_t role;
};
_Static_assert(sizeof(struct swapped) == SARC_SWAPPED_LINE_BYTES, "a line of a swapped region");

static int swap(const uint64_t *request, bool is_out) {
    struct swapped *buffer = (struct swapped *)(uintptr_t)request[2];
    for (uint64_t each = 0; each < request[1]; each++) {
        uint64_t *words = (uint64_t *)(uintptr_t)request[0] + each * SARC_LINE_WORDS;
        if (is_out) {
            struct line *line = line_of(words);
            buffer[each].line = line;
            buffer[each].role = line->role;
            memcpy(buffer[each].words, words, SARC_LINE_BYTES);
            memset(words, 0, SARC_LINE_BYTES);
            line->role = SARC_ROLE_CACHE;
        } else {
            buffer[each].line->role = (unsigned)buffer[each].role;
            memcpy(words, buffer[each].words, SARC_LINE_BYTES);
        }
    }
    return 0;
}

static int serve(unsigned long number, uint64_t *words) {
    switch (number) {
    case SARC_ALLOCATE:
        return allocate(words);
    case SARC_FREE:
        return 0; /* what is free is not allocated again */
    case SARC_SWAP_OUT:
    case SARC_SWAP_IN:
        return swap(words, number == SARC_SWAP_OUT);
    case SARC_DRAM_ALLOCATE:
        words[2] = SARC_DRAM + dram_allocated;
        dram_allocated += words[0];
        return dram_allocated <= DRAM_BYTES ? 0 : ENOMEM;
    case SARC_QUERY:
        words[1] = place_of(sarc_emulated_place(words[0], 0))->role;
        return 0;
    case SARC_DEFINE_REGION:
        return sarc_emulate_region(words);
    case SARC_REMOVE_REGION:
        return sarc_forget_region(words[0]);
    default:
        return EINVAL;
    }
}

int sarc_request(unsigned long number, uint64_t *words) {
    static bool is_mapped;
    pthread_mutex_lock(&hardware);
    if (!is_mapped) {
        map(SARC_WINDOW, TILES * SARC_WINDOW_BYTES);
        map(SARC_DRAM, DRAM_BYTES);
    }
    is_mapped = true;
    int error = serve(number, words);
    pthread_mutex_unlock(&hardware);
    return error;
}

/* Command buffers */

static void acknowledge(uint64_t address, uint64_t bytes) {
    if (address != 0)
        write_words(sarc_emulated_place(address, SARC_STORES), &bytes, 1);
}

static void ask(uint64_t *queue, uint64_t to, uint64_t acknowledged);

static void run_command(struct line *line, uint64_t *words) {
    uint64_t operation = words[0] & 0xff, bytes = words[0] >> 8 & 0xffffff;
    unsigned needed = operation == SARC_OPERATION_COPY || operation == SARC_OPERATION_READ
                          ? 0xf
                          : (1u << (3 + bytes / sizeof(uint64_t))) - 1;
    if ((line->valid & needed) != needed)
        return;
    line->valid = 0;
    words[0] = 0;
    bool is_copied = operation == SARC_OPERATION_COPY || operation == SARC_OPERATION_READ;
    uint64_t *to = sarc_emulated_place(words[1], SARC_STORES);
    uint64_t *from = is_copied ? sarc_emulated_place(words[3], SARC_LOADS) : &words[3];
    if (operation == SARC_OPERATION_READ && line_of(from)->role == SARC_ROLE_MULTIPLE_READER) {
        ask(from, words[1], words[2]);
    } else if (operation == SARC_OPERATION_READ) {
        uint64_t value = (uint64_t)line_of(from)->value;
        write_words(to, line_of(from)->role == SARC_ROLE_COUNTER ? &value : from,
                    bytes / sizeof(uint64_t));
        acknowledge(words[2], bytes);
    } else if (operation == SARC_OPERATION_COPY) {
        memmove(to, from, bytes);
        acknowledge(words[2], bytes);
    } else {
        write_words(to, from, bytes / sizeof(uint64_t));
        acknowledge(words[2], bytes);
    }
}

static void store_command(struct line *line, uint64_t *words, unsigned word, uint64_t value) {
    narthex_check(!(line->valid & 1u << word),
                  "word %u of the command buffer at %p is stored twice", word, (void *)words);
    words[word] = value;
    line->valid |= 1u << word;
    if (line->valid & 1)
        run_command(line, words);
}

/* Counters */

static void add(struct line *line, uint64_t *words, uint64_t value) {
    line->value += (int64_t)value;
    if (line->value != 0)
        return;
    line->value = (int64_t)words[1];
    for (unsigned each = 4; each < SARC_LINE_WORDS; each++)
        if (words[each] != 0)
            write_words(sarc_emulated_place(words[each], SARC_STORES), &words[2], 1);
}

/* Queues */

static uint64_t item_words(const uint64_t *queue) {
    return queue[3] & ((1 << SARC_QUEUE_ITEMS) - 1);
}

static uint64_t items(const uint64_t *queue) {
    return queue[3] >> SARC_QUEUE_ITEMS;
}

static uint64_t *place(uint64_t *queue, uint64_t number) {
    return queue + SARC_LINE_WORDS + number % items(queue) * item_words(queue);
}

static void answer(const struct request *request, const uint64_t *words, size_t count) {
    write_words(sarc_emulated_place(request->to, SARC_STORES), words, count);
    acknowledge(request->acknowledged, count * sizeof(uint64_t));
}

static void enqueue(struct line *line, uint64_t *queue, const uint64_t *words, size_t count) {
    uint64_t whole[SARC_LINE_WORDS] = {0}, size = item_words(queue);
    narthex_check(count <= size, "%zu words come to a queue of items of %llu", count,
                  (unsigned long long)size);
    memcpy(whole, words, count * sizeof(uint64_t));
    if (line->holds_requests && line->head != line->tail) {
        answer(&line->requests[line->head++ % items(queue)], whole, size);
        return;
    }
    narthex_check(line->tail - line->head < items(queue), "the queue at %p is full", (void *)queue);
    line->holds_requests = false;
    memcpy(place(queue, line->tail++), whole, size * sizeof(uint64_t));
}

static void ask(uint64_t *queue, uint64_t to, uint64_t acknowledged) {
    struct line *line = line_of(queue);
    struct request request = {to, acknowledged};
    if (!line->holds_requests && line->head != line->tail) {
        answer(&request, place(queue, line->head++), item_words(queue));
        return;
    }
    narthex_check(line->tail - line->head < items(queue), "the queue at %p is full", (void *)queue);
    if (!line->requests)
        line->requests = calloc(items(queue), sizeof request);
    line->holds_requests = true;
    line->requests[line->tail++ % items(queue)] = request;
}

/* Words of lines */

static void write_words(uint64_t *to, const uint64_t *words, size_t count) {
    struct line *line = line_of(to);
    unsigned word = (unsigned)((uintptr_t)to / sizeof *to % SARC_LINE_WORDS);
    unsigned role = line ? line->role : PLAIN;
    if (role == PLAIN)
        memcpy(to, words, count * sizeof *to);
    else if (role == SARC_ROLE_COMMAND)
        store_command(line, to - word, word, words[0]);
    else if (role == SARC_ROLE_COUNTER && word == 0)
        add(line, to, words[0]);
    else if (role == SARC_ROLE_COUNTER)
        to[0] = words[0];
    else if (word == 0)
        enqueue(line, to, words, count);
    else if (word == 2)
        line->head += (words[0] - line->head) & (2 * items(to - word) - 1);
}

static bool is_lock(const volatile uint64_t *word) {
    return (uintptr_t)word - SARC_LOCK_BOX < LOCKS * sizeof *word;
}

static void store(uint64_t *word, uint64_t value) {
    uint64_t offset = offset_of(word);
    if (is_lock(word)) {
        locks[word - (uint64_t *)SARC_LOCK_BOX] = false;
    } else if ((uintptr_t)word < SARC_REGISTERS && offset >= SARC_STATE) {
        uint64_t line = (offset - SARC_STATE) / SARC_STATE_BYTES * SARC_LINE_BYTES;
        *line_of((uint64_t *)((uintptr_t)word - offset + line)) =
            (struct line){.role = (unsigned)value};
    } else {
        write_words(word, &value, 1);
    }
}

void sarc_store(volatile uint64_t *word, uint64_t value) {
    pthread_mutex_lock(&hardware);
    store(sarc_emulated_place((uintptr_t)word, SARC_STORES), value);
    pthread_mutex_unlock(&hardware);
}

static uint64_t load_register(uint64_t offset) {
    switch (offset) {
    case SARC_REGISTER_TILE:
        return own_tile;
    case SARC_REGISTER_TILES:
    case SARC_REGISTER_TILES_OF_PROCESS:
        return TILES;
    case SARC_REGISTER_CHIPS:
        return 1;
    case SARC_REGISTER_LOCKS:
        return LOCKS;
    default:
        return 0;
    }
}

/* What a word says; false if it has to be asked again. */
static bool load(uint64_t *word, uint64_t *value) {
    if ((uintptr_t)word - SARC_REGISTERS < SARC_LOCK_BOX - SARC_REGISTERS) {
        *value = load_register((uintptr_t)word - SARC_REGISTERS);
        return true;
    }
    if (is_lock(word)) {
        bool *lock = &locks[word - (uint64_t *)SARC_LOCK_BOX];
        *value = !*lock;
        *lock = true;
        return true;
    }
    struct line *line = line_of(word);
    unsigned place_in_line = (unsigned)((uintptr_t)word / sizeof *word % SARC_LINE_WORDS);
    unsigned role = line ? line->role : PLAIN;
    *value = *word;
    if (role == SARC_ROLE_COUNTER && place_in_line == 0) {
        *value = (uint64_t)line->value;
    } else if (role == SARC_ROLE_SINGLE_READER && place_in_line == 1) {
        *value = line->tail & (2 * items(word - 1) - 1);
    } else if (role == SARC_ROLE_MULTIPLE_READER && place_in_line == 0) {
        if (line->holds_requests || line->head == line->tail)
            return false;
        *value = *place(word, line->head++);
    }
    return true;
}

/* A thread that loads a word again waits for others, which need the host's processors. */
uint64_t sarc_load(const volatile uint64_t *word) {
    static _Thread_local const volatile uint64_t *last;
    uint64_t value;
    for (;;) {
        if (word == last)
            sched_yield();
        last = word;
        pthread_mutex_lock(&hardware);
        bool is_answered = load(sarc_emulated_place((uintptr_t)word, SARC_LOADS), &value);
        pthread_mutex_unlock(&hardware);
        if (is_answered)
            return value;
    }
}

/* Bytes of plain memory: no others are accessed by 32 bits. */
static void *plain_bytes(const volatile void *address, unsigned needed) {
    uint64_t *place = sarc_emulated_place((uintptr_t)address, needed);
    struct line *line = line_of(place);
    narthex_check(!line || line->role == PLAIN, "an access of 32 bits to %p, which has words of 64",
                  (void *)place);
    return place;
}

static void load_bytes(void *to, const volatile void *address, size_t bytes) {
    pthread_mutex_lock(&hardware);
    memcpy(to, plain_bytes(address, SARC_LOADS), bytes);
    pthread_mutex_unlock(&hardware);
}

static void store_bytes(volatile void *address, const void *from, size_t bytes) {
    pthread_mutex_lock(&hardware);
    memcpy(plain_bytes(address, SARC_STORES), from, bytes);
    pthread_mutex_unlock(&hardware);
}

uint32_t sarc_load_32(const volatile uint32_t *word) {
    static _Thread_local const volatile uint32_t *last;
    uint32_t value;
    if (word == last)
        sched_yield();
    last = word;
    load_bytes(&value, word, sizeof value);
    return value;
}

void sarc_store_32(volatile uint32_t *word, uint32_t value) {
    store_bytes(word, &value, sizeof value);
}

float sarc_load_float(const volatile float *word) {
    float value;
    load_bytes(&value, word, sizeof value);
    return value;
}

void sarc_store_float(volatile float *word, float value) {
    store_bytes(word, &value, sizeof value);
}

void sarc_fence(void) {}

#endif
