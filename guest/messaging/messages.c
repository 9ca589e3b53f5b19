/* Active messages over any driver.
 *
 * Sending. A message becomes one packet or more, all but the last full. Before each packet the
 * driver is asked for room. A sender without room waits, and while it waits it must keep the
 * network moving: "if a processor blocks on a message send, it reads messages from the NI and
 * buffers them in user space (except for CNI16Qm in which messages automatically overflow to main
 * memory)" (cni-isca96 Section 4.1). Handlers do not run then, so a send never calls into the
 * application and is safe anywhere, handlers included.
 *
 * Receiving. A poll takes first the packets buffered so, in their order, then the interface's. A
 * message of one packet is copied to a buffer and handled; the packets of a longer one are copied
 * to their places in one, in whatever order they arrive (messaging/partial_messages.h).
 *
 * Long messages do not become packets where the interface moves blocks of memory
 * (messaging/long_messages.h).
 *
 * Every step tells the time ledger what it does, so that send overhead, waiting, polling,
 * receive overhead and buffering are told apart (runtime/marker.h). */
#include <stdlib.h>

#include "messaging/buffers.h"
#include "messaging/copy.h"
#include "messaging/driver.h"
#include "messaging/handlers.h"
#include "messaging/long_messages.h"
#include "messaging/messages.h"
#include "messaging/narthex.h"
#include "messaging/packets.h"
#include "messaging/partial_messages.h"
#include "runtime/information.h"
#include "runtime/marker.h"

enum { POLL_LIMIT_PACKETS = 32 };

static const struct narthex_information *machine;
static struct send_driver sender; /* copies: one load less on every use */
static struct receive_driver receiver;
static int node, nodes;        /* ranks: every process counts */
static size_t payload_bytes;   /* of a full packet */
static uint8_t next_number;    /* of a message of several packets */
static uint64_t running;       /* header of the message whose handler runs, or 0 */
static struct buffer *current; /* holds the payload of the running handler; NULL once kept */
static struct saved_packet *saved, **saved_end = &saved, *unused_saved;

/* Starting */

/* Runs before main, so that the calls need not ask whether the library has started. */
__attribute__((constructor)) static void start(void) {
    machine = narthex_information();
    node = (int)(machine->node * machine->processes + machine->process);
    nodes = (int)(machine->nodes * machine->processes);
    payload_bytes = machine->payload_bytes;
    narthex_check(payload_bytes > 0 && payload_bytes <= PACKET_PAYLOAD_LIMIT &&
                      payload_bytes % sizeof(word) == 0,
                  "node %d: packets carry %zu bytes; the library needs a multiple of 4 up to %d",
                  node, payload_bytes, PACKET_PAYLOAD_LIMIT);
    size_t extra = machine->header_bytes - sizeof(uint64_t);
    narthex_check(extra == 0 || extra == HEADER_EXTRA_BYTES,
                  "node %d: packets have headers of %llu bytes; the library knows 8 and %d", node,
                  (unsigned long long)machine->header_bytes,
                  (int)sizeof(uint64_t) + HEADER_EXTRA_BYTES);
    int variant = extra == 0 ? SMALL_HEADER : LARGE_HEADER;
    sender = pick_send_driver(machine->send_driver, variant);
    receiver = pick_receive_driver(machine->receive_driver, variant);
    sender.start(machine);
    receiver.start(machine);
    if (HAS_LONG_MESSAGES)
        long_start(&sender, &receiver);
    barrier_start();
    collectives_start();
}

int narthex_node(void) {
    return node;
}

int narthex_nodes(void) {
    return nodes;
}

int narthex_processes(void) {
    return (int)machine->processes;
}

uint64_t narthex_seed(void) {
    return machine->seed;
}

size_t narthex_payload_limit(void) {
    return payload_bytes * PACKETS_PER_MESSAGE_LIMIT;
}

/* Waiting for room */

static struct saved_packet *new_saved_packet(void) {
    struct saved_packet *packet = unused_saved;
    if (packet)
        unused_saved = packet->next;
    else
        packet = malloc(sizeof *packet);
    narthex_check(packet, "node %d has no memory left to buffer arriving packets", node);
    return packet;
}

static void save_packet(uint64_t header) {
    struct saved_packet *packet = new_saved_packet();
    packet->next = NULL;
    packet->header = header;
    receiver.receive(packet->payload, header_bytes(header));
    *saved_end = packet;
    saved_end = &packet->next;
}

/* Packets of channels need not be saved: their place is known. */
static void save_arrivals(void) {
    uint64_t header;
    ENTER(ACTIVITY_BUFFERING);
    while ((header = receiver.arrived()) != 0)
        if (header & HEADER_CHANNEL)
            receiver.receive(channel_place(header), header_bytes(header));
        else if (!is_of_long_message(header))
            save_packet(header);
        else
            long_take(header);
    LEAVE();
}

/* An interface that overflows to memory takes arrivals in by itself, but into a queue that ends
 * somewhere. Nodes may wait in a ring for room in each other's full queues, so this one makes room
 * in its own; and as an interface whose queue was full takes nothing in before half of it is read
 * (interfaces/src/cachable_queue/unread.rs), it does so from half a queue on. */
