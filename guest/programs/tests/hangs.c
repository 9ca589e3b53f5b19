/* Programs that hang, one per argument: what the simulator must explain.
 *
 *     hangs senders | deaf | reply | barrier | channels | unreleased
 *
 *     senders   the first two nodes send to each other past the messaging library, which would
 *               take arrivals in meanwhile: each waits for the other to take something
 *     deaf      node 0 sends for ever to the last node, which computes and never polls
 *     reply     node 0 sends a question and waits for the answer, and node 1 waits for another
 * question barrier   the last node leaves without entering the barrier in which the others wait
 *     channels  each node waits for a transfer from the next one before it sends its own
 *     unreleased
 *               node 0 sends node 1 a third transfer, and node 1 releases none */
#include <string.h>

#include "messaging/channels.h"
#include "messaging/driver.h"
#include "messaging/narthex.h"

enum { QUESTION = 1, ANSWER };

static int questions, answers;

static void on_question(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    questions += 1;
}

static void on_answer(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    answers += 1;
}

static const char payload[240];

/* Sends packets through the bare driver, for ever. */
static void send_without_receiving(int destination) {
    const struct narthex_information *machine = narthex_information();
    int variant = machine->header_bytes > 8 ? LARGE_HEADER : SMALL_HEADER;
    struct send_driver sender = pick_send_driver(machine->send_driver, variant);
    for (;;) {
        while (!sender.has_room())
            ;
        sender.send((uint64_t)destination | HEADER_LAST | 64 << HEADER_BYTES_SHIFT, payload, 64);
    }
}

static void senders(void) {
    if (narthex_node() < 2)
        send_without_receiving(1 - narthex_node());
}

static void deaf(void) {
    int last = narthex_nodes() - 1;
    while (narthex_node() == 0)
        narthex_send(last, QUESTION, payload, sizeof payload);
    while (narthex_node() == last)
        ;
}

static void reply(void) {
    if (narthex_node() == 0) {
        narthex_send(1, QUESTION, NULL, 0);
        while (answers == 0)
            narthex_poll();
    }
    if (narthex_node() == 1) {
        while (questions < 2)
            narthex_poll();
        narthex_send(0, ANSWER, NULL, 0);
    }
}

static void barrier(void) {
    if (narthex_node() < narthex_nodes() - 1)
        narthex_barrier();
}

static void channels(void) {
    int node = narthex_node(), nodes = narthex_nodes();
    struct narthex_channel *out = narthex_channel_to((node + nodes - 1) % nodes, 1, 64);
    struct narthex_channel *in = narthex_channel_from((node + 1) % nodes, 1, 64);
    narthex_barrier();
    narthex_channel_receive(in, NULL);
    narthex_channel_send(out, payload, 64);
}

static void unreleased(void) {
    struct narthex_channel *ends[2];
    for (int number = 0; number < 2; number++)
        ends[number] = narthex_node() == 0 ? narthex_channel_to(1, number, 64)
                                           : narthex_channel_from(0, number, 64);
    narthex_barrier();
    for (int count = 0; narthex_node() == 0 && count < 3; count++)
        narthex_channel_send(ends[1], payload, 64);
    if (narthex_node() == 1)
        narthex_channel_receive(ends[1], NULL);
    narthex_barrier();
}

static const struct {
    const char *name;
    void (*run)(void);
} hangs[] = {
    {"senders", senders}, {"deaf", deaf},         {"reply", reply},
    {"barrier", barrier}, {"channels", channels}, {"unreleased", unreleased},
};

int main(int count, char **values) {
    narthex_register_handler(QUESTION, on_question);
    narthex_register_handler(ANSWER, on_answer);
    for (size_t index = 0; count > 1 && index < sizeof hangs / sizeof hangs[0]; index++)
        if (strcmp(values[1], hangs[index].name) == 0) {
            hangs[index].run();
            return 0;
        }
    narthex_fail("hangs: name one of senders, deaf, reply, barrier, channels, unreleased");
}
