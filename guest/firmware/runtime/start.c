/* Where firmware begins, and where interrupts enter it.
 *
 * The loader has put the segments into memory and all registers are zero. The stack is the end of
 * the zeroed data (guest/firmware/firmware.ld). An interrupt keeps what a C function may change;
 * firmware is compiled without floating-point registers. */

/* -DFIRMWARE_START=0x40000 puts it elsewhere. */
#ifndef FIRMWARE_START
#define FIRMWARE_START 0x10000
#endif
#ifndef FIRMWARE_STACK_BYTES
#define FIRMWARE_STACK_BYTES 0x4000
#endif
#define TEXT_OF(value) #value
#define AS_TEXT(macro) TEXT_OF(macro)

__asm__(".global firmware_start, firmware_stack_bytes\n"
        ".set firmware_start, " AS_TEXT(FIRMWARE_START) "\n"
                                                        ".set firmware_stack_bytes, " AS_TEXT(
                                                            FIRMWARE_STACK_BYTES) "\n");

__asm__(".section .text.start, \"ax\"\n"
        ".global _start\n"
        "_start:\n"
        ".option push\n"
        ".option norelax\n"
        "    la   gp, __global_pointer$\n"
        ".option pop\n"
        "    la   sp, firmware_stack_top\n"
        "    la   t0, interrupt_handler\n"
        "    ld   s1, 0(t0)\n"
        "    beqz s1, 1f\n"
        "    la   t0, interrupt_entry\n"
        "    csrw 0x005, t0\n" /* utvec */
        "1:  call main\n"
        "2:  beqz s1, 2b\n"
        "    wfi\n"
        "    j    2b\n"
        ".type _start, @function\n"
        ".size _start, . - _start\n"

        ".weak handle_interrupt\n"
        ".section .rodata\n"
        ".balign 8\n"
        "interrupt_handler:\n"
        "    .dword handle_interrupt\n");

__asm__(".text\n"
        ".balign 4\n"
        "interrupt_entry:\n"
        "    addi sp, sp, -128\n"
        "    sd   ra, 0(sp)\n"
        "    sd   t0, 8(sp)\n"
        "    sd   t1, 16(sp)\n"
        "    sd   t2, 24(sp)\n"
        "    sd   a0, 32(sp)\n"
        "    sd   a1, 40(sp)\n"
        "    sd   a2, 48(sp)\n"
        "    sd   a3, 56(sp)\n"
        "    sd   a4, 64(sp)\n"
        "    sd   a5, 72(sp)\n"
        "    sd   a6, 80(sp)\n"
        "    sd   a7, 88(sp)\n"
        "    sd   t3, 96(sp)\n"
        "    sd   t4, 104(sp)\n"
        "    sd   t5, 112(sp)\n"
        "    sd   t6, 120(sp)\n"
        "    csrr a0, 0x042\n" /* ucause: 2^63 + 16 + line */
        "    slli a0, a0, 1\n"
        "    srli a0, a0, 1\n"
        "    addi a0, a0, -16\n"
        "    la   t0, interrupt_handler\n"
        "    ld   t0, 0(t0)\n"
        "    jalr t0\n"
        "    ld   ra, 0(sp)\n"
        "    ld   t0, 8(sp)\n"
        "    ld   t1, 16(sp)\n"
        "    ld   t2, 24(sp)\n"
        "    ld   a0, 32(sp)\n"
        "    ld   a1, 40(sp)\n"
        "    ld   a2, 48(sp)\n"
        "    ld   a3, 56(sp)\n"
        "    ld   a4, 64(sp)\n"
        "    ld   a5, 72(sp)\n"
        "    ld   a6, 80(sp)\n"
        "    ld   a7, 88(sp)\n"
        "    ld   t3, 96(sp)\n"
        "    ld   t4, 104(sp)\n"
        "    ld   t5, 112(sp)\n"
        "    ld   t6, 120(sp)\n"
        "    addi sp, sp, 128\n"
        "    .word 0x00200073\n" /* uret */
        ".type interrupt_entry, @function\n"
        ".size interrupt_entry, . - interrupt_entry\n");
