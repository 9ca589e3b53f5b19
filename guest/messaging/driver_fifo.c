/* Driver for interfaces with two FIFOs behind uncached registers, such as NI2w. */
#include "messaging/fifo.h"

static bool has_room(void) {
    return load(REGISTER_STATUS) & STATUS_ROOM;
}

SEND_DRIVER(send_fifo, fifo_start, has_room, fifo_send);
RECEIVE_DRIVER(receive_fifo, fifo_start, fifo_arrived, fifo_receive, NULL);
