/* One way of a message over the interface's driver alone, without the messaging library.
 *
 *     register-messages [BYTES [MESSAGES [AS_ONE]]]
 *         by default messages of 1,024 bytes, 200 of them; AS_ONE 1: each is pushed and popped as
 *         one (the interface's section has a `message`), 0: in packets
 *
 * See README.md for what is measured. */
#include <string.h>

#include "../arguments.h"
#include "../measure.h"
#include "messaging/contexts.h"
#include "messaging/driver.h"
#include "messaging/narthex.h"

enum { MOST_BYTES = 65536 };

static struct send_driver sender;
static struct receive_driver receiver;
static size_t part_bytes;
static _Alignas(8) char sent[MOST_BYTES], received[MOST_BYTES];

static void send_packet(uint64_t header, const char *payload, size_t bytes) {
    while (!sender.has_room())
        ;
    sender.send(header | (uint64_t)bytes << HEADER_BYTES_SHIFT, payload, bytes);
}

static void send_in_packets(const char *payload, size_t bytes) {
    uint64_t header = (uint64_t)(1 - narthex_node());
    for (; bytes > part_bytes; bytes -= part_bytes) {
        send_packet(header, payload, part_bytes);
        payload += part_bytes;
        header += header_behind(part_bytes);
    }
    send_packet(header | HEADER_LAST, payload, bytes);
}

static size_t receive_packets(char *payload) {
    uint64_t header;
    do {
        while ((header = receiver.arrived()) == 0)
            ;
        receiver.receive(payload + header_place(header), header_bytes(header));
    } while (!header_is_last(header));
    return header_place(header) + header_bytes(header);
}

static void send(const char *payload, size_t bytes, bool as_one) {
    if (as_one)
        narthex_context_send(1 - narthex_node(), 0, payload, bytes);
    else
        send_in_packets(payload, bytes);
}

static void receive(char *payload, size_t bytes, bool as_one) {
    size_t come =
        as_one ? narthex_context_bytes(narthex_context_next(payload)) : receive_packets(payload);
    narthex_check(come == bytes, "node %d receives %zu bytes instead of %zu", narthex_node(), come,
                  bytes);
}

int main(int count, char **values) {
    size_t bytes = (size_t)argument(count, values, 1, "bytes", 8, MOST_BYTES, 1024);
    long messages = argument(count, values, 2, "messages", 1, 100000000, 200);
    bool as_one = argument(count, values, 3, "as-one", 0, 1, 0);
    const struct narthex_information *machine = narthex_information();
    narthex_check(bytes % 8 == 0 && narthex_nodes() == 2,
                  "%s: %zu bytes between %d nodes; allowed are multiples of 8 between 2", values[0],
                  bytes, narthex_nodes());
    narthex_check(!as_one || bytes <= narthex_context_limit(),
                  "%s: %zu bytes as one; the interface takes %zu (message of its section in the "
                  "machine's file)",
                  values[0], bytes, narthex_context_limit());
    sender = pick_send_driver(machine->send_driver, machine->header_bytes > 8);
    receiver = pick_receive_driver(machine->receive_driver, machine->header_bytes > 8);
    part_bytes = machine->payload_bytes;
    for (size_t byte = 0; byte < bytes; byte++)
        sent[byte] = (char)(byte * 7 + byte / 256);
    narthex_contexts_begin(0);
    narthex_barrier();
    uint64_t begin_ns = narthex_time_ns();
    narthex_region_begin(MEASURED_REGION);
    for (long message = 0; message < messages; message++) {
        if (narthex_node() == 0)
            send(sent, bytes, as_one);
        receive(received, bytes, as_one);
        if (narthex_node() == 1)
            send(received, bytes, as_one);
    }
    narthex_region_end(MEASURED_REGION);
    narthex_contexts_end();
    narthex_check(memcmp(sent, received, bytes) == 0, "node %d: the message is not what was sent",
                  narthex_node());
    if (narthex_node() == 0)
        narthex_report("one way", (double)(narthex_time_ns() - begin_ns) / 2 / (double)messages,
                       "ns");
    return 0;
}
