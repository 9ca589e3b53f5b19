/* The processor of the interfaces' conformance suite (interfaces/tests/conformance.rs): it starts,
 * sends and receives with the drivers that it is linked with, one order after the other.
 *
 * The suite gives the orders, by a call that only the suite knows, and looks at memory itself: it
 * writes the payload of what is to be sent, and compares what has been received. */
#include "messaging/driver.h"
#include "messaging/narthex.h"

enum { CALL_NEXT_ORDER = 0x4e81 };
enum { START = 1, SEND, RECEIVE };

struct order {
    uint64_t what;
    uint64_t information_page; /* START */
    uint64_t header, bytes;    /* SEND */
};

/* Payloads do not begin at the beginning of a block. */
static _Alignas(64) struct {
    char before_sent[24];
    char sent[360];
    char before_received[24];
    char received[360];
} buffers;

/* What has become of an order: nothing, or it is done, with the header of what was received. */
struct outcome {
    uint64_t is_done, header;
};

static void next_order(struct order *order, struct outcome outcome) {
#ifdef __riscv
    register uint64_t a0 __asm__("a0") = (uintptr_t)order;
    register uint64_t a1 __asm__("a1") = outcome.is_done;
    register uint64_t a2 __asm__("a2") = outcome.header;
    register uint64_t a3 __asm__("a3") = (uintptr_t)&buffers;
    register long a7 __asm__("a7") = CALL_NEXT_ORDER;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7) : "memory");
    narthex_check((int64_t)a0 > 0, "only the conformance suite gives orders to this program");
#else
    (void)order, (void)outcome;
#endif
}

static struct send_driver sender;
static struct receive_driver receiver;

static void start(const struct narthex_information *machine) {
    sender = pick_send_driver(machine->send_driver, SMALL_HEADER);
    receiver = pick_receive_driver(machine->receive_driver, SMALL_HEADER);
    sender.start(machine);
    receiver.start(machine);
}

static struct outcome send(const struct order *order) {
    if (!sender.has_room())
        return (struct outcome){0};
    sender.send(order->header, buffers.sent, order->bytes);
    return (struct outcome){.is_done = 1};
}

static struct outcome receive(void) {
    uint64_t header = receiver.arrived();
    if (header == 0)
        return (struct outcome){0};
    receiver.receive(buffers.received, header_bytes(header));
    return (struct outcome){1, header};
}

int main(void) {
    struct order order;
    struct outcome outcome = {0};
    for (;;) {
        next_order(&order, outcome);
        if (order.what == SEND)
            outcome = send(&order);
        else if (order.what == RECEIVE)
            outcome = receive();
        else
            start((const void *)(uintptr_t)order.information_page);
    }
}
