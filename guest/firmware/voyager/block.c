/* The sender packetizes: a packet is two lines of the node's memory, read into SRAM by a command
 * each, and a line in front of them that says where they go, which the firmware writes:
 *
 *     poll ──► BUS_READ, BUS_READ, control line (a miss, a flush), PACKET ──► network
 *
 * Between two packets it polls, so that everything else goes on (Table 4). Every other PACKET
 * completes with a notification, which frees the places of both.
 *
 * The receiver finds the control line's words in the header doubleword and in front of the data,
 * and has the data written where they say, in the receiving process's own addresses. It frees the
 * buffers of two packets, and counts them, at a time.
 *
 * Whether the process has registered what a packet goes to the interface finds out when it writes.
 * The completion behind tells, and packets that share one are of one transfer: so it is known whose
 * the fault is. The sender is told once the last packet of the transfer has been there. Transfers
 * from a process to another one do not mix: their sender's firmware sends one at a time. */
#include "firmware/voyager/block.h"

#include "firmware/voyager/receive.h"
#include "firmware/voyager/refusals.h"

enum {
    TRANSFERS = 16,
    PLACES =
        STAGING_PLACES_OF_BLOCKS, /* three commands each; two more for what follows a transfer */
    PACKET_BYTES = VOYAGER_BLOCK_PACKET_BYTES,
    AGGREGATED = 2 /* packets */
};

struct control_line {
    uint64_t place;  /* address, and what VOYAGER_PLACE names */
    uint64_t packet; /* bytes, channel << 8, to firmware << 16 */
};

static struct {
    uint32_t first, next; /* they wrap together */
    struct transfer all[TRANSFERS];
} transfers;

static struct {
    uint64_t address;
    uint32_t taken, freed;
} staging;

void block_start(void) {
    staging.address = staging_room() + STAGING_FOR_BLOCKS * VOYAGER_SLOT_BYTES;
}

bool enqueue_transfer(const struct transfer *transfer) {
    if (transfers.next - transfers.first == TRANSFERS)
        return false;
    struct transfer *own = &transfers.all[transfers.next++ % TRANSFERS];
    *own = *transfer;
    if (own->told != VOYAGER_NOTHING)
        own->remote |= (own->told + 1) << VOYAGER_PLACE_TOLD;
    return true;
}

/* Sending */

static inline void write_control_line(uint64_t sram, const struct transfer *transfer,
                                      uint64_t bytes) {
    volatile struct control_line *line = (volatile struct control_line *)(VOYAGER_SRAM + sram);
    line->place = transfer->remote | (bytes == transfer->bytes ? VOYAGER_PLACE_LAST : 0);
    line->packet = bytes | transfer->channel << 8 | (uint64_t)transfer->to_firmware << 16;
    flush_block(line);
}

void send_block_packet(void) {
    if (transfers.first == transfers.next || staging.taken - staging.freed == PLACES)
        return;
    ENTER(ACTIVITY_SEND);
    struct transfer *transfer = &transfers.all[transfers.first % TRANSFERS];
    uint64_t place = staging.address + staging.taken++ % PLACES * VOYAGER_SLOT_BYTES;
    uint64_t rest = PACKET_BYTES - transfer->remote % PACKET_BYTES;
    uint64_t bytes = transfer->bytes < rest ? transfer->bytes : rest;
    for (uint64_t line = 0; line < bytes; line += LINE_BYTES)
        issue(FOR_TRANSMIT, VOYAGER_BUS_READ, 1, place + LINE_BYTES + line,
              (transfer->local + line) / LINE_BYTES);
    write_control_line(place, transfer, bytes);
    transfer->local += bytes;
    transfer->remote += bytes;
    transfer->bytes -= bytes;
    bool is_last = transfer->bytes == 0;
    uint32_t sent = staging.taken - staging.freed;
    bool notifies = is_last || sent % AGGREGATED == 0;
    issue(FOR_TRANSMIT, VOYAGER_PACKET | (notifies ? AWAITED : VOYAGER_COMMAND_ORDERED), 1, place,
          transfer->node | (uint64_t)transfer->process << 16 | (uint64_t)transfer->sender << 25);
    if (notifies)
        suspend(FOR_TRANSMIT, (struct operation){FREE_PLACES, staging.taken, NULL});
    if (is_last) {
        if (transfer->told != VOYAGER_NOTHING)
            issue_long(FOR_TRANSMIT, VOYAGER_TELL | VOYAGER_COMMAND_ORDERED | transfer->told << 32);
        transfers.first += 1;
    }
    LEAVE();
}

