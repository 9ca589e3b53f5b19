/* The handlers of this node, and their names. */
#ifndef NARTHEX_MESSAGING_HANDLERS_H
#define NARTHEX_MESSAGING_HANDLERS_H

#include <stdint.h>

#include "messaging/narthex.h"

enum { HANDLER_NUMBERS = 256 };

/* The functions, by their numbers; NULL where none is registered. */
extern narthex_handler *handlers[HANDLER_NUMBERS];

/* The header of the message whose handler runs, 0 while none does (messaging/messages.c). */
uint64_t running_message(void);

/* The name of the function that is registered for a number; NULL if none is. */
const char *handler_name(int number);

/* End the run: nobody is registered for this header's message; a handler calls `function`. */
_Noreturn void fail_unregistered(uint64_t header);
_Noreturn void fail_in_handler(const char *function);

#endif
