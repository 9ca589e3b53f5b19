/* What packets.c, which few programs have, shares with messages.c; by names of its own, because a
 * compiler orders what only one file knows in another way, and all programs' data would move. */
#ifndef NARTHEX_MESSAGING_PACKETS_H
#define NARTHEX_MESSAGING_PACKETS_H

#include "messaging/driver.h"

/* A packet saved while a send was blocked. */
struct saved_packet {
    struct saved_packet *next;
    uint64_t header;
    char payload[PACKET_PAYLOAD_LIMIT];
};

extern struct receive_driver packets_receiver;
extern struct saved_packet *packets_saved;
int packets_receive(uint64_t header, int limit);
void packets_receive_saved(void *payload, size_t bytes);

#endif
