/* Copies between host and interface memory by the DMA engine beside the device.
 *
 * The firmware waits for each copy whose end it has to know, by its interrupt: the study takes an
 * interrupt at the end of a DMA operation (Section 7.2). What it may forget, a status for example,
 * it starts without an interrupt; the next copy waits until the engine is idle. */
#ifndef NARTHEX_FIRMWARE_VIA_DMA_H
#define NARTHEX_FIRMWARE_VIA_DMA_H

#include "firmware/via/interface.h"
#include "runtime/marker.h"

enum { DMA_SOURCE = 0x00, DMA_DESTINATION = 0x08, DMA_CONTROL = 0x10, DMA_STATUS = 0x28 };
enum { DMA_BUSY_BIT = 1 };
#define DMA_FROM_INTERFACE (1ul << 32)
#define DMA_TO_INTERFACE (2ul << 32)
#define DMA_INTERRUPTS (4ul << 32)

extern uintptr_t dma_engine;
extern volatile bool dma_is_done;

/* Begins a copy; `control` is its length and flags. */
static inline void dma_begin(uint64_t source, uint64_t destination, uint64_t control) {
    uintptr_t engine = dma_engine;
    ENTER(ACTIVITY_DMA_SETUP);
    while (load_register(engine + DMA_STATUS) & DMA_BUSY_BIT)
        ;
    store_register(engine + DMA_SOURCE, source);
    store_register(engine + DMA_DESTINATION, destination);
    store_register(engine + DMA_CONTROL, control);
    LEAVE();
}

/* Waits for the interrupt of the copy that was begun. */
static inline void dma_wait(void) {
    while (!dma_is_done) {
        wait_for_interrupt();
        ENTER(ACTIVITY_DMA_INTERRUPT);
        enable_interrupts();
        disable_interrupts();
        LEAVE();
    }
    dma_is_done = false;
}

static inline void dma_in(uint64_t host, void *interface, uint64_t bytes) {
    dma_begin(host, (uint64_t)interface, bytes | DMA_TO_INTERFACE | DMA_INTERRUPTS);
    dma_wait();
}

static inline void dma_out(const void *interface, uint64_t host, uint64_t bytes) {
    dma_begin((uint64_t)interface, host, bytes | DMA_FROM_INTERFACE | DMA_INTERRUPTS);
    dma_wait();
}

/* Writes a doubleword without waiting for it. */
void dma_write(uint64_t host, uint64_t value);

void dma_prepare(void);

#endif
