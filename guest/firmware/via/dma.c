#include "firmware/via/dma.h"

uintptr_t dma_engine;
volatile bool dma_is_done;

void handle_interrupt(unsigned line) {
    (void)line; /* no other is enabled with interrupts */
    store_register(dma_engine + DMA_STATUS, 0);
    dma_is_done = true;
}

void dma_write(uint64_t host, uint64_t value) {
    static uint64_t from;
    while (load_register(dma_engine + DMA_STATUS) & DMA_BUSY_BIT)
        ;
    from = value;
    dma_begin((uint64_t)&from, host, sizeof from | DMA_FROM_INTERFACE);
}

void dma_prepare(void) {
    dma_engine = via_load(REGISTER_VIA_DMA_ENGINE);
    enable_lines(1ul << VIA_LINES);
}
