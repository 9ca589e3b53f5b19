#include "firmware/voyager-shared/tasks.h"

#include "firmware/voyager-shared/copies.h"
#include "firmware/voyager-shared/homes.h"
#include "firmware/voyager/receive.h"

/* Tasks whose commands are under way at a time, three each at most. */
enum { AT_A_TIME = 2, COMMANDS_OF_A_TASK = 3 };

static struct {
    struct task all[TASKS];
    uint32_t under_way;
    uint32_t first, next; /* of those that wait for that; they wrap together */
    struct task *waiting[TASKS];
} tasks;

void tasks_start(uint64_t room) {
    for (uint32_t each = 0; each < TASKS; each++) {
        tasks.all[each].room = room + each * VOYAGER_SLOT_BYTES;
        tasks.all[each].is_at_home = each < REQUESTS;
    }
    keep_commands(AT_A_TIME * COMMANDS_OF_A_TASK);
}

struct task *take_task(bool is_at_home) {
    struct task *begin = &tasks.all[is_at_home ? 0 : REQUESTS];
    struct task *end = &tasks.all[is_at_home ? REQUESTS : TASKS];
    for (struct task *each = begin; each < end; each++)
        if (!each->is_used) {
            each->is_used = true;
            return each;
        }
    return NULL;
}

void free_task(struct task *task) {
    task->is_used = false;
    if (task->is_at_home)
        serve_waiting_requests();
    else
        serve_waiting_copies();
}

void issue_line_permission(uint64_t options, uint64_t process, uint32_t line, uint64_t permission) {
    issue(FOR_RECEIVE, VOYAGER_PERMISSION | options, 1, permission * LINE_BYTES,
          address_of(process, line) / LINE_BYTES);
}

/* The last of its commands completes with a notification. A permission that is taken away holds
 * before the line is flushed: no cache gets it again between. */
static void issue_commands(struct task *task) {
    uint64_t place = address_of(task->process, task->line) / LINE_BYTES;
    tasks.under_way += 1;
    if (task->permission != UNCHANGED)
        issue_line_permission(task->is_flushed || task->has_bytes ? 0 : AWAITED, task->process,
                              task->line, task->permission);
    if (task->is_flushed)
        issue(FOR_RECEIVE, VOYAGER_BUS_FLUSH | (task->has_bytes ? 0 : AWAITED), 1, 0, place);
    if (task->has_bytes)
        issue(FOR_RECEIVE, VOYAGER_BUS_READ | AWAITED, 1, task->room + LINE_BYTES, place);
    suspend(FOR_RECEIVE, (struct operation){SHARED_LINE_IS_READY, 0, task});
}

static void issue_waiting(void) {
    while (tasks.first != tasks.next && tasks.under_way < AT_A_TIME)
        issue_commands(tasks.waiting[tasks.first++ % TASKS]);
}

void have_ready(struct task *task) {
    tasks.waiting[tasks.next++ % TASKS] = task;
    issue_waiting();
}

void task_is_ready(const struct operation *operation) {
    struct task *task = operation->queue;
    tasks.under_way -= 1;
    issue_waiting();
    if (task->is_at_home)
        request_is_ready(task);
    else
        copy_is_ready(task);
}
