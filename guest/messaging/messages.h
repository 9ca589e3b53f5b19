/* What the library's own parts use beyond the public calls: messages to handler numbers that
 * applications cannot take, NARTHEX_HANDLERS .. 255. */
#ifndef NARTHEX_MESSAGING_MESSAGES_H
#define NARTHEX_MESSAGING_MESSAGES_H

#include "messaging/narthex.h"

#define HANDLER_BARRIER NARTHEX_HANDLERS

/* As narthex_register_handler and narthex_send, for any number up to 255 and without checks. */
void set_handler(int number, narthex_handler *function);
void send_message(int destination, int handler, const void *payload, size_t bytes);

/* Prepares the barrier, before main. */
void barrier_start(void);

#endif
