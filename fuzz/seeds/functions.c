/* What the ELF class damages: functions, data, symbols and debug information.
   python -m ziglang cc -target riscv64-linux-musl -nostdlib -static -g -O1 \
       -fno-unwind-tables -fno-asynchronous-unwind-tables -ffile-prefix-map=$PWD=. functions.c -o
   functions.elf */
static volatile int table[16] = {1, 2, 3};
static const char name[] = "depth";

__attribute__((noinline)) static long call(long number, long a, long b, long c) {
    register long a0 __asm__("a0") = a, a1 __asm__("a1") = b, a2 __asm__("a2") = c,
                     a7 __asm__("a7") = number;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
    return a0;
}

__attribute__((noinline)) static int depth(int level) {
    if (level > 12)
        return *(volatile int *)(long)table[level & 15];
    table[level] = level;
    return depth(level + 1) + table[level - 1];
}

void _start(void) {
    call(64, 1, (long)name, sizeof name - 1);
    call(93, depth(1), 0, 0);
}
