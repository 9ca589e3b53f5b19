/* A copy has the permission of its line in the snooped space:
 *
 *     NONE ── captured: WANTS_TO_READ ──► MAY_READ ── READ ── captured: WANTS_TO_WRITE ──►
 * MAY_WRITE │                                               │                                    │
 *       └──── captured: WANTS_TO_WRITE ─────────────────┼──────────────► MAY_WRITE ───────► WRITE
 *       ▲                                               │                                    │
 *       └──────────────────────── INVALIDATE ───────────┴───────── GIVE_AWAY (GIVE_TO_READ) ──┘
 *
 * There is one request of a line at a time. An access that was captured meanwhile is captured again
 * once the permission has been set, if that does not allow it. A copy may lose its line while it
 * waits to write it: the home knows by then, and sends the line with the permission. */
#include "firmware/voyager-shared/copies.h"

#include "firmware/voyager-shared/homes.h"
#include "firmware/voyager-shared/tasks.h"

/* Of a copy's state. At first a home may write its lines, and others may not read them. */
enum { PERMISSION_BITS = 3, IS_KNOWN = 4, IS_REQUESTED = 8 };

static uint8_t states[SHARED_LINES];

/* What homes ask while no task is free: no home asks more than once of a copy at a time for each of
 * its requests. */
enum { WAITING = RANKS_LIMIT * SHARED_PROCESSES * REQUESTS };

static struct {
    uint32_t first, next; /* they wrap together */
    struct asked {
        uint32_t line;
        uint8_t process, message;
    } waiting[WAITING];
} asked;

uint64_t permission_of(uint64_t process, uint32_t line) {
    uint8_t state = states[number_of(process, line)];
    if (state & IS_KNOWN)
        return state & PERMISSION_BITS;
    return home_of(process, line) == sharers[process].own ? VOYAGER_PERMISSION_WRITE
                                                          : VOYAGER_PERMISSION_NONE;
}

void note_permission(uint64_t process, uint32_t line, uint64_t permission, bool is_granted) {
    uint8_t *state = &states[number_of(process, line)];
    uint8_t rest = is_granted ? 0 : *state & IS_REQUESTED;
    *state = (uint8_t)(permission | IS_KNOWN | rest);
}

void line_captured(uint64_t process, uint32_t line, bool is_write) {
    uint64_t needed = is_write ? VOYAGER_PERMISSION_WRITE : VOYAGER_PERMISSION_READ;
    uint8_t *state = &states[number_of(process, line)];
    if (*state & IS_REQUESTED || permission_of(process, line) >= needed)
        return;
    *state |= IS_REQUESTED;
    uint32_t home = home_of(process, line), own = sharers[process].own;
    if (home == own)
        request_line(process, line, own, is_write);
    else
        send_message(process, home, shared_message(is_write ? WANTS_TO_WRITE : WANTS_TO_READ, line),
                     NULL);
}

static void answer(struct task *task, const struct asked *what) {
    task->process = what->process;
    task->line = what->line;
    task->permission =
        what->message == GIVE_TO_READ ? VOYAGER_PERMISSION_READ : VOYAGER_PERMISSION_NONE;
    task->is_flushed = true;
    task->has_bytes = what->message != INVALIDATE;
    note_permission(task->process, task->line, task->permission, false);
    have_ready(task);
}

void serve_waiting_copies(void) {
    struct task *task;
    while (asked.first != asked.next && (task = take_task(false)) != NULL)
        answer(task, &asked.waiting[asked.first++ % WAITING]);
}

void asked_for(uint64_t process, uint32_t line, enum shared_message message) {
    asked.waiting[asked.next++ % WAITING] =
        (struct asked){line, (uint8_t)process, (uint8_t)message};
    serve_waiting_copies();
}

void copy_is_ready(struct task *task) {
    uint32_t home = home_of(task->process, task->line);
    if (task->has_bytes)
        return send_message(task->process, home, shared_message(GIVES, task->line), task);
    send_message(task->process, home, shared_message(IS_INVALIDATED, task->line), NULL);
    free_task(task);
}

void granted(uint64_t process, uint32_t line, enum shared_message message, bool has_line,
             uint64_t packet) {
    uint64_t permission = message == MAY_READ ? VOYAGER_PERMISSION_READ : VOYAGER_PERMISSION_WRITE;
    if (has_line)
        issue(FOR_RECEIVE, VOYAGER_BUS_WRITE, 1, packet + LINE_BYTES,
              address_of(process, line) / LINE_BYTES);
    issue_line_permission(VOYAGER_COMMAND_ORDERED, process, line, permission);
    note_permission(process, line, permission, true);
}