static OUT_OF_LINE void wait_for_room(void) {
    ENTER(ACTIVITY_WAIT_TO_SEND);
    do {
        if (!machine->overflows_to_memory || receiver.is_half_full())
            save_arrivals();
    } while (!sender.has_room());
    LEAVE();
}

/* Sending */

static inline void send_packet(uint64_t header, const void *payload, size_t bytes) {
    if (!sender.has_room())
        wait_for_room();
    sender.send(header | (uint64_t)bytes << HEADER_BYTES_SHIFT, payload, bytes);
}

static OUT_OF_LINE void send_in_packets(uint64_t header, const char *payload, size_t bytes) {
    const size_t part = payload_bytes;
    const uint64_t step = header_behind(part);
    for (; bytes > part; bytes -= part) {
        send_packet(header, payload, part);
        payload += part;
        header += step;
    }
    send_packet(header | HEADER_LAST, payload, bytes);
}

#ifdef LONG_MESSAGES
void send_alone(uint64_t header, const void *payload, size_t bytes) {
    send_packet(header, payload, bytes);
}

void take_arrivals(void) {
    save_arrivals();
}
#endif

/* Numbers the message, so that the receiver knows which packets belong together. */
static inline uint64_t numbered(uint64_t header) {
    return header | (uint64_t)next_number++ << HEADER_NUMBER_SHIFT;
}

static OUT_OF_LINE void check_arguments(int destination, int handler, const void *payload,
                                        size_t bytes) {
    narthex_check(destination >= 0 && destination < nodes,
                  "node %d calls narthex_send for node %d: nodes are 0 to %d", node, destination,
                  nodes - 1);
    narthex_check(handler >= 0 && handler < NARTHEX_HANDLERS,
                  "node %d calls narthex_send for handler %d: numbers are 0 to %d", node, handler,
                  NARTHEX_HANDLERS - 1);
    narthex_check(bytes <= narthex_payload_limit(),
                  "node %d calls narthex_send for %zu bytes: the limit of a message is %zu", node,
                  bytes, narthex_payload_limit());
    narthex_check(payload || bytes == 0,
                  "node %d calls narthex_send for %zu bytes from nowhere (NULL)", node, bytes);
}

static inline uint64_t first_header(int destination, int handler) {
    return (uint64_t)destination | header_of(handler, 0);
}

void send_message(int destination, int handler, const void *payload, size_t bytes) {
    uint64_t header = first_header(destination, handler);
    ENTER(ACTIVITY_SEND);
    if (bytes <= payload_bytes)
        send_packet(header | HEADER_LAST, payload, bytes);
    else if (!sends_long(header, payload, bytes))
        send_in_packets(numbered(header), payload, bytes);
    LEAVE();
}

void send_packets(int destination, uint64_t header, const void *payload, size_t bytes) {
    ENTER(ACTIVITY_SEND);
    header |= (uint64_t)destination;
    if (!sends_long(header, payload, bytes))
        send_in_packets(header, payload, bytes);
    LEAVE();
}

void send_after(int destination, int handler, const void *preamble, size_t preamble_bytes,
                const void *payload, size_t bytes) {
    if (HAS_LONG_MESSAGES && sends_long_after(first_header(destination, handler), preamble,
                                              preamble_bytes, payload, bytes))
        return;
    _Alignas(uint64_t) char first[PACKET_PAYLOAD_LIMIT];
    size_t room = payload_bytes - preamble_bytes;
    size_t part = bytes < room ? bytes : room;
    ENTER(ACTIVITY_SEND);
    copy(first, preamble, preamble_bytes);
    copy(first + preamble_bytes, payload, part);
    uint64_t header = first_header(destination, handler);
    if (part == bytes) {
        send_packet(header | HEADER_LAST, first, preamble_bytes + part);
    } else {
        header = numbered(header);
        send_packet(header, first, payload_bytes);
        send_in_packets(header + header_behind(payload_bytes), (const char *)payload + part,
                        bytes - part);
    }
    LEAVE();
}

void narthex_send(int destination, int handler, const void *payload, size_t bytes) {
    if ((unsigned)destination >= (unsigned)nodes || (unsigned)handler >= NARTHEX_HANDLERS ||
        bytes > payload_bytes || !payload)
        check_arguments(destination, handler, payload, bytes);
    send_message(destination, handler, payload, bytes);
}

#ifdef __riscv
/* The linker's names for the ends of the section (SENDING_CODE). */
extern const char __start_narthex_sending[], __stop_narthex_sending[];

bool is_sending(uintptr_t instruction) {
    return instruction >= (uintptr_t)__start_narthex_sending &&
           instruction < (uintptr_t)__stop_narthex_sending;
}
#else
bool is_sending(uintptr_t instruction) {
    (void)instruction; /* natively no access faults */
    return false;
}
#endif

/* Receiving */

