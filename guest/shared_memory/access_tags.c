/* Entering and leaving the trap of an access that its tag forbids.
 *
 * The trap may come at any load or store, so everything that a C function may change is saved
 * around segment_fault: the integer and floating-point registers that it need not preserve, and the
 * floating-point control and status. The frame looks like a function's, with the address of the
 * faulting access as its return address, so that an error inside shows who made the access. */
#include "shared_memory/access_tags.h"

#include "messaging/narthex.h"
#include "runtime/colours.h"
#include "shared_memory/segment.h"

enum { PAGE_BYTES = 4096 };

#ifdef __riscv

enum { CALL_SHARED = 0x4e03 };

/* clang-format off */
#define INTEGER_REGISTERS(each)                                                                    \
    each(ra, 0) each(t0, 8) each(t1, 16) each(t2, 24) each(t3, 32) each(t4, 40) each(t5, 48)       \
    each(t6, 56) each(a0, 64) each(a1, 72) each(a2, 80) each(a3, 88) each(a4, 96) each(a5, 104)    \
    each(a6, 112) each(a7, 120)
#define FLOAT_REGISTERS(each)                                                                      \
    each(ft0, 128) each(ft1, 136) each(ft2, 144) each(ft3, 152) each(ft4, 160) each(ft5, 168)      \
    each(ft6, 176) each(ft7, 184) each(ft8, 192) each(ft9, 200) each(ft10, 208) each(ft11, 216)    \
    each(fa0, 224) each(fa1, 232) each(fa2, 240) each(fa3, 248) each(fa4, 256) each(fa5, 264)      \
    each(fa6, 272) each(fa7, 280)
/* clang-format on */
#define SAVE_INTEGER(name, offset) "sd " #name ", " #offset "(sp)\n"
#define LOAD_INTEGER(name, offset) "ld " #name ", " #offset "(sp)\n"
#define SAVE_FLOAT(name, offset) "fsd " #name ", " #offset "(sp)\n"
#define LOAD_FLOAT(name, offset) "fld " #name ", " #offset "(sp)\n"

/* utvec: aligned to 4 bytes. CSRs: 0x041 uepc, 0x042 ucause (5: load, 7: store), 0x043 utval; the
 * last word is uret. */
__attribute__((naked, aligned(4))) static void trap(void) {
    __asm__(".cfi_signal_frame\n"
            "addi sp, sp, -320\n"
            ".cfi_def_cfa_offset 320\n" INTEGER_REGISTERS(SAVE_INTEGER) FLOAT_REGISTERS(
                SAVE_FLOAT) "frcsr t0\n"
                            "sd t0, 288(sp)\n"
                            "sd s0, 304(sp)\n"
                            ".cfi_offset s0, -16\n"
                            "csrr a2, 0x041\n"
                            "sd a2, 312(sp)\n"
                            ".cfi_offset ra, -8\n"
                            "addi s0, sp, 320\n"
                            "csrr a0, 0x043\n"
                            "csrr a1, 0x042\n"
                            "addi a1, a1, -5\n"
                            "snez a1, a1\n"
                            "call segment_fault\n"
                            "ld s0, 304(sp)\n"
                            "ld t0, 288(sp)\n"
                            "fscsr t0\n" FLOAT_REGISTERS(LOAD_FLOAT)
                                INTEGER_REGISTERS(LOAD_INTEGER) "addi sp, sp, 320\n"
                                                                ".word 0x00200073\n");
}

static long map_tagged_memory(uintptr_t start, size_t bytes, size_t block_bytes) {
    register uint64_t a0 __asm__("a0") = start;
    register uint64_t a1 __asm__("a1") = bytes;
    register uint64_t a2 __asm__("a2") = block_bytes;
    register long a7 __asm__("a7") = CALL_SHARED;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return (long)a0;
}

static void set_trap(void) {
    __asm__ volatile("csrw 0x005, %0" ::"r"(trap));
}

#else

static long map_tagged_memory(uintptr_t start, size_t bytes, size_t block_bytes) {
    (void)start, (void)bytes, (void)block_bytes; /* natively there is one node, which needs none */
    return -1;
}

static void set_trap(void) {}

#endif

void *access_tags_start(size_t bytes, size_t block_bytes) {
    uintptr_t start = colours_place(TAGGED_MEMORY_START, bytes, PAGE_BYTES);
    long result = map_tagged_memory(start, bytes, block_bytes);
    narthex_check(result == 0,
                  "node %d calls narthex_shared_start for %zu bytes in blocks of %zu: the machine "
                  "gives no tagged memory at 0x%llx (error %ld)",
                  narthex_node(), bytes, block_bytes, (unsigned long long)start, -result);
    set_trap();
    colours_take(start, bytes);
    return (void *)start;
}
