/* Where a program offers a warm checkpoint: behind a barrier, so that all nodes are there. Apart,
 * so that programs without it stay as they are. */
#include "messaging/narthex.h"
#include "runtime/information.h"
#include "runtime/simulator_calls.h"

void narthex_checkpoint(void) {
    narthex_barrier();
    if (!narthex_is_simulated())
        return;
#ifdef __riscv
    register uint64_t a7 __asm__("a7") = CALL_CHECKPOINT;
    register uint64_t a0 __asm__("a0") = 0;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
#endif
}
