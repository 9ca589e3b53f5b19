/* Driver of ranks that run without the simulator, as processes of the host: each pair of ranks has
 * a queue in shared memory for each direction, with one writer and one reader. A packet for a full
 * queue is parked. The interface then has no room, and other packets wait behind that one. */
#ifndef __riscv
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messaging/driver.h"
#include "runtime/native_ranks.h"

enum { ENTRIES = 16 };

struct ranks_packet {
    uint64_t header;
    char payload[PACKET_PAYLOAD_LIMIT];
};

struct ranks_queue {
    _Atomic unsigned sent, received; /* packets so far; they wrap together */
    struct ranks_packet packets[ENTRIES];
};

static struct ranks_queue *queues; /* of all pairs, those of one receiver behind each other */
static unsigned ranks, own, next;  /* `next` is the source that is looked at first */
static struct ranks_packet parked;
static unsigned parked_for; /* a rank; `ranks` if nothing is parked */

/* A rank that waits yields the processor, since there may be fewer processors than ranks. */
static void let_others_go_on(void) {
    enum { TURNS = 64, MICROSECONDS = 20 };
    static unsigned turns;
    if (++turns % TURNS == 0)
        usleep(MICROSECONDS);
    else
        sched_yield();
}

static bool put(const struct ranks_packet *packet, unsigned peer) {
    struct ranks_queue *queue = &queues[peer * ranks + own];
    unsigned sent = atomic_load_explicit(&queue->sent, memory_order_relaxed);
    if (sent - atomic_load_explicit(&queue->received, memory_order_acquire) == ENTRIES)
        return false;
    queue->packets[sent % ENTRIES] = *packet;
    atomic_store_explicit(&queue->sent, sent + 1, memory_order_release);
    return true;
}

static bool has_room(void) {
    if (parked_for == ranks || put(&parked, parked_for)) {
        parked_for = ranks;
        return true;
    }
    let_others_go_on();
    return false;
}

static void send(uint64_t header, const void *payload, size_t bytes) {
    /* On its way the peer is the source. */
    parked.header = (header & ~UINT64_C(0xffff)) | own;
    parked_for = (unsigned)header_peer(header);
    if (bytes > 0)
        memcpy(parked.payload, payload, bytes);
    has_room();
}

static struct ranks_queue *first_queue(void) {
    for (unsigned turn = 0; turn < ranks; turn++) {
        struct ranks_queue *queue = &queues[own * ranks + (next + turn) % ranks];
        unsigned received = atomic_load_explicit(&queue->received, memory_order_relaxed);
        if (atomic_load_explicit(&queue->sent, memory_order_acquire) != received) {
            next = (next + turn) % ranks;
            return queue;
        }
    }
    return NULL;
}

static uint64_t arrived(void) {
    has_room();
    struct ranks_queue *queue = first_queue();
    if (queue)
        return queue->packets[queue->received % ENTRIES].header;
    let_others_go_on();
    return 0;
}

static void receive(void *payload, size_t bytes) {
    struct ranks_queue *queue = &queues[own * ranks + next];
    memcpy(payload, queue->packets[queue->received % ENTRIES].payload, bytes);
    atomic_fetch_add_explicit(&queue->received, 1, memory_order_release);
    next = (next + 1) % ranks;
}

static void send_parked(void) {
    while (!has_room())
        ;
}

void start_driver_of_ranks(struct narthex_information *machine) {
    void *shared;
    ranks = parked_for = (unsigned)native_ranks();
    if (ranks == 1)
        return;
    own = (unsigned)start_native_ranks((int)ranks, sizeof *queues * ranks * ranks, &shared);
    queues = shared;
    machine->nodes = ranks;
    machine->node = own;
    machine->send_driver = machine->receive_driver = DRIVER_RANKS;
    atexit(send_parked);
}

static void start(const struct narthex_information *machine) {
    (void)machine;
}

const struct send_driver send_ranks[HEADER_VARIANTS] = {{start, has_room, send}};
const struct receive_driver receive_ranks[HEADER_VARIANTS] = {{start, arrived, receive, NULL}};
#endif
