/* S-COMA over the snooped space (Section 4.1: "the NIC Core provides cache-line granularity
 * access-permission check, similar to the permission check in Typhoon or S-COMA"):
 *
 *     a program's access ── permitted ──► memory, at the speed of the bus
 *          └─ not: captured, and tried again ... until the line and its permission are there
 *               copies.c ── messages.c ──► homes.c at its home ── messages.c ──► copies.c
 *
 * A program asks whether there is shared memory by a load of a doubleword of serviced space, behind
 * those that stand for its queues. */
#define SHARED_MEMORY 1

#include "firmware/voyager/shared_memory.h"

#include "firmware/voyager-shared/copies.h"
#include "firmware/voyager-shared/homes.h"
#include "firmware/voyager-shared/tasks.h"
#include "firmware/voyager/agent.h"
#include "firmware/voyager/receive.h"
#include "firmware/voyager/serviced.h"
#include "voyager/shared_memory_page.h"

struct sharer sharers[SHARED_PROCESSES];
uint32_t shared_lines;

static struct {
    uint64_t lines;      /* of a process's part of the snooped space */
    uint64_t not_shared; /* those at its beginning */
    uint64_t queues_of_process;
    bool has_commands;
} space;

/* The start */

/* Finds the ranks of a process's job in its translation table; 0 ranks if there are too many. */
static void find_ranks(uint64_t process) {
    struct sharer *sharer = &sharers[process];
    uint64_t translation = nic_load(REGISTER_VOYAGER_TRANSLATION), entries = translation >> 32;
    const uint64_t *table =
        (const uint64_t *)(VOYAGER_SRAM + (uint32_t)translation) + process * entries;
    uint64_t node = nic_load(REGISTER_VOYAGER_NODE) & 0xffff;
    for (uint64_t rank = 0; rank * space.queues_of_process < entries; rank++) {
        uint64_t entry = table[rank * space.queues_of_process];
        if (!(entry & VOYAGER_TRANSLATION_VALID))
            break;
        if (rank == RANKS_LIMIT) {
            sharer->ranks = 0;
            return;
        }
        struct rank_place place = {(uint16_t)entry,
                                   (uint8_t)((entry >> 16 & 0xff) / space.queues_of_process)};
        sharer->places[rank] = place;
        sharer->ranks = (uint32_t)rank + 1;
        if (place.node == node && place.process == process)
            sharer->own = (uint32_t)rank;
    }
}

/* Sets the permission of many lines. */
static void permit(uint64_t process, uint32_t line, uint64_t lines, uint64_t permission) {
    while (command_room(FOR_RECEIVE) < 2)
        ;
    issue_long(FOR_RECEIVE, VOYAGER_PERMISSION | permission << 24 | lines << 32);
    issue_long(FOR_RECEIVE, address_of(process, line));
}

/* At first each home may write its lines, which are zeros. */
static void share(uint64_t process) {
    struct sharer *sharer = &sharers[process];
    sharer->start = nic_load(REGISTER_VOYAGER_SNOOPED_START + process * DOUBLEWORD) +
                    space.not_shared * LINE_BYTES;
    if (shared_lines > 0)
        permit(process, 0, shared_lines, VOYAGER_PERMISSION_NONE);
    for (uint32_t line = sharer->own * LINES_OF_PAGE; line < shared_lines;
         line += sharer->ranks * LINES_OF_PAGE)
        permit(process, line, LINES_OF_PAGE, VOYAGER_PERMISSION_WRITE);
}

/* All processes of a node have queues of one kind. */
static bool has_cachable_queues(void) {
    return transmit_queues[0].keeping == CACHABLE;
}

