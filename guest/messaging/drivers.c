/* The drivers this program has, by the numbers of the information page. */
#include "messaging/driver.h"
#include "messaging/narthex.h"

static _Noreturn void fail(const char *half, uint64_t number) {
    narthex_fail("node %d: to %s over this network interface takes driver %llu, which this program "
                 "does not have: compile it again",
                 narthex_node(), half, (unsigned long long)number);
}

struct send_driver pick_send_driver(uint64_t number, int variant) {
    switch (number) {
    case DRIVER_LOOPBACK:
        return send_loopback[variant];
    case DRIVER_FIFO:
        return send_fifo[variant];
    case DRIVER_CACHABLE_QUEUE:
        return send_cachable_queue[variant];
    case DRIVER_CACHABLE_REGISTER:
        return send_cachable_register[variant];
    case DRIVER_BLOCK_BUFFER:
        return send_block_buffer[variant];
    case DRIVER_USER_LEVEL_DMA:
        return send_user_level_dma[variant];
    default:
        fail("send", number);
    }
}

struct receive_driver pick_receive_driver(uint64_t number, int variant) {
    switch (number) {
    case DRIVER_LOOPBACK:
        return receive_loopback[variant];
    case DRIVER_FIFO:
        return receive_fifo[variant];
    case DRIVER_CACHABLE_QUEUE:
        return receive_cachable_queue[variant];
    case DRIVER_CACHABLE_REGISTER:
        return receive_cachable_register[variant];
    case DRIVER_BLOCK_BUFFER:
        return receive_block_buffer[variant];
    case DRIVER_USER_LEVEL_DMA:
        return receive_user_level_dma[variant];
    default:
        fail("receive", number);
    }
}
