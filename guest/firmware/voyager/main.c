/* The service processor of StarT-Voyager's network interface: it does for queues that are not
 * resident what the hardware does for those that are (Section 4).
 *
 *     poll ──┬─ capture: a program stored a pointer ──► transmit.c, receive.c
 *            │           or loads serviced space ────────► serviced.c
 *            │           or stores to it ────────────────► writes.c
 *            │           or waits for a cachable pointer ► cachable_queues.c
 *            │           or for a line of shared memory ──► voyager-shared (shared_memory.h)
 *            ├─ completion of a command ── resume ────► their second phases
 *            ├─ a packet in the miss queue ───────────► receive.c, block.c
 *            ├─ a command of the kernel agent ────────► agent.c
 *            └─ nothing ──────────────────────────────► block.c: the next packet of a block
 *                                                       refusals.c: who is told of a refused one
 *                                                       receive.c: a queue that is never drained
 *
 * One loop serves events, one at a time. No handler waits: an operation that needs a command's
 * effect is suspended (suspended.h) and taken up when the command has completed. Registers of the
 * interface are off the chip, a bus transaction each, so what a handler needs of them is little. */
#include "firmware/voyager/agent.h"
#include "firmware/voyager/block.h"
#include "firmware/voyager/cachable_queues.h"
#include "firmware/voyager/events.h"
#include "firmware/voyager/lending.h"
#include "firmware/voyager/occupancy.h"
#include "firmware/voyager/receive.h"
#include "firmware/voyager/refusals.h"
#include "firmware/voyager/serviced.h"
#include "firmware/voyager/shared_memory.h"
#include "firmware/voyager/transmit.h"
#include "firmware/voyager/writes.h"

struct suspended suspended[COMMAND_QUEUES];

/* Goes on with the operation whose command has completed. */
static inline void complete(uint64_t completion) {
    ENTER(ACTIVITY_RESUME);
    if (completed_fault(completion) != 0)
        note_fault(completed_queue(completion));
    const struct operation *operation = resume(completed_queue(completion));
    if (shared_memory_resumes(operation)) {
        LEAVE();
        return;
    }
    switch (operation->phase) {
    case TRANSLATE_AND_LAUNCH:
        TAKES(LAUNCH);
        translate_and_launch(operation);
        break;
    case LAUNCH_ENTRY:
        TAKES(LAUNCH);
        launch_entry(operation);
        break;
    case FREE_BUFFER:
        TAKES(FREE_BUFFER_OF_MESSAGE);
        free_buffer(operation);
        break;
    case FREE_ENTRY:
        TAKES(FREE_BUFFER_OF_MESSAGE);
        free_entry(operation);
        break;
    case POINTER_IS_READ:
        pointer_is_read(operation);
        break;
    case FREE_OTHER:
        free_other(operation);
        break;
    case END_BLOCK:
        end_block(operation);
        break;
    case SHOW_PARKED:
        show_parked(operation);
        break;
    case FREE_PLACES:
        free_block_places(operation);
        break;
    case TRANSMIT_HAS_ENTERED:
        transmit_has_entered();
        break;
    case TRANSMIT_HAS_LEFT:
        transmit_has_left(operation);
        break;
    case RECEIVE_IS_MAPPED:
        receive_is_mapped(operation);
        break;
    case RECEIVE_HAS_LEFT:
        receive_has_left(operation);
        break;
    }
    LEAVE();
}

void finish_operations(void) {
    for (unsigned each = 0; each < COMMAND_QUEUES; each++)
        while (suspended[each].resumed != suspended[each].suspended) {
            uint64_t completion = nic_load(REGISTER_VOYAGER_COMPLETION);
            if (completion != VOYAGER_NOTHING)
                complete(completion);
        }
}

/* What is not a store to a pointer window. A store to serviced space that does not wait, of a
 * process that has no queue for any, means nothing. */
static void take_other(uint64_t kind, uint64_t offset) {
    if (shared_memory_takes(kind, offset))
        return;
    switch (kind) {
    case VOYAGER_CAPTURED_LOAD:
        return take_serviced_load(offset);
    case VOYAGER_CAPTURED_WAITING_STORE:
        return take_serviced_store(offset, NOWHERE);
    case VOYAGER_CAPTURED_SNOOPED_WRITE:
        return pointer_captured(offset);
    }
}

/* A program has stored to a pointer window, or waits for the firmware. */
static inline void take_capture(uint64_t capture) {
    enum { KIND_SHIFT = 56 };
    uint64_t offset = capture >> 32 & 0xffffff;
    if (capture >> KIND_SHIFT != VOYAGER_CAPTURED_STORE || offset & VOYAGER_OFFSET_SERVICED)
        return take_other(capture >> KIND_SHIFT, offset);
    uint64_t logical = offset >> VOYAGER_OFFSET_QUEUE & 0xff;
    uint64_t word = offset & ((1ul << VOYAGER_OFFSET_QUEUE) - 1);
    if (offset & VOYAGER_OFFSET_RECEIVE) {
        TAKES(RELEASE);
        release_up_to(&receive_queues[logical], word, (uint32_t)capture);
    } else {
        TAKES(MARSHAL);
        send_up_to(&transmit_queues[logical], word, (uint32_t)capture);
    }
}

void take_captures(void) {
    uint64_t capture;
    while ((capture = nic_load(REGISTER_VOYAGER_CAPTURE)) != VOYAGER_NOTHING)
        take_capture(capture);
}

static inline void serve(uint64_t source, uint64_t entry) {
    ENTER(ACTIVITY_DISPATCH);
    switch (source) {
    case VOYAGER_SOURCE_COMPLETION:
        complete(entry);
        break;
    case VOYAGER_SOURCE_CAPTURE:
        take_capture(entry);
        break;
    case VOYAGER_SOURCE_AGENT:
        carry_out(entry);
        break;
    case VOYAGER_SOURCE_RECEIVE:
        TAKES(entry & HEADER_OF_FIRMWARE ? A_BLOCK : DEMULTIPLEX);
        demultiplex(entry);
        break;
    default:
        break;
    }
    LEAVE();
}

/* Nothing has happened while a packet waits for its queue. */
__attribute__((noinline)) static void wait_for_holder(void) {
    stop_idle_holder();
    send_refusals();
    send_block_packet();
}

int main(void) {
    agent_start();
    transmit_start();
    receive_start();
    block_start();
    refusals_start();
    lending_start();
    cachable_start();
    serviced_start();
    shared_memory_start();
    OCCUPANCY_START();
    ENTER(ACTIVITY_POLL);
    for (;;) {
        BEGIN_INVOCATION();
        uint64_t event = nic_load(REGISTER_VOYAGER_POLL);
        uint64_t entry = nic_load(REGISTER_VOYAGER_POLL_ENTRY);
        if (event != VOYAGER_NOTHING) {
            serve(event & 0xff, entry);
            END_INVOCATION();
        } else if (packet_is_held)
            wait_for_holder();
        else {
            send_refusals();
            send_block_packet();
        }
    }
}
