/* The lines whose home this node's processes are: who has copies of them, and who wants one. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SHARED_HOMES_H
#define NARTHEX_FIRMWARE_VOYAGER_SHARED_HOMES_H

#include "firmware/voyager-shared/lines.h"

/* A rank of the job of this process, or the process itself, wants to read or to write a line. */
void request_line(uint64_t process, uint32_t line, uint32_t rank, bool is_write);

/* A task is free for a request that waits for one. */
void serve_waiting_requests(void);

/* A copy has been invalidated. */
void line_is_invalidated(uint64_t process, uint32_t line);

/* The only copy has been given to the home: it is in the packet. Returns the task that goes on once
 * the commands that are issued here are complete, by request_is_ready. */
struct task *line_is_given(uint64_t process, uint32_t line, uint64_t packet);

#endif