/* Runs the handler on the message in `buffer`; the buffer is spare again unless it is kept. */
static void handle(uint64_t header, struct buffer *buffer, size_t bytes) {
    narthex_handler *handler = handlers[header_handler(header)];
    if (!handler)
        fail_unregistered(header);
    current = buffer;
    running = header;
    ENTER(ACTIVITY_APPLICATION);
    handler(header_peer(header), buffer_data(buffer), bytes);
    LEAVE();
    running = 0;
    if (current)
        buffer_give(current);
}

/* Takes a packet of a channel in; its place is known. */
static OUT_OF_LINE int receive_for_channel(uint64_t header) {
    receiver.receive(channel_place(header), header_bytes(header));
    return 0;
}

/* Takes the oldest saved packet's payload. */
static OUT_OF_LINE void receive_saved(void *payload, size_t bytes) {
    struct saved_packet *packet = saved;
    copy(payload, packet->payload, bytes);
    saved = packet->next;
    if (!saved)
        saved_end = &saved;
    packet->next = unused_saved;
    unused_saved = packet;
}

/* Takes the payload of the packet whose header was next. */
static inline void receive_payload(void *payload, size_t bytes) {
    if (saved)
        receive_saved(payload, bytes);
    else
        receiver.receive(payload, bytes);
}

/* Takes in the packet with this header; returns 1 when it completed a message, which is then
 * handled. */
static inline int receive_packet(uint64_t header) {
    size_t bytes = header_bytes(header);
    struct buffer *buffer;
    if (header_is_alone(header)) {
        buffer = take_buffer(bytes);
        receive_payload(buffer_data(buffer), bytes);
    } else if (header & HEADER_CHANNEL) {
        return receive_for_channel(header);
    } else if (is_of_long_message(header)) {
        long_take(header);
        return 0;
    } else {
        struct deposit deposit = partial_deposit(header);
        receive_payload(deposit.place, bytes);
        if (!deposit.completed)
            return 0;
        buffer = deposit.completed->buffer;
        bytes = deposit.completed->arrangement.bytes;
    }
    handle(header, buffer, bytes);
    return 1;
}

/* The header of the next packet, 0 if there is none. Saved ones come first: they arrived earlier.
 */
static inline uint64_t next_header(void) {
    return saved ? saved->header : receiver.arrived();
}

/* Receives the packet with this header, and those behind it, `limit` at most; returns the messages
 * handled. Not inlined, so that a poll that finds nothing saves no registers for it. */
static OUT_OF_LINE int receive_arrivals(uint64_t header, int limit) {
    int messages = 0;
    do {
        ENTER(ACTIVITY_RECEIVE);
        messages += receive_packet(header);
        LEAVE();
    } while (--limit > 0 && (header = next_header()) != 0);
    return messages;
}

/* Handles the oldest long message that has come whole, if there is one. */
static int handle_long(void) {
    long_answer();
    struct long_message *message = long_next();
    if (!message)
        return 0;
    ENTER(ACTIVITY_RECEIVE);
    uint64_t header = message->header;
    struct buffer *buffer = message->buffer;
    size_t bytes = message->request.preamble_bytes + message->request.bytes;
    long_release(message);
    handle(header, buffer, bytes);
    LEAVE();
    return 1;
}

int narthex_poll(void) {
    if (running != 0)
        fail_in_handler("narthex_poll");
    int messages = 0;
    ENTER(ACTIVITY_POLL);
    uint64_t header = next_header();
    if (header != 0)
        messages = receive_arrivals(header, POLL_LIMIT_PACKETS);
    if (long_has_work())
        messages += handle_long();
    LEAVE();
    return messages;
}

void poll_packet(void) {
    uint64_t header = next_header();
    if (header != 0)
        receive_arrivals(header, 1);
    if (long_has_work())
        handle_long();
}

void repeat_message(int source, int handler, const void *payload, size_t bytes) {
    struct saved_packet *packet = new_saved_packet();
    packet->header = (uint64_t)source | (uint64_t)bytes << HEADER_BYTES_SHIFT |
                     header_of(handler, 0) | HEADER_LAST;
    copy(packet->payload, payload, bytes);
    packet->next = saved;
    if (!saved)
        saved_end = &packet->next;
    saved = packet;
}

uint64_t running_message(void) {
    return running;
}

void narthex_keep(const void *payload) {
    narthex_check(running != 0 && current && payload == buffer_data(current),
                  "node %d calls narthex_keep for %p, which is not the payload of the running "
                  "handler: a handler keeps its own payload, once",
                  node, payload);
    current = NULL;
}

void narthex_release(const void *payload) {
    narthex_check(payload, "node %d calls narthex_release for nothing (NULL)", node);
    buffer_give((struct buffer *)(uintptr_t)payload - 1);
}

/* packets.h */
extern struct receive_driver packets_receiver __attribute__((alias("receiver")));
extern struct saved_packet *packets_saved __attribute__((alias("saved")));
extern __typeof(receive_arrivals) packets_receive __attribute__((alias("receive_arrivals")));
extern __typeof(receive_saved) packets_receive_saved __attribute__((alias("receive_saved")));