void free_block_places(const struct operation *operation) {
    staging.freed = operation->place;
}

/* Receiving */

/* Who sends to whom: the rank of the sender in its job, and the process of the receiver. */
enum { PROCESS_SHIFT = 16, SENDERS = 1 << PROCESS_SHIFT, PROCESSES = 8, WORD_BITS = 64 };

static inline uint32_t parties_of(uint64_t header) {
    return (uint32_t)(header & (SENDERS - 1)) | (uint32_t)(header >> 32 & 7) << PROCESS_SHIFT;
}

/* For each operation of the receiving queue the parties of the packets in front of it. */
static struct {
    uint32_t operation; /* its number, plus 1 */
    uint32_t parties;
} written[OPERATIONS];

/* By parties: a packet of the transfer under way was refused. */
static uint64_t is_refused[SENDERS * PROCESSES / WORD_BITS];

bool is_of_another_transfer(uint64_t header) {
    uint32_t next = suspended[FOR_RECEIVE].suspended;
    return written[next % OPERATIONS].operation == next + 1 &&
           written[next % OPERATIONS].parties != parties_of(header);
}

void note_fault(enum command_queue queue) {
    uint32_t next = suspended[queue].resumed;
    if (queue != FOR_RECEIVE || written[next % OPERATIONS].operation != next + 1)
        return;
    uint32_t parties = written[next % OPERATIONS].parties;
    is_refused[parties / WORD_BITS] |= 1ul << parties % WORD_BITS;
}

void *block_end(uint64_t header, uint64_t place) {
    uint64_t told = place >> VOYAGER_PLACE_TOLD & 0x1ff;
    return (void *)(told << 32 | parties_of(header));
}

void end_block(const struct operation *operation) {
    uint64_t end = (uint64_t)operation->queue, told = end >> 32;
    uint32_t parties = (uint32_t)end;
    uint64_t bit = 1ul << parties % WORD_BITS, *refused = &is_refused[parties / WORD_BITS];
    free_other(operation);
    if (!(*refused & bit))
        return;
    *refused &= ~bit;
    if (told > 0)
        refuse_block(parties >> PROCESS_SHIFT, parties & (SENDERS - 1), told - 1);
}

uint64_t receive_block_packet(uint64_t header, uint64_t slot) {
    uint32_t next = suspended[FOR_RECEIVE].suspended;
    written[next % OPERATIONS].operation = next + 1;
    written[next % OPERATIONS].parties = parties_of(header);
    uint64_t bytes = header >> 16 & 0x7f, channel = header >> 24 & 0xff;
    uint64_t process = header >> 32 & 0xff, place = sram_load(slot + LINE_BYTES - DOUBLEWORD);
    uint64_t address = place & ((1ul << VOYAGER_PLACE_TOLD) - 1);
    uint64_t lines = (bytes + LINE_BYTES - 1) / LINE_BYTES, last = bytes % LINE_BYTES;
    issue_long(FOR_RECEIVE,
               VOYAGER_BUS_WRITE | lines << 24 | (slot + LINE_BYTES) << 32 | last << 52);
    issue_long(FOR_RECEIVE, address | (process + 1) << 48);
    if (channel != NO_CHANNEL)
        issue_long(FOR_RECEIVE,
                   VOYAGER_COUNT | VOYAGER_COMMAND_ORDERED | channel << 32 | 1ul << 40);
    return place;
}
