/* Runs the table of the invalidation protocol (protocols/invalidation.def, which explains its
 * events, actions and rules).
 *
 * All messages have one handler number. Their payload is a word, the kind of the message above the
 * number of the block: 12 bytes with the header. Data messages have the block behind it. */
#include "shared_memory/invalidation.h"

#include "messaging/copy.h"
#include "messaging/messages.h"
#include "runtime/marker.h"
#include "shared_memory/directory.h"
#include "shared_memory/segment.h"

/* States; 0 is that of a block that is not allocated, and of a row that is not there. */
#define STATE(side, name, tag, rest) name,
enum state {
    NOWHERE,
#include "shared_memory/protocols/invalidation.def"
    STATES
};

enum side { SIDE_NONE, SIDE_CACHE, SIDE_HOME };
enum rest { REST_NONE, REST_RESTS, REST_WAITS };

#define STATE(side, name, tag, rest) {SIDE_##side, NARTHEX_TAG_##tag, REST_##rest, 0},
static const struct {
    uint8_t side, tag, rest, padding; /* whose size is a power of two: indexing needs no product */
} states[STATES] = {
    {SIDE_NONE, NARTHEX_TAG_NONE, REST_NONE, 0},
#include "shared_memory/protocols/invalidation.def"
};

#define STATE(side, name, tag, rest) #name,
static const char *const state_names[STATES] = {
    "NOWHERE",
#include "shared_memory/protocols/invalidation.def"
};

/* Events; all but the first and last two are messages on the wire, too. */
#define EVENTS(each)                                                                               \
    each(LOAD) each(STORE) each(READ_REQUEST) each(WRITE_REQUEST) each(ACKNOWLEDGEMENT)            \
        each(WRITE_BACK) each(READ_DATA) each(WRITE_DATA) each(PERMISSION) each(INVALIDATE)        \
            each(DOWNGRADE) each(RECALL) each(UPGRADE) each(LONE_UPGRADE)                          \
                each(LAST_ACKNOWLEDGEMENT)
#define EVENT(name) EVENT_##name,
enum event { EVENTS(EVENT) EVENTS_COUNT };
#define EVENT_NAME(name) #name,
static const char *const event_names[EVENTS_COUNT] = {EVENTS(EVENT_NAME)};

enum action {
    NO_ACTION,
    SEND_READ_REQUEST,
    SEND_WRITE_REQUEST,
    SEND_ACKNOWLEDGEMENT,
    SEND_WRITE_BACK,
    SEND_READ_DATA,
    SEND_WRITE_DATA,
    SEND_PERMISSION,
    SEND_INVALIDATIONS,
    SEND_DOWNGRADE,
    SEND_RECALL,
    TAKE_DATA,
    ADD_COPY,
    REMOVE_COPY,
    HOLD,
    REPEAT_HELD
};

enum { ACTIONS_LIMIT = 7, COLUMNS = 16 };

#define ROW(state, event, next, ...) [state][EVENT_##event] = {next, {__VA_ARGS__}},
static const struct row {
    uint8_t next;
    uint8_t actions[ACTIONS_LIMIT];
} rows[STATES][COLUMNS] = {
#include "shared_memory/protocols/invalidation.def"
};

enum { KIND_SHIFT = 28, LARGEST_BLOCK_BYTES = 1024 };

#define BLOCK_MASK ((UINT32_C(1) << KIND_SHIFT) - 1)

/* What happens to a block. */
struct happening {
    size_t block;
    enum event event;
    int source;       /* of the message, or this node */
    const char *data; /* of a data message */
};

static uint8_t *block_states;
static uint32_t held_word; /* of the message that is kept; 0 if there is none: no message has it */

/* Sending */

static uint32_t message_word(enum event kind, size_t block) {
    return (uint32_t)kind << KIND_SHIFT | (uint32_t)block;
}

static void send_word(int destination, enum event kind, size_t block) {
    uint32_t message = message_word(kind, block);
    send_message(destination, HANDLER_SHARED_MEMORY, &message, sizeof message);
}

static void send_block(int destination, enum event kind, size_t block) {
    uint32_t message = message_word(kind, block);
    send_after(destination, HANDLER_SHARED_MEMORY, &message, sizeof message, segment_address(block),
               segment.block_bytes);
}

static void send_invalidations(size_t block, int requester) {
    const uint64_t *copies = directory_copies(block);
    for (size_t index = 0; index < directory_set_words; index++)
        for (uint64_t rest = copies[index]; rest != 0; rest &= rest - 1) {
            int node = (int)index * 64 + __builtin_ctzll(rest);
            if (node != requester)
                send_word(node, EVENT_INVALIDATE, block);
        }
}

/* Actions */

static void take_data(const struct happening *happening) {
    segment_set_tag(happening->block, NARTHEX_TAG_WRITE);
    copy(segment_address(happening->block), happening->data, segment.block_bytes);
}

static void repeat_word(int source, uint32_t message) {
    repeat_message(source, HANDLER_SHARED_MEMORY, &message, sizeof message);
}

static void repeat_held(int home) {
    if (held_word != 0)
        repeat_word(home, held_word);
    held_word = 0;
}

