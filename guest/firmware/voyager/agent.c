/* The kernel agent has checked what a program asks for, gives out queues and pins their memory. A
 * queue's program waits until its status says that it is open. */
#include "firmware/voyager/agent.h"

#include "firmware/voyager/block.h"
#include "firmware/voyager/cachable_queues.h"
#include "firmware/voyager/events.h"
#include "firmware/voyager/lending.h"
#include "firmware/voyager/receive.h"
#include "firmware/voyager/transmit.h"

enum { AGENT_WORDS = 8, PROCESSES = 8 };

static struct {
    uint64_t queues; /* of a node, in each direction */
    uint64_t table, table_entries;
} node;

void agent_start(void) {
    uint64_t translation = nic_load(REGISTER_VOYAGER_TRANSLATION);
    node.queues = nic_load(REGISTER_VOYAGER_LIMITS) & 0xffff;
    node.table = VOYAGER_SRAM + (uint32_t)translation;
    node.table_entries = translation >> 32;
}

static uint64_t shadow_of(bool is_receive, uint64_t logical) {
    return ((is_receive ? node.queues : 0) + logical) * VOYAGER_SHADOW_BYTES;
}

static void show_open(uint64_t shadow) {
    show(shadow, VOYAGER_POINTER_PRODUCER, 0);
    show(shadow, VOYAGER_POINTER_CONSUMER, 0);
    show(shadow, VOYAGER_POINTER_STATUS, VOYAGER_STATUS_OPEN);
}

/* Fields of OPEN. */

static enum keeping keeping_of(const uint64_t *words) {
    uint64_t kind = words[0] >> 16 & 0xff;
    return kind == VOYAGER_KIND_HYBRID     ? HYBRID
           : kind == VOYAGER_KIND_CACHABLE ? CACHABLE
                                           : IN_MEMORY;
}

static uint16_t slots_of(const uint64_t *words) {
    return words[0] >> 32 & 0xffff;
}

static void open_transmit(uint64_t logical, uint64_t process, const uint64_t *words) {
    struct transmit_queue *queue = &transmit_queues[logical];
    *queue = (struct transmit_queue){
        .base = words[1],
        .keeping = (uint8_t)keeping_of(words),
        .shadow = shadow_of(false, logical),
        .slots = slots_of(words),
        .state = OPEN,
        .waits = queue->waits,
        .process = process,
        .translations =
            (const uint64_t *)(node.table + process * node.table_entries * sizeof(uint64_t)),
    };
    show_open(queue->shadow);
    if (queue->keeping == CACHABLE)
        open_cachable_send(queue, words[2]);
}

static void open_receive(uint64_t logical, uint64_t process, const uint64_t *words) {
    struct receive_queue *queue = &receive_queues[logical];
    queue->base = words[1];
    queue->keeping = (uint8_t)keeping_of(words);
    queue->process = process;
    queue->shadow = shadow_of(true, logical);
    queue->producer = queue->shown = queue->consumer = 0;
    queue->slots = slots_of(words);
    queue->state = OPEN;
    show_open(queue->shadow);
    if (queue->keeping == CACHABLE)
        open_cachable_receive(queue, words[2]);
    receive_parked(queue);
}

/* Nothing of a closed queue may come to the next one of its number. */
static void close(bool is_receive, uint64_t logical) {
    if (is_receive) {
        take_back_receive(&receive_queues[logical]);
        stop_receiving(&receive_queues[logical], VOYAGER_STATUS_CLOSED);
    } else {
        take_back_transmit(&transmit_queues[logical]);
        stop_sending(&transmit_queues[logical], VOYAGER_STATUS_CLOSED);
    }
}

static void transfer(uint64_t sender, const uint64_t *words) {
    struct transfer transfer = {
        .to_firmware = words[0] == VOYAGER_DMA_FIRMWARE,
        .node = (uint16_t)words[1],
        .process = (uint8_t)(words[1] >> 16),
        .sender = (uint8_t)sender,
        .local = words[2],
        .remote = words[3],
        .bytes = words[4],
        .channel = words[5] < NO_CHANNEL ? words[5] : NO_CHANNEL,
        .told = words[6],
    };
    while (!enqueue_transfer(&transfer)) {
        send_block_packet();
        finish_operations();
    }
}

void carry_out(uint64_t first) {
    uint64_t words[AGENT_WORDS - 1];
    for (unsigned each = 0; each < AGENT_WORDS - 1; each++)
        words[each] = nic_load(REGISTER_VOYAGER_AGENT);
    uint64_t process = first >> 32, logical = words[0] >> 8 & 0xff;
    bool is_receive = words[0] & 1;
    switch ((uint32_t)first) {
    case VOYAGER_OPEN:
        return is_receive ? open_receive(logical, process, words)
                          : open_transmit(logical, process, words);
    case VOYAGER_CLOSE:
        return close(is_receive, logical);
    case VOYAGER_DMA:
        return transfer(process, words);
    }
}
