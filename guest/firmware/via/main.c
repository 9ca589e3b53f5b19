/* VI-MSG: the message layer of the Virtual Interface Architecture on the interface's own processor
 * ("A VIA Implementation for the EDT-based NI", Section 6).
 *
 *     doorbells.c ──► send.c ──► transfer.c, dma.c ──► network
 *          │             └─ rdma.c
 *          └────────► receive.c ◄── packets
 *                        └─ completion.c
 *     commands.c, connections.c, regions.c, postponed.c: what the kernel agent asks
 *
 * One loop serves packets, doorbells and the kernel agent, in this order: what has arrived holds
 * the network's slots. It waits with interrupts masked for one of the three. The processor has no
 * caches, so an access of its memory costs as much as an instruction or more: what each message
 * passes keeps its values in registers, and a VI's entry has what a packet's header takes.
 *
 * A request to connect for which no process waits is refused, and made again soon. Those of more
 * processes than FEW_PROCESSES can take all of the processor's time: the command that waits for one
 * of them would never have its turn, and they would not end. There commands come before refusals.
 */
#include "firmware/via/commands.h"
#include "firmware/via/connections.h"
#include "firmware/via/dma.h"
#include "firmware/via/doorbells.h"
#include "firmware/via/interface.h"
#include "firmware/via/memory.h"
#include "firmware/via/rdma.h"
#include "firmware/via/receive.h"
#include "firmware/via/regions.h"
#include "firmware/via/send.h"

enum { CALLS = VIA_DOORBELL_WAITS | VIA_COMMAND_WAITS | VIA_PACKET_RECEIVED };
enum { FEW_PROCESSES = 8 }; /* of all nodes */

/* Each order has a loop of its own, which does not look which order it has. */
#define LOOP_CODE static inline __attribute__((always_inline))

struct machine machine;

extern char firmware_stack_top[];

static void start(void) {
    uint64_t scheme = via_load(REGISTER_VIA_SCHEME), node = via_load(REGISTER_VIA_NODE);
    uint64_t block = via_load(REGISTER_VIA_BLOCK);
    machine = (struct machine){
        .node = (uint32_t)node,
        .nodes = node >> 32,
        .block_bytes = (uint32_t)block,
        .packet_bytes = block >> 32,
        .tags = via_load(REGISTER_VIA_LIMITS) >> 32,
        .places = via_load(REGISTER_VIA_PLACES),
        .is_eager = scheme == VIA_SCHEME_EDT || scheme == VIA_SCHEME_EDT_DMA_RECEIVE,
        .has_window = scheme == VIA_SCHEME_PIO || scheme == VIA_SCHEME_PIO_COMBINING,
        .postpones = via_load(REGISTER_VIA_WHEN_FULL) != 0,
        .layer_cycles = via_load(REGISTER_VIA_LAYER),
    };
    memory_start((uint64_t)firmware_stack_top, via_load(REGISTER_VIA_MEMORY));
    dma_prepare();
    regions_start();
    send_start();
    receive_start();
}

/* Does what there is to do, and returns whether there was anything. */
LOOP_CODE bool serve(uint64_t shown, bool commands_before_replies) {
    if (shown & VIA_PACKET_RECEIVED)
        receive_packet();
    else if (shown & VIA_DOORBELL_WAITS)
        answer_doorbell();
    else if (commands_before_replies && (shown & VIA_COMMAND_WAITS))
        carry_out_command();
    else if (has_reply())
        send_reply();
    else if (has_read())
        answer_read();
    else if (shown & VIA_COMMAND_WAITS)
        carry_out_command();
    else
        return false;
    return true;
}

LOOP_CODE void serve_for_ever(bool commands_before_replies) {
    for (;;)
        if (!serve(via_status(), commands_before_replies)) {
            enable_lines(CALLS);
            wait_for_interrupt();
            disable_lines(CALLS);
        }
}

int main(void) {
    start();
    if (machine.nodes * via_load(REGISTER_VIA_PROCESSES) > FEW_PROCESSES)
        serve_for_ever(true);
    serve_for_ever(false);
}
