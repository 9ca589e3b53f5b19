/* A home serves one request of a line at a time; those that come meanwhile are bits of the line's
 * entry, and have their turns in the order of ranks. Either one copy may be written, or all that
 * there are may be read, and so may the home's own:
 *
 *     taken up ──┬─ another rank may write: GIVE_TO_READ or GIVE_AWAY ── GIVES ──────────┐
 *                ├─ to write, and others may read: INVALIDATE ── IS_INVALIDATED of all ──┤
 *                │                                                                       ▼
 *                └─────────────────────────────────────► the home's own copy: permission, flush,
 *                                                        read ──► MAY_READ or MAY_WRITE
 *
 * What a home sends to a copy arrives in order, so that nobody has to acknowledge a permission:
 * what the next request asks of the copy comes behind it. */
#include "firmware/voyager-shared/homes.h"

#include "firmware/voyager-shared/copies.h"
#include "firmware/voyager-shared/tasks.h"

struct entry {
    uint64_t copies;           /* ranks that may read, but for the home, by bit */
    uint64_t readers, writers; /* ranks that wait */
    uint16_t owner;            /* rank + 1 of another rank that may write; 0: none may */
    uint8_t last;              /* rank that was served last */
    uint8_t state;             /* IDLE, WAITS, or IN_WORK and the number of its task */
    uint32_t line;             /* of its process */
};

enum { IDLE, WAITS, IN_WORK };

static struct entry entries[SHARED_LINES];
static struct task *requests[REQUESTS];

/* Entries that wait for a task, each once. */

static struct {
    uint32_t first, next; /* they wrap together */
    uint32_t numbers[SHARED_LINES];
} waiting;

static struct entry *entry_of(const struct task *task) {
    return &entries[number_of(task->process, task->line)];
}

static inline uint64_t bit(uint32_t rank) {
    return 1ul << rank;
}

/* The request of an entry that is served. */
static struct task *request_of(const struct entry *entry) {
    return requests[entry->state - IN_WORK];
}

/* The next rank that waits behind the one that was served last. */
static uint32_t next_rank(const struct entry *entry) {
    uint64_t ranks = entry->readers | entry->writers;
    uint32_t rank = entry->last;
    do
        rank = (rank + 1) % RANKS_LIMIT;
    while (!(ranks & bit(rank)));
    return rank;
}

/* The home's own copy is what there is: it is made ready for the one who asks. */
static void take_own_copy(struct task *task) {
    struct entry *entry = entry_of(task);
    uint64_t process = task->process, permission = permission_of(process, task->line);
    bool is_own = task->rank == sharers[process].own;
    task->has_bytes = !is_own && !(entry->copies & bit(task->rank));
    if (is_own) {
        task->permission = task->is_write ? VOYAGER_PERMISSION_WRITE : permission;
        task->is_flushed = false;
    } else if (task->is_write) {
        task->permission = VOYAGER_PERMISSION_NONE;
        task->is_flushed = true;
    } else {
        task->permission =
            permission == VOYAGER_PERMISSION_WRITE ? VOYAGER_PERMISSION_READ : UNCHANGED;
        task->is_flushed = task->permission != UNCHANGED;
    }
    if (task->permission != UNCHANGED)
        note_permission(process, task->line, task->permission, is_own);
    have_ready(task);
}

/* Copies but that of the rank that wants to write. */
static void invalidate_others(struct task *task) {
    struct entry *entry = entry_of(task);
    uint64_t others = entry->copies & ~bit(task->rank);
    for (uint32_t rank = 0; others != 0; rank++, others >>= 1)
        if (others & 1) {
            task->awaited += 1;
            send_message(task->process, rank, shared_message(INVALIDATE, task->line), NULL);
        }
}

static void serve(struct task *task) {
    struct entry *entry = entry_of(task);
    task->awaited = 0;
    if (entry->owner != 0)
        return send_message(task->process, entry->owner - 1u,
                            shared_message(task->is_write ? GIVE_AWAY : GIVE_TO_READ, task->line),
                            NULL);
    if (task->is_write)
        invalidate_others(task);
    if (task->awaited == 0)
        take_own_copy(task);
}

