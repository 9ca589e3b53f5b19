/* Driver for FIFOs behind block buffers, such as NI16w+Blkbuf, modelled on the Fujitsu AP3000
 * (ni-design-hpca98 Section 4).
 *
 *   send buffer    [ header | payload ... ] [ payload ... ]   one flush for each block
 *   receive buffer [ header | payload ... ] [ payload ... ]   one load for each block
 *
 * The processor has a block buffer for each direction, which it reads and writes as fast as its
 * cache. A store to the flush word moves the send buffer to the end of the interface's FIFO, a
 * store to the load word fetches the block at its head; either stops the processor until the block
 * has crossed the bus. Whether there is room, or an arrival, the status register tells, by an
 * uncached load as with plain FIFOs. */
#include "messaging/driver.h"

static volatile uint64_t *status;
static uint64_t fifo; /* the FIFOs' block: their ends that face the processor */
static char *buffers;
static size_t block_bytes;

static void start(const struct narthex_information *machine) {
    status = (volatile uint64_t *)(uintptr_t)(machine->register_page + REGISTER_STATUS);
    fifo = machine->register_page + REGISTER_BLOCK;
    buffers = (char *)(uintptr_t)machine->block_buffers;
    block_bytes = machine->block_bytes;
}

static inline void move_block(uintptr_t how) {
    *(volatile uint64_t *)(buffers + how) = fifo;
}

static bool has_room(void) {
    return *status & STATUS_ROOM;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    const char *source = payload;
    char *target = buffers + BLOCK_BUFFER_SEND;
    *(volatile uint64_t *)target = header_out(header, extra);
    size_t part = smaller(bytes, block_bytes - sizeof header - extra);
    copy_out(target + sizeof header, source, part, extra);
    move_block(BLOCK_BUFFER_FLUSH);
    while ((bytes -= part) > 0) {
        source += part;
        part = smaller(bytes, block_bytes);
        copy(target, source, part);
        move_block(BLOCK_BUFFER_FLUSH);
    }
}

static inline uint64_t arrived(size_t extra) {
    if (!(*status & STATUS_ARRIVED))
        return 0;
    move_block(BLOCK_BUFFER_LOAD);
    return header_in(*(volatile uint64_t *)(buffers + BLOCK_BUFFER_RECEIVE), extra);
}

/* The load word changes the receive buffer behind the compiler's back: `copy` must read it after
 * the store, which the barrier makes sure of. */
static inline void load_block(void) {
    move_block(BLOCK_BUFFER_LOAD);
    COMPILER_BARRIER();
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    char *target = payload;
    const char *source = buffers + BLOCK_BUFFER_RECEIVE;
    size_t part = smaller(bytes, block_bytes - sizeof(uint64_t) - extra);
    copy_in(target, source + sizeof(uint64_t), part, extra);
    while ((bytes -= part) > 0) {
        target += part;
        part = smaller(bytes, block_bytes);
        load_block();
        copy(target, source, part);
    }
}

SEND_DRIVER(send_block_buffer, start, has_room, send);
RECEIVE_DRIVER(receive_block_buffer, start, arrived, receive, NULL);
