/* Messages between firmwares about lines of shared memory: packets for the firmware, of which the
 * first doubleword is the message, and the rest the line if it has one. Those of a node to another
 * one arrive in the order in which they are sent. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_SHARED_MESSAGES_H
#define NARTHEX_FIRMWARE_VOYAGER_SHARED_MESSAGES_H

#include "firmware/voyager-shared/lines.h"
#include "firmware/voyager/suspended.h"

/* What a message says. */
enum shared_message {
    WANTS_TO_READ, /* to the home: a copy's process waits */
    WANTS_TO_WRITE,
    GIVE_TO_READ,   /* to the only copy: the home needs the line, which may be read from now on */
    GIVE_AWAY,      /* to the only copy: it may not be read any more */
    INVALIDATE,     /* to a copy that may be read */
    IS_INVALIDATED, /* to the home */
    GIVES,          /* to the home, with the line */
    MAY_READ,       /* to the copy that has asked, with the line */
    MAY_WRITE,      /* with the line unless the copy may be read */
};

/* No place of a packet of a block transfer has this bit. */
#define OF_SHARED_MEMORY (1ul << 63)

/* Where a message has what it says, and its number among those from its process to its rank. */
enum { MESSAGE_SHIFT = 32, NUMBER_SHIFT = 40 };

static inline uint64_t shared_message(enum shared_message message, uint32_t line) {
    return OF_SHARED_MEMORY | (uint64_t)message << MESSAGE_SHIFT | line;
}

void messages_start(uint64_t room);

enum { MESSAGES_ROOM = 8 * VOYAGER_SLOT_BYTES };

/* Sends a message in a process's name to a rank of its job; with a task the line that is in its
 * room, and the task is free once it has left. */
void send_message(uint64_t process, uint32_t rank, uint64_t message, struct task *task);

/* A message has come from a rank to this process. The run ends if one before it has not. */
void check_order(uint64_t process, uint32_t rank, uint64_t message);

/* One has left. */
void message_is_sent(const struct operation *operation);

#endif
