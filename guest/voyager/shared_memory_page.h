/* Where a program asks the firmware for shared memory: a load of the last doubleword of its page of
 * serviced space. */
#ifndef NARTHEX_VOYAGER_SHARED_MEMORY_PAGE_H
#define NARTHEX_VOYAGER_SHARED_MEMORY_PAGE_H

/* Answers the bytes that there are, whole pages, or why there are none. */
#define VOYAGER_SHARED_MEMORY_OFFSET 0xff8ul

/* The firmware has no shared memory, or queues are in the snooped space. Firmware that knows
 * nothing of this doubleword answers so, too. */
#define VOYAGER_SHARED_MEMORY_NONE 0xfffffffffffffffful

/* The job has more ranks than the firmware can tell apart. */
#define VOYAGER_SHARED_MEMORY_RANKS 1ul

/* The command queues are too short. */
#define VOYAGER_SHARED_MEMORY_COMMANDS 2ul

#endif
