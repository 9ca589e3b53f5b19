/* Fine-grain access control: what tags refuse, what the handler sees, what goes wrong without it.
 *
 *     tags | tags unhandled | tags nested | tags outside
 *
 * A process makes a part of its address space tagged memory, and handles its own refused accesses
 * as a protocol for shared memory does: it sets the block's tag, fills the block and returns. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "narthex.h"

#ifdef __riscv

#define SHARED_CALL 0x4e03
#define START UINT64_C(0x20000000)
#define BYTES (UINT64_C(1) << 29)
#define BLOCK UINT64_C(128)

enum tag { TAG_NONE, TAG_READ, TAG_WRITE };
enum cause { CAUSE_LOAD = 5, CAUSE_STORE = 7 };

static volatile uint64_t *const shared = (volatile uint64_t *)START;

static void set_tag(uint64_t block, enum tag tag) {
    __asm__ volatile("csrw 0x800, %0" ::"r"(block | tag) : "memory");
}

/* The last refusal, and how many there were. */
static volatile uint64_t refused_cause, refused_address;
static volatile int refusals;

/* Called by the handler: a load gets the block for reading, filled; a store gets it for writing
 * too. */
__attribute__((used)) static void refuse(uint64_t cause, uint64_t address, int nested) {
    refused_cause = cause;
    refused_address = address;
    refusals++;
    uint64_t block = address & ~(BLOCK - 1);
    if (nested)
        shared[100000] = 1;
    if (cause == CAUSE_LOAD) {
        set_tag(block, TAG_WRITE);
        for (uint64_t at = 0; at < BLOCK; at += 8)
            *(volatile uint64_t *)(block + at) = block + at;
        set_tag(block, TAG_READ);
    } else {
        set_tag(block, TAG_WRITE);
    }
}

/* Saves what a call may change of the integer registers; refuse() uses no others. */
#define HANDLER(NAME, NESTED)                                                                      \
    __attribute__((naked, aligned(4))) static void NAME(void) {                                    \
        __asm__ volatile("addi sp, sp, -144\n"                                                     \
                         "sd ra, 0(sp)\n sd t0, 8(sp)\n sd t1, 16(sp)\n sd t2, 24(sp)\n"           \
                         "sd a0, 32(sp)\n sd a1, 40(sp)\n sd a2, 48(sp)\n sd a3, 56(sp)\n"         \
                         "sd a4, 64(sp)\n sd a5, 72(sp)\n sd a6, 80(sp)\n sd a7, 88(sp)\n"         \
                         "sd t3, 96(sp)\n sd t4, 104(sp)\n sd t5, 112(sp)\n sd t6, 120(sp)\n"      \
                         "csrr a0, 0x042\n csrr a1, 0x043\n li a2, " #NESTED "\n call refuse\n"    \
                         "ld ra, 0(sp)\n ld t0, 8(sp)\n ld t1, 16(sp)\n ld t2, 24(sp)\n"           \
                         "ld a0, 32(sp)\n ld a1, 40(sp)\n ld a2, 48(sp)\n ld a3, 56(sp)\n"         \
                         "ld a4, 64(sp)\n ld a5, 72(sp)\n ld a6, 80(sp)\n ld a7, 88(sp)\n"         \
                         "ld t3, 96(sp)\n ld t4, 104(sp)\n ld t5, 112(sp)\n ld t6, 120(sp)\n"      \
                         "addi sp, sp, 144\n"                                                      \
                         ".word 0x00200073\n");                                                    \
    }
HANDLER(handle, 0)
HANDLER(handle_nested, 1)

static void install(void (*handler)(void)) {
    __asm__ volatile("csrw 0x005, %0" ::"r"(handler));
}

static uint64_t block_bytes(void) {
    uint64_t bytes;
    __asm__ volatile("csrr %0, 0x800" : "=r"(bytes));
    return bytes;
}

/* The access that was just made was refused once, so. */
static void check_refusal(int count, enum cause cause, volatile void *address) {
    narthex_check(refusals == count, "%d accesses were refused; expected %d", refusals, count);
    narthex_check(refused_cause == cause && refused_address == (uint64_t)address,
                  "refused was a %d of %#lx; expected a %d of %p", (int)refused_cause,
                  (long)refused_address, cause, (void *)address);
}

/* What cannot be tagged is refused, and so is everything that would change tagged memory. */
static void check_calls(void) {
    narthex_check(block_bytes() == 0, "there is tagged memory before any was asked for");
    static const uint64_t wrong[][3] = {
        {START, BYTES, 8},       {START, BYTES, 2048},   {START, BYTES, 48},
        {START + 64, BYTES, 64}, {START, 4096 + 64, 64}, {START, 0, 64},
        {0x50000000, 4096, 64},  {0x4ffff000, 8192, 64},
    };
    for (unsigned row = 0; row < sizeof wrong / sizeof *wrong; row++)
        narthex_check(syscall(SHARED_CALL, wrong[row][0], wrong[row][1], wrong[row][2]) == -1,
                      "call %u was not refused", row);
    narthex_check(syscall(SHARED_CALL, START, BYTES, BLOCK) == 0, "the shared memory was refused");
    narthex_check(block_bytes() == BLOCK, "a block has %lu bytes", (long)block_bytes());
    narthex_check(syscall(SHARED_CALL, START + BYTES, 4096, BLOCK) == -1,
                  "a second area was not refused");
    narthex_check(syscall(SYS_munmap, START, 4096) == -1, "tagged memory was taken away");
    narthex_check(syscall(SYS_write, 1, START, 8) == -1,
                  "a system call read a block that is tagged none");
}

static void check_accesses(void) {
    install(handle);
    narthex_check(shared[2] == START + 16, "the load got %lx", (long)shared[2]);
    check_refusal(1, CAUSE_LOAD, &shared[2]);
    narthex_check(shared[3] == START + 24, "the next load got %lx", (long)shared[3]);
    shared[3] = 7;
    check_refusal(2, CAUSE_STORE, &shared[3]);
    narthex_check(shared[3] == 7 && shared[2] == START + 16, "the store did something else");
    set_tag(START, TAG_NONE);
    narthex_check(__atomic_fetch_add(&shared[16], 5, __ATOMIC_RELAXED) == 0,
                  "an atomic operation on zero");
    check_refusal(3, CAUSE_STORE, &shared[16]);
    double fraction = *(volatile double *)&shared[3];
    narthex_check(memcmp(&fraction, (uint64_t[]){START + 24}, 8) == 0, "a load of a double");
    check_refusal(4, CAUSE_LOAD, &shared[3]);
    /* Across two blocks: the second is refused. */
    volatile uint64_t *crossing = (volatile uint64_t *)(START + 2 * BLOCK - 4);
    narthex_check(*crossing >> 32 == ((START + 2 * BLOCK) & 0xffffffff),
                  "a load across two blocks");
    check_refusal(5, CAUSE_LOAD, (volatile void *)(START + 2 * BLOCK));
    narthex_check(refusals == 5, "an allowed access was refused");
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    check_calls();
    if (strcmp(what, "outside") == 0)
        set_tag(START + BYTES, TAG_READ);
    if (strcmp(what, "nested") == 0)
        install(handle_nested);
    if (*what)
        shared[5] = 1;
    check_accesses();
    printf("%d accesses were refused and handled\n", refusals);
    return 0;
}

#else

int main(void) {
    puts("no processor here knows access tags");
    return 0;
}

#endif
