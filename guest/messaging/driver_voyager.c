/* Driver of messages over StarT-Voyager's basic messages (guest/voyager/voyager.h): a transmit and
 * a receive queue of the kind that the interface's name says.
 *
 *     slot:  | header | payload: 4 bytes of the library's header | its payload, at most 84 bytes |
 *
 * The lower half of the library's header is laid out as a slot's header is (messaging/packet.h), so
 * a slot begins with the library's header as it stands. */
#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "voyager/slots.h"

static struct voyager_queue transmit, receive_queue;
static unsigned queues; /* of a process: destinations are its multiples */

static void check_open(int error, const char *which) {
    narthex_check(error == 0, "node %d cannot open a %s queue of /dev/voyager: error %d",
                  narthex_node(), which, error);
}

static void start_sending(const struct narthex_information *machine) {
    queues = (unsigned)machine->voyager_queues;
    check_open(voyager_open_transmit(&transmit, 0, (unsigned)machine->voyager_kind,
                                     (unsigned)machine->voyager_slots),
               "transmit");
}

static void start_receiving(const struct narthex_information *machine) {
    check_open(voyager_open_receive(&receive_queue, 0, (unsigned)machine->voyager_kind,
                                    (unsigned)machine->voyager_slots),
               "receive");
}

static bool has_room(void) {
    return voyager_finds_room(&transmit);
}

SENDING_CODE static void send(uint64_t header, const void *payload, size_t bytes) {
    char *slot = voyager_slot(&transmit);
    uint64_t peer = header & 0xffff;
    *(volatile uint64_t *)slot = header_out(header - peer + peer * queues, HEADER_EXTRA_BYTES);
    copy(slot + sizeof header, payload, bytes);
    voyager_launch(&transmit, slot, sizeof header + bytes);
}

static uint64_t arrived(void) {
    if (!voyager_finds_message(&receive_queue))
        return 0;
    return header_in(*(volatile uint64_t *)voyager_slot(&receive_queue), HEADER_EXTRA_BYTES);
}

static void receive(void *payload, size_t bytes) {
    const char *slot = voyager_slot(&receive_queue);
    copy(payload, slot + sizeof(uint64_t), bytes);
    voyager_release(&receive_queue, slot, sizeof(uint64_t) + bytes);
}

const struct send_driver send_voyager[HEADER_VARIANTS] = {
    [LARGE_HEADER] = {start_sending, has_room, send}};
const struct receive_driver receive_voyager[HEADER_VARIANTS] = {
    [LARGE_HEADER] = {start_receiving, arrived, receive, NULL}};