static void act(enum action action, const struct happening *happening) {
    size_t block = happening->block;
    switch (action) {
    case NO_ACTION:
        break;
    case SEND_READ_REQUEST:
        send_word(segment.homes[block], EVENT_READ_REQUEST, block);
        break;
    case SEND_WRITE_REQUEST:
        send_word(segment.homes[block], EVENT_WRITE_REQUEST, block);
        break;
    case SEND_ACKNOWLEDGEMENT:
        send_word(happening->source, EVENT_ACKNOWLEDGEMENT, block);
        break;
    case SEND_WRITE_BACK:
        send_block(happening->source, EVENT_WRITE_BACK, block);
        break;
    case SEND_READ_DATA:
        send_block(directory_entry(block)->requester, EVENT_READ_DATA, block);
        break;
    case SEND_WRITE_DATA:
        send_block(directory_entry(block)->requester, EVENT_WRITE_DATA, block);
        break;
    case SEND_PERMISSION:
        send_word(directory_entry(block)->requester, EVENT_PERMISSION, block);
        break;
    case SEND_INVALIDATIONS:
        send_invalidations(block, directory_entry(block)->requester);
        break;
    case SEND_DOWNGRADE:
        send_word(directory_only(directory_copies(block)), EVENT_DOWNGRADE, block);
        break;
    case SEND_RECALL:
        send_word(directory_only(directory_copies(block)), EVENT_RECALL, block);
        break;
    case TAKE_DATA:
        take_data(happening);
        break;
    case ADD_COPY:
        set_add(directory_copies(block), directory_entry(block)->requester);
        break;
    case REMOVE_COPY:
        set_remove(directory_copies(block), happening->source);
        break;
    case HOLD:
        held_word = message_word(happening->event, block);
        break;
    case REPEAT_HELD:
        repeat_held(happening->source);
        break;
    }
}

/* Events */

static bool is_waiting(size_t block) {
    return states[block_states[block]].rest == REST_WAITS;
}

static _Noreturn void fail_excluded(const struct happening *happening) {
    narthex_fail(
        "node %d: shared memory's protocol excludes %s from node %d for the block at %p in "
        "state %s: the nodes have made different allocations",
        narthex_node(), event_names[happening->event], happening->source,
        (void *)segment_address(happening->block), state_names[block_states[happening->block]]);
}

static void serve_waiting(struct directory_entry *entry) {
    struct request request;
    if (directory_next(entry, &request))
        repeat_word(request.source, request.word);
}

/* Makes the step that the table has for this. */
static void step(const struct happening *happening) {
    size_t block = happening->block;
    const struct row *row = &rows[block_states[block]][happening->event];
    if (row->next == NOWHERE)
        fail_excluded(happening);
    for (int index = 0; index < ACTIONS_LIMIT && row->actions[index] != NO_ACTION; index++)
        act(row->actions[index], happening);
    block_states[block] = row->next;
    segment_set_tag(block, states[row->next].tag);
    if (states[row->next].side == SIDE_HOME && states[row->next].rest == REST_RESTS)
        serve_waiting(directory_entry(block));
}

/* A write request by what the directory knows of its sender. */
static enum event kind_of_write_request(const uint64_t *copies, int source) {
    if (!set_has(copies, source))
        return EVENT_WRITE_REQUEST;
    return directory_has_others(copies, source, source) ? EVENT_UPGRADE : EVENT_LONE_UPGRADE;
}

static void arrive_at_home(struct happening *happening) {
    struct directory_entry *entry = directory_entry(happening->block);
    const uint64_t *copies = directory_copies(happening->block);
    switch (happening->event) {
    case EVENT_READ_REQUEST:
    case EVENT_WRITE_REQUEST:
        if (is_waiting(happening->block)) {
            directory_wait(entry, (struct request){
                                      .word = message_word(happening->event, happening->block),
                                      .source = happening->source,
                                  });
            return;
        }
        entry->requester = happening->source;
        if (happening->event == EVENT_WRITE_REQUEST)
            happening->event = kind_of_write_request(copies, happening->source);
        break;
    case EVENT_ACKNOWLEDGEMENT:
        if (!directory_has_others(copies, happening->source, entry->requester))
            happening->event = EVENT_LAST_ACKNOWLEDGEMENT;
        break;
    default:
        break;
    }
    step(happening);
}

static void arrive(int source, const void *payload, size_t bytes) {
    ENTER(ACTIVITY_SHARED_MEMORY);
    uint32_t message = *(const uint32_t *)payload;
    struct happening happening = {
        .block = message & BLOCK_MASK,
        .event = (enum event)(message >> KIND_SHIFT),
        .source = source,
        .data = (const char *)payload + sizeof message,
    };
    narthex_check(
        happening.block < segment_blocks() &&
            (bytes == sizeof message || bytes == sizeof message + segment.block_bytes),
        "node %d: node %d sends %zu bytes for block %zu of shared memory, but here it has "
        "%zu blocks of %zu: the nodes have called narthex_shared_start differently",
        narthex_node(), source, bytes, happening.block, segment_blocks(), segment.block_bytes);
    if (states[block_states[happening.block]].side == SIDE_HOME)
        arrive_at_home(&happening);
    else
        step(&happening);
    LEAVE();
}

/* The protocol */

static void begin(void *address, int home) {
    size_t block = segment_block(address);
    block_states[block] = home == narthex_node() ? IDLE : INVALID;
    segment_set_tag(block, states[block_states[block]].tag);
}

static void fault(void *address, int home, int is_store) {
    size_t block = segment_block(address);
    if (is_waiting(block))
        return;
    if (home == narthex_node())
        directory_entry(block)->requester = home;
    step(&(struct happening){
        .block = block,
        .event = is_store ? EVENT_STORE : EVENT_LOAD,
        .source = narthex_node(),
    });
}

const struct narthex_protocol invalidation_protocol = {begin, fault};

void invalidation_start(void) {
    block_states = segment_memory(segment_blocks() * sizeof *block_states);
    directory_start(segment_blocks());
    set_handler(HANDLER_SHARED_MEMORY, arrive, "the invalidation protocol's");
}
