/* Driver of pcie-bench's card, which carries no messages: programs for it set tests up in its
 * registers (guest/programs/pcie-bench). A message that a program sends all the same ends the run.
 */
#include "messaging/driver.h"
#include "messaging/narthex.h"

static void start(const struct narthex_information *machine) {
    (void)machine;
}

static bool has_room(void) {
    narthex_fail("node %d: pcie-bench's card carries no messages: run this program over another "
                 "interface",
                 narthex_node());
}

SENDING_CODE static void send(uint64_t header, const void *payload, size_t bytes) {
    (void)header, (void)payload, (void)bytes;
}

static uint64_t arrived(void) {
    return 0;
}

static void receive(void *payload, size_t bytes) {
    (void)payload, (void)bytes;
}

const struct send_driver send_pcie_bench[HEADER_VARIANTS] = {{start, has_room, send},
                                                             {start, has_room, send}};
const struct receive_driver receive_pcie_bench[HEADER_VARIANTS] = {{start, arrived, receive, NULL},
                                                                   {start, arrived, receive, NULL}};
