/* The cache-block operations of Zicbom and Zicboz on the block that holds an address, for programs
 * and firmware: drop it, newer bytes too (a program's is a flush); write it to memory and keep it;
 * write it and drop it; make it zeros. */
#ifndef NARTHEX_RUNTIME_CACHE_BLOCKS_H
#define NARTHEX_RUNTIME_CACHE_BLOCKS_H

#ifdef __riscv
#define CACHE_BLOCK_OPERATION(name, number)                                                        \
    static inline void name(const volatile void *address) {                                        \
        __asm__ volatile(".insn i 0x0f, 2, x0, %0, " #number::"r"(address) : "memory");            \
    }
#else
#define CACHE_BLOCK_OPERATION(name, number)                                                        \
    static inline void name(const volatile void *address) {                                        \
        (void)address;                                                                             \
    }
#endif
CACHE_BLOCK_OPERATION(invalidate_block, 0)
CACHE_BLOCK_OPERATION(clean_block, 1)
CACHE_BLOCK_OPERATION(flush_block, 2)
CACHE_BLOCK_OPERATION(zero_block, 4)

#endif
