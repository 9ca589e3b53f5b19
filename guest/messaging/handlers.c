/* Registration of handlers, and what is said about them.
 *
 * A handler is known by its number and by its function's name, which the macro
 * narthex_register_handler takes from the program's text, so that errors need no debugger. */
#include "messaging/handlers.h"

#include <stdio.h>

#include "messaging/handler_tables.h"
#include "messaging/messages.h"
#include "messaging/packet.h"

narthex_handler *handlers[HANDLER_NUMBERS];

static const char *names[HANDLER_NUMBERS]; /* of the functions */

void set_handler(int number, narthex_handler *function, const char *name) {
    handlers[number] = function;
    names[number] = name;
}

const char *handler_name(int number) {
    return handlers[number] ? names[number] : NULL;
}

void narthex_register_named_handler(int number, narthex_handler *function, const char *name) {
    static const char call[] = "calls narthex_register_handler";
    int node = narthex_node();
    narthex_check(number >= 0 && number < NARTHEX_HANDLERS,
                  "node %d %s for number %d: numbers are 0 to %d", node, call, number,
                  NARTHEX_HANDLERS - 1);
    narthex_check(function && name, "node %d %s for number %d without a function or name (NULL)",
                  node, call, number);
    narthex_check(!handlers[number],
                  "node %d registers handler %d twice, as %.60s and as %.60s (narthex_register_"
                  "handler): a number has one function",
                  node, number, handler_name(number), name);
    narthex_check(
        !table_is_closed(),
        "node %d %s for number %d (%.60s) after its first barrier: register all handlers "
        "before it (and before narthex_shared_start), because the nodes compare theirs there",
        node, call, number, name);
    set_handler(number, function, name);
}

void(narthex_register_handler)(int number, narthex_handler *function) {
    narthex_register_named_handler(number, function, "a function without a name");
}

/* The program's handler whose number is the nearest to `number`; -1 if it has none. */
static int nearest(int number) {
    for (int distance = 1; distance < NARTHEX_HANDLERS; distance++) {
        int below = number - distance, above = number + distance;
        if (below >= 0 && handlers[below])
            return below;
        if (above < NARTHEX_HANDLERS && handlers[above])
            return above;
    }
    return -1;
}

void fail_unregistered(uint64_t header) {
    char hint[100] = "it has registered none";
    int number = header_handler(header), other = nearest(number);
    if (other >= 0)
        snprintf(hint, sizeof hint, "the nearest it has is %d, %.60s", other, handler_name(other));
    narthex_fail("node %d received in narthex_poll a message from node %d for handler %d, which it "
                 "has not registered; %s",
                 narthex_node(), header_peer(header), number, hint);
}

bool is_in_handler(void) {
    return running_message() != 0;
}

void fail_in_handler(const char *function) {
    narthex_fail("node %d calls %s inside a handler; return from the handler instead",
                 narthex_node(), function);
}

void check_outside_handler(const char *function) {
    if (is_in_handler())
        fail_in_handler(function);
}

const char *describe_running_handler(void) {
    static char text[128];
    if (!is_in_handler())
        return "";
    int number = header_handler(running_message());
    snprintf(text, sizeof text, " (in handler %d, %.60s, of a message from node %d)", number,
             handler_name(number), header_peer(running_message()));
    return text;
}
