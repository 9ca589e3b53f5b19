/* Driver for cachable queues whose packets are announced by a store, to a register or to the tail
 * (CNI16Q, CNI512Q, CNI32Qm and their kind); messaging/cachable_queues.h says how they work. */
#include "messaging/cachable_queues.h"

static volatile uint64_t *announcement; /* where a packet is announced */
static bool announces_tail;             /* by storing the tail, or else a 1 */

static void start_sending(const struct narthex_information *machine) {
    tail = first_entry(machine->send_queue, machine->send_entries);
    shadow_head = FIRST_ENTRY_FIRST_PASS;
    entry_bytes = machine->entry_bytes;
    send_head = (volatile uint64_t *)(uintptr_t)machine->send_head;
    announces_tail = machine->message_ready == 1;
    uint64_t ready =
        announces_tail ? machine->send_tail : machine->register_page + REGISTER_MESSAGE_READY;
    announcement = (volatile uint64_t *)(uintptr_t)ready;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    char *entry = tail.entry;
    *(volatile uint64_t *)entry = header_out(header, extra) | sense(tail.pointer)
                                                                  << HEADER_SENSE_SHIFT;
    copy_out(entry + sizeof header, payload, bytes, extra);
    advance(&tail);
    COMPILER_BARRIER();
    *announcement = announces_tail ? tail.pointer : 1;
}

SEND_DRIVER(send_cachable_queue, start_sending, has_room, send);
RECEIVE_DRIVER(receive_cachable_queue, start_receiving, arrived, receive, is_half_full);
