/* A refusal is a message as any other: to the queue that the sender has named for the transfer's
 * end, with the user's byte VOYAGER_USER_REFUSED. The firmware has a transmit queue of its own for
 * each process, in whose name it sends them, and whose translations it uses; so they take their
 * turns with the messages of programs. Those that find no room there wait. */
#include "firmware/voyager/refusals.h"

#include "firmware/voyager/transmit.h"

enum { PROCESSES = 8, SLOTS = 4, OWED = 64 };

/* Behind the slots of all of them are their pointers, a line each, which nobody reads. */
static struct transmit_queue queues[PROCESSES];

static struct refusal {
    uint64_t process, destination;
} owed[OWED];

struct refusal_counts refusals;
static uint64_t queues_of_process;

void refusals_start(void) {
    uint64_t translation = nic_load(REGISTER_VOYAGER_TRANSLATION), entries = translation >> 32;
    uint64_t processes = nic_load(REGISTER_VOYAGER_NODE) >> 48;
    uint64_t table = VOYAGER_SRAM + (uint32_t)translation;
    uint64_t room = staging_room() + STAGING_FOR_REFUSALS * VOYAGER_SLOT_BYTES;
    uint64_t shadows = room + processes * SLOTS * VOYAGER_SLOT_BYTES;
    queues_of_process = nic_load(REGISTER_VOYAGER_LIMITS) >> 48;
    for (uint64_t process = 0; process < processes; process++)
        queues[process] = (struct transmit_queue){
            .base = room + process * SLOTS * VOYAGER_SLOT_BYTES,
            .keeping = FIRMWARES,
            .shadow = shadows + process * VOYAGER_SHADOW_BYTES,
            .slots = SLOTS,
            .state = OPEN,
            .process = process,
            .translations = (const uint64_t *)(table + process * entries * sizeof(uint64_t)),
        };
}

/* Puts a message in the process's queue; false if that is full. */
static bool send_refusal(const struct refusal *refusal) {
    struct transmit_queue *queue = &queues[refusal->process];
    if ((uint16_t)(queue->producer - queue->consumer) == queue->slots)
        return false;
    uint64_t header =
        refusal->destination | sizeof(uint32_t) << HEADER_BYTES_SHIFT | VOYAGER_USER_REFUSED << 24;
    sram_store(slot_address(queue->base, queue->producer, queue->slots),
               header | VOYAGER_FAULT_ADDRESS << 32);
    send_up_to(queue, VOYAGER_POINTER_PRODUCER, (uint16_t)(queue->producer + 1));
    return true;
}

void send_owed_refusals(void) {
    while (refusals.first != refusals.next && send_refusal(&owed[refusals.first % OWED]))
        refusals.first += 1;
}

/* If OWED senders wait already, this one is not told. */
void refuse_block(uint64_t process, uint64_t rank, uint64_t told) {
    if (refusals.next - refusals.first == OWED)
        return;
    owed[refusals.next++ % OWED] = (struct refusal){
        .process = process,
        .destination = rank * queues_of_process + told % queues_of_process,
    };
    send_owed_refusals();
}