void shared_memory_start(void) {
    uint64_t processes = nic_load(REGISTER_VOYAGER_NODE) >> 48;
    uint32_t most = (uint32_t)(SHARED_LINES / processes) / LINES_OF_PAGE * LINES_OF_PAGE;
    uint64_t room = (nic_load(REGISTER_VOYAGER_FREE_A) >> 32) - TASKS_ROOM - MESSAGES_ROOM;
    space.queues_of_process = nic_load(REGISTER_VOYAGER_LIMITS) >> 48;
    space.lines = nic_load(REGISTER_VOYAGER_SNOOPED_LINES);
    shared_lines = space.lines < most ? (uint32_t)space.lines : most;
    space.not_shared = space.lines - shared_lines;
    space.has_commands = command_room(FOR_RECEIVE) >= SHARED_MEMORY_ROOM;
    if (!space.has_commands)
        return;
    /* Cachable queues are in the snooped space, and opened before anything runs. */
    while (nic_load(REGISTER_VOYAGER_STATUS) >> VOYAGER_SOURCE_AGENT & 1)
        carry_out(nic_load(REGISTER_VOYAGER_AGENT));
    if (has_cachable_queues())
        return;
    tasks_start(room);
    messages_start(room + TASKS_ROOM);
    for (uint64_t process = 0; process < processes; process++) {
        find_ranks(process);
        if (sharers[process].ranks > 0)
            share(process);
    }
}

/* Events */

/* How much there is, or why there is none. */
static uint64_t answer(uint64_t process) {
    if (has_cachable_queues())
        return VOYAGER_SHARED_MEMORY_NONE;
    if (!space.has_commands)
        return VOYAGER_SHARED_MEMORY_COMMANDS;
    return sharers[process].ranks > 0 ? (uint64_t)shared_lines * LINE_BYTES
                                      : VOYAGER_SHARED_MEMORY_RANKS;
}

bool shared_memory_takes(uint64_t kind, uint64_t offset) {
    enum { PAGE_BITS = 12, PROCESS_MASK = 7 };
    if (kind == VOYAGER_CAPTURED_LOAD) {
        uint64_t process = offset >> PAGE_BITS & PROCESS_MASK;
        if ((offset & ((1 << PAGE_BITS) - 1)) != VOYAGER_SHARED_MEMORY_OFFSET)
            return false;
        approve(offset, answer(process));
        return true;
    }
    if (kind != VOYAGER_CAPTURED_SNOOPED_READ && kind != VOYAGER_CAPTURED_SNOOPED_WRITE)
        return false;
    uint64_t process = offset / space.lines;
    if (sharers[process].ranks == 0)
        return false;
    ENTER(ACTIVITY_SHARED_MEMORY);
    line_captured(process, (uint32_t)(offset % space.lines - space.not_shared),
                  kind == VOYAGER_CAPTURED_SNOOPED_WRITE);
    LEAVE();
    return true;
}

bool shared_memory_resumes(const struct operation *operation) {
    if (operation->phase < SHARED_MESSAGE_IS_SENT)
        return false;
    ENTER(ACTIVITY_SHARED_MEMORY);
    switch (operation->phase) {
    case SHARED_MESSAGE_IS_SENT:
        message_is_sent(operation);
        break;
    case SHARED_LINE_IS_READY:
        task_is_ready(operation);
        break;
    case SHARED_LINE_HAS_COME:
        free_other(operation);
        request_is_ready(operation->queue);
        break;
    }
    LEAVE();
    return true;
}

/* Where a packet for firmware has its first doubleword. */
uint64_t shared_memory_message(uint64_t packet) {
    uint64_t message = sram_load(packet + LINE_BYTES - DOUBLEWORD);
    return message & OF_SHARED_MEMORY ? message : 0;
}

bool shared_memory_receives(uint64_t header, uint64_t message, uint64_t packet,
                            struct task **task) {
    uint32_t line = (uint32_t)message, rank = header & 0xffff;
    uint64_t process = header >> 32 & 0xff;
    enum shared_message what = (enum shared_message)(message >> MESSAGE_SHIFT & 0xff);
    bool has_line = (header >> HEADER_BYTES_SHIFT & 0x7f) != 0, stays = false;
    ENTER(ACTIVITY_SHARED_MEMORY);
    check_order(process, rank, message);
    switch (what) {
    case WANTS_TO_READ:
    case WANTS_TO_WRITE:
        request_line(process, line, rank, what == WANTS_TO_WRITE);
        break;
    case GIVE_TO_READ:
    case GIVE_AWAY:
    case INVALIDATE:
        asked_for(process, line, what);
        break;
    case IS_INVALIDATED:
        line_is_invalidated(process, line);
        break;
    case GIVES:
        *task = line_is_given(process, line, packet);
        stays = true;
        break;
    case MAY_READ:
    case MAY_WRITE:
        granted(process, line, what, has_line, packet);
        stays = true;
        break;
    }
    LEAVE();
    return stays;
}
