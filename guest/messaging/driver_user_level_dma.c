/* Driver for FIFOs with user-level DMA, such as NI64w+Udma, modelled on Princeton's SHRIMP
 * (ni-design-hpca98 Sections 2.2.1 and 4).
 *
 * The header goes through the FIFO's registers, and so does a payload of up to `dma_above` bytes. A
 * larger one the interface moves itself, between the FIFO and the user's own memory: an uncached
 * store names the address, an uncached load of the same register starts the transfer, and more
 * loads tell when it is complete, which the library waits for. The length is in the header, so each
 * packet takes one transfer. The interface takes part in coherence: nothing has to be flushed. */
#include "messaging/fifo.h"

static size_t dma_above;

static void start(const struct narthex_information *machine) {
    fifo_start(machine);
    dma_above = machine->dma_above;
}

/* Moves a packet's payload from or to `memory`, which the interface reads or writes. */
static void transfer(uintptr_t engine, uintptr_t memory) {
    volatile uint64_t *control = (volatile uint64_t *)(registers + engine);
    COMPILER_BARRIER();
    *control = memory;
    while (*control & DMA_BUSY)
        ;
    COMPILER_BARRIER();
}

static bool has_room(void) {
    return load(REGISTER_STATUS) & STATUS_ROOM;
}

SENDING_CODE static void send(uint64_t header, const void *payload, size_t bytes) {
    if (bytes <= dma_above) {
        fifo_send(header, payload, bytes, 0);
        return;
    }
    *(volatile uint64_t *)(registers + REGISTER_SEND) = header;
    transfer(REGISTER_SEND_DMA, (uintptr_t)payload);
}

static uint64_t arrived(void) {
    return fifo_arrived(0);
}

static void receive(void *payload, size_t bytes) {
    if (bytes <= dma_above)
        fifo_receive(payload, bytes, 0);
    else
        transfer(REGISTER_RECEIVE_DMA, (uintptr_t)payload);
}

/* Without a variant for the larger header, whose extra bytes are no part of the user's memory: the
 * simulator refuses it. */
const struct send_driver send_user_level_dma[HEADER_VARIANTS] = {{start, has_room, send}};
const struct receive_driver receive_user_level_dma[HEADER_VARIANTS] = {
    {start, arrived, receive, NULL}};
