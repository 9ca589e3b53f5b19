/* Loads and stores of words of a scratchpad, of which any may do more than move a word (a line's
 * role decides). Those of 32 bits, the words of the prototype's processors, are for plain memory:
 * lines that are sensitive to events have words of 64. Natively all go to the emulation
 * (sarc/emulation.c). */
#ifndef NARTHEX_SARC_ACCESS_H
#define NARTHEX_SARC_ACCESS_H

#include "runtime/registers.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __riscv
/* An instruction, since the compiler loads a half of a volatile word if no more of it is used. */
static inline uint64_t sarc_load(const volatile uint64_t *word) {
    uint64_t value;
    __asm__ volatile("ld %0, %1" : "=r"(value) : "m"(*word));
    return value;
}

static inline void sarc_store(volatile uint64_t *word, uint64_t value) {
    *word = value;
}

static inline uint32_t sarc_load_32(const volatile uint32_t *word) {
    return *word;
}

static inline void sarc_store_32(volatile uint32_t *word, uint32_t value) {
    *word = value;
}

static inline float sarc_load_float(const volatile float *word) {
    return *word;
}

static inline void sarc_store_float(volatile float *word, float value) {
    *word = value;
}

/* Returns after all earlier stores of this tile have been done where they go. */
static inline void sarc_fence(void) {
    __asm__ volatile("fence" ::: "memory");
    while (sarc_load((const uint64_t *)(SARC_REGISTERS + SARC_REGISTER_STORES)) != 0)
        ;
}
#else
uint64_t sarc_load(const volatile uint64_t *word);
void sarc_store(volatile uint64_t *word, uint64_t value);
uint32_t sarc_load_32(const volatile uint32_t *word);
void sarc_store_32(volatile uint32_t *word, uint32_t value);
float sarc_load_float(const volatile float *word);
void sarc_store_float(volatile float *word, float value);
void sarc_fence(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
