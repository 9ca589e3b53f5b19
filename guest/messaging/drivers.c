/* The drivers this program has, by the numbers of the information page. */
#include "messaging/driver.h"
#include "messaging/narthex.h"

static _Noreturn void fail(const char *half, uint64_t number) {
    narthex_fail("node %d: to %s over this network interface takes driver %llu, which this program "
                 "does not have: compile it again",
                 narthex_node(), half, (unsigned long long)number);
}

/* The number of each driver of the header leads to its table. */
#define PICK_SENDER(number, name)                                                                  \
    case number:                                                                                   \
        return send_##name[variant];
#define PICK_RECEIVER(number, name)                                                                \
    case number:                                                                                   \
        return receive_##name[variant];

/* Ranks on the host. */
#ifdef __riscv
#define HOST_DRIVER(pick)
#else
#define HOST_DRIVER(pick) pick(DRIVER_RANKS, ranks)
#endif

struct send_driver pick_send_driver(uint64_t number, int variant) {
    switch (number) {
        PICK_SENDER(DRIVER_LOOPBACK, loopback)
        HOST_DRIVER(PICK_SENDER)
        EVERY_DRIVER(PICK_SENDER)
        FURTHER_DRIVER(PICK_SENDER)
    default:
        fail("send", number);
    }
}

struct receive_driver pick_receive_driver(uint64_t number, int variant) {
    switch (number) {
        PICK_RECEIVER(DRIVER_LOOPBACK, loopback)
        HOST_DRIVER(PICK_RECEIVER)
        EVERY_DRIVER(PICK_RECEIVER)
        FURTHER_DRIVER(PICK_RECEIVER)
    default:
        fail("receive", number);
    }
}