/* Takes up the next request of a line. */
static void take_up(uint64_t process, struct entry *entry, struct task *task) {
    uint32_t rank = next_rank(entry);
    *task = (struct task){
        .room = task->room,
        .is_used = true,
        .is_at_home = true,
        .process = (uint8_t)process,
        .line = entry->line,
        .rank = (uint16_t)rank,
        .is_write = (entry->writers & bit(rank)) != 0,
    };
    entry->readers &= ~bit(rank);
    entry->writers &= ~bit(rank);
    entry->last = (uint8_t)rank;
    entry->state = IN_WORK;
    while (requests[entry->state - IN_WORK])
        entry->state += 1;
    requests[entry->state - IN_WORK] = task;
    serve(task);
}

static void serve_next(uint64_t process, struct entry *entry) {
    if (entry->state != IDLE || (entry->readers | entry->writers) == 0)
        return;
    struct task *task = take_task(true);
    if (task)
        return take_up(process, entry, task);
    entry->state = WAITS;
    waiting.numbers[waiting.next++ % SHARED_LINES] = (uint32_t)(entry - entries);
}

void serve_waiting_requests(void) {
    struct task *task;
    while (waiting.first != waiting.next && (task = take_task(true)) != NULL) {
        uint32_t number = waiting.numbers[waiting.first++ % SHARED_LINES];
        take_up(number / shared_lines, &entries[number], task);
    }
}

void request_line(uint64_t process, uint32_t line, uint32_t rank, bool is_write) {
    struct entry *entry = &entries[number_of(process, line)];
    entry->line = line;
    *(is_write ? &entry->writers : &entry->readers) |= bit(rank);
    serve_next(process, entry);
}

void line_is_invalidated(uint64_t process, uint32_t line) {
    struct task *task = request_of(&entries[number_of(process, line)]);
    task->awaited -= 1;
    if (task->awaited == 0)
        take_own_copy(task);
}

/* Where the line goes: to the home's memory if it may be read there, and into the packet to who
 * asks. */
struct task *line_is_given(uint64_t process, uint32_t line, uint64_t packet) {
    struct entry *entry = &entries[number_of(process, line)];
    struct task *task = request_of(entry);
    bool is_own = task->rank == sharers[process].own;
    uint64_t permission = task->is_write ? VOYAGER_PERMISSION_WRITE : VOYAGER_PERMISSION_READ;
    task->has_bytes = !is_own;
    if (task->has_bytes)
        issue(FOR_RECEIVE, VOYAGER_COPY, 1, packet + LINE_BYTES,
              (task->room + LINE_BYTES) / LINE_BYTES);
    if (is_own || !task->is_write) {
        issue(FOR_RECEIVE, VOYAGER_BUS_WRITE, 1, packet + LINE_BYTES,
              address_of(process, line) / LINE_BYTES);
        issue_line_permission(VOYAGER_COMMAND_ORDERED, process, line, permission);
        note_permission(process, line, permission, is_own);
    }
    entry->copies = task->is_write ? 0 : bit(entry->owner - 1u);
    entry->owner = 0;
    return task;
}

/* The request is granted. */
void request_is_ready(struct task *task) {
    struct entry *entry = entry_of(task);
    uint64_t process = task->process;
    uint32_t rank = task->rank;
    bool is_own = rank == sharers[process].own;
    if (task->is_write) {
        entry->copies = 0;
        entry->owner = is_own ? 0 : (uint16_t)(rank + 1);
    } else if (!is_own) {
        entry->copies |= bit(rank);
    }
    requests[entry->state - IN_WORK] = NULL;
    entry->state = IDLE;
    if (!is_own)
        send_message(process, rank,
                     shared_message(task->is_write ? MAY_WRITE : MAY_READ, task->line),
                     task->has_bytes ? task : NULL);
    if (is_own || !task->has_bytes)
        free_task(task);
    serve_next(process, entry);
}
