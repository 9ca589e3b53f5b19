/* The memory that the processes of a node have in common. */
#include <stdlib.h>

#include "messaging/narthex.h"
#include "runtime/information.h"

/* Natively there is one process, which has it to itself. */
enum { NATIVE_BYTES = 1 << 20 };

static void *native_memory(void) {
    static void *memory;
    if (!memory)
        memory = calloc(1, NATIVE_BYTES);
    narthex_check(memory, "there are no %d bytes for a node's memory", NATIVE_BYTES);
    return memory;
}

void *narthex_node_memory(size_t *bytes) {
    const struct narthex_information *machine = narthex_information();
    bool simulated = narthex_is_simulated();
    if (bytes)
        *bytes = simulated ? machine->node_memory_bytes : NATIVE_BYTES;
    return simulated ? (void *)(uintptr_t)machine->node_memory : native_memory();
}
