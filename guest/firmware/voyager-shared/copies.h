/* The copies of this node's processes. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SHARED_COPIES_H
#define NARTHEX_FIRMWARE_VOYAGER_SHARED_COPIES_H

#include "firmware/voyager-shared/messages.h"

/* A processor waits for a line. */
void line_captured(uint64_t process, uint32_t line, bool is_write);

/* What the process may do with its copy: a VOYAGER_PERMISSION. */
uint64_t permission_of(uint64_t process, uint32_t line);

/* It is changed by a command that is issued now; whether the process's request is granted by it. */
void note_permission(uint64_t process, uint32_t line, uint64_t permission, bool is_granted);

/* A home asks for something: INVALIDATE, GIVE_TO_READ or GIVE_AWAY. */
void asked_for(uint64_t process, uint32_t line, enum shared_message message);
void serve_waiting_copies(void);

/* A home has granted a request: the line is in the packet, if it has one. */
void granted(uint64_t process, uint32_t line, enum shared_message message, bool has_line,
             uint64_t packet);

#endif
