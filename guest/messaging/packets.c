/* Taking packets to their places: poll_packet in steps. */
#include "messaging/packets.h"

#include "messaging/long_messages.h"
#include "messaging/messages.h"

uint64_t next_packet(void) {
    uint64_t header = packets_saved ? packets_saved->header : packets_receiver.arrived();
    if (header == 0 && long_has_work())
        poll_packet();
    return header;
}

void take_packet(void *payload, size_t bytes) {
    if (packets_saved)
        packets_receive_saved(payload, bytes);
    else
        packets_receiver.receive(payload, bytes);
}

void handle_packet(uint64_t header) {
    packets_receive(header, 1);
    if (long_has_work())
        poll_packet();
}
