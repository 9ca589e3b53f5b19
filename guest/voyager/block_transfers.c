#include "voyager/slots.h"

static uint64_t who(unsigned number) {
    return number == VOYAGER_NOBODY ? ~UINT64_C(0) : number;
}

int voyager_register(const void *memory, size_t bytes) {
    uint64_t words[VOYAGER_REQUEST_WORDS] = {(uintptr_t)memory, bytes};
    return voyager_request(VOYAGER_DMA_REGISTER, words);
}

int voyager_deregister(const void *memory, size_t bytes) {
    uint64_t words[VOYAGER_REQUEST_WORDS] = {(uintptr_t)memory, bytes};
    return voyager_request(VOYAGER_DMA_DEREGISTER, words);
}

int voyager_set_channel(unsigned channel, size_t packets, unsigned number, uint32_t value) {
    uint64_t words[VOYAGER_REQUEST_WORDS] = {channel, packets, number, value};
    return voyager_request(VOYAGER_CHANNEL_SET, words);
}

int voyager_transfer(unsigned method, int rank, const void *from, const void *to, size_t bytes,
                     unsigned channel, unsigned number) {
    uint64_t words[VOYAGER_REQUEST_WORDS] = {method, (uint64_t)rank, (uintptr_t)from, (uintptr_t)to,
                                             bytes,  channel,        who(number)};
    return voyager_request(VOYAGER_DMA, words);
}
