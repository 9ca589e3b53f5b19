/* Driver for a send queue in memory of the interface, and a receive queue in the host's (CxlNic2);
 * messaging/cachable_queues.h says how the queues work, interfaces/src/models/cxl_nic2.rs what the
 * interface does.
 *
 * A packet's header is written last, and its blocks are flushed, the header's last of all: that
 * announces the packet. Then the driver takes the blocks of the next packet, as many as this one
 * has, so that their stores hit. It stores behind the place of the header, where the entry is free:
 * a header of the pass before stays, and says that there is no packet.
 *
 * Linked as the driver of Ring is (driver_ring.c). */
#include "messaging/cachable_queues.h"
#include "runtime/cache_blocks.h"

static size_t block_bytes;

static void start_sending(const struct narthex_information *machine) {
    tail = first_entry(machine->send_queue, machine->send_entries);
    shadow_head = FIRST_ENTRY_FIRST_PASS;
    entry_bytes = machine->entry_bytes;
    send_head = (volatile uint64_t *)(uintptr_t)machine->send_head;
    block_bytes = machine->block_bytes;
}

static inline void flush_packet(char *entry, size_t length) {
    for (size_t behind = (length + block_bytes - 1) / block_bytes; behind > 0; behind--)
        flush_block(entry + (behind - 1) * block_bytes);
}

static inline void take_blocks(char *entry, size_t length) {
    for (size_t offset = 0; offset < length; offset += block_bytes)
        *(volatile uint64_t *)(entry + offset + sizeof(uint64_t)) = 0;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    char *entry = tail.entry;
    size_t length = sizeof header + extra + bytes;
    copy_out(entry + sizeof header, payload, bytes, extra);
    COMPILER_BARRIER();
    *(volatile uint64_t *)entry = header_out(header, extra) | sense(tail.pointer)
                                                                  << HEADER_SENSE_SHIFT;
    flush_packet(entry, length);
    advance(&tail);
    if (!is_full())
        take_blocks(tail.entry, length);
}

SEND_DRIVER(send_cxl_nic2, start_sending, has_room, send);
RECEIVE_DRIVER(receive_cxl_nic2, start_receiving, arrived, receive, is_half_full);
