/* Apart from block_transfers.c: few programs take a channel back. */
#include "voyager/slots.h"

int voyager_clear_channel(unsigned channel) {
    uint64_t words[VOYAGER_REQUEST_WORDS] = {channel};
    return voyager_request(VOYAGER_CHANNEL_CLEAR, words);
}
