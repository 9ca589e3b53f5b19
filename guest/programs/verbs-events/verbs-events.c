/* verbs-latency with events, as the perftest programs with --events: whoever finds no completion
 * sleeps until its channel has an event.
 *
 *     verbs-events [send|read|atomic|bandwidth|read-bandwidth [BYTES [COUNT [WARM-UP ...]]]]
 *
 * A program of its own, because channels change what is linked. See README.md. */
#include <infiniband/verbs.h>

#include "narthex.h"

static struct ibv_comp_channel *channel;
static unsigned long events;

static struct ibv_comp_channel *open_channel(struct ibv_context *context) {
    channel = ibv_create_comp_channel(context);
    narthex_check(channel, "programs poll here: choose a machine with a PCIe link, and "
                           "--set interfaces.verbs.notify=interrupt");
    return channel;
}

static void ask_for_event(struct ibv_cq *cq) {
    narthex_check(ibv_req_notify_cq(cq, 0) == 0, "node %d: ibv_req_notify_cq fails",
                  narthex_node());
}

/* Takes an event, and asks for the next one before the caller looks again. */
static void wait_for_event(struct ibv_cq *expected) {
    struct ibv_cq *cq;
    void *of_program;
    int error = ibv_get_cq_event(channel, &cq, &of_program);
    narthex_check(error == 0 && cq == expected && !of_program,
                  "node %d: an event of another completion queue", narthex_node());
    ibv_ack_cq_events(cq, 1);
    events += 1;
    ask_for_event(cq);
}

#define COMPLETION_CHANNEL(context) open_channel(context)
#define ASK_FOR_EVENTS() ask_for_event(completions)
#define WAIT_FOR_EVENT() wait_for_event(completions)
#define REPORT_MORE() narthex_report("events", (double)events, "events")
#include "../verbs-latency/verbs-latency.c"
