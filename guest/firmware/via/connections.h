/* VIs that are connected to one of another node, or of this one: the kernel agent's requests for
 * it, and the packets about it. */
#ifndef NARTHEX_FIRMWARE_VIA_CONNECTIONS_H
#define NARTHEX_FIRMWARE_VIA_CONNECTIONS_H

#include "firmware/via/packet.h"
#include "firmware/via/state.h"
#include "via/vipl.h"

/* The kernel agent's requests, each answered at once or once another node has answered. */
void connect_wait(uint64_t process, uint64_t sequence, uint64_t discriminator);
void connect_request(uint64_t sequence, struct vi *vi, uint64_t node, uint64_t discriminator);
void connect_accept(uint64_t process, uint64_t sequence, uint64_t connection, struct vi *vi);
void connect_reject(uint64_t process, uint64_t sequence, uint64_t connection);
void disconnect(uint64_t sequence, struct vi *vi);
void cancel(uint64_t process, uint64_t sequence, uint64_t cancelled);

/* Takes in a packet about a connection. */
void receive_connection(const struct header *slot);

/* Ends the connection because of an error: the remote VI's process is told `code`, what is posted
 * is flushed. Without a connection nothing happens. */
void break_connection(struct vi *vi, VIP_ERROR_CODE code);

/* Whether there is something to send that could not be while packets were taken in, and sends the
 * oldest of it. */
bool has_reply(void);
void send_reply(void);

/* What this VI held back may be sent now. */
void wake(struct vi *vi);

/* Forgets the requests that a process has not accepted. */
void forget_connections(uint64_t process);

#endif
