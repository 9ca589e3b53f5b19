/* Tasks, and what they do on the node's bus: permissions are changed, lines flushed and read, by
 * the command queue for receiving, which the network never stops. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SHARED_TASKS_H
#define NARTHEX_FIRMWARE_VOYAGER_SHARED_TASKS_H

#include "firmware/voyager-shared/lines.h"
#include "firmware/voyager/suspended.h"

/* Requests of which a home is at work at a time, and what homes may ask of copies. */
enum { REQUESTS = 8, ANSWERS = 4, TASKS = REQUESTS + ANSWERS };
enum { TASKS_ROOM = TASKS * VOYAGER_SLOT_BYTES };

void tasks_start(uint64_t room);

/* A free task, of a home or of a copy; NULL if there is none. */
struct task *take_task(bool is_at_home);

void free_task(struct task *task);

/* Sets the task's permission, then has the line flushed if it says so, and brings its bytes to the
 * task's room if it says so; then request_is_ready or copy_is_ready. */
void have_ready(struct task *task);

/* The commands of a task are complete. */
void task_is_ready(const struct operation *operation);

/* Sets the permission of a line by one command. */
void issue_line_permission(uint64_t options, uint64_t process, uint32_t line, uint64_t permission);

#endif
