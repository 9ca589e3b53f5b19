/* Programs that go wrong, one per argument: what the simulator must explain.
 *
 *     faults illegal | misaligned | unmapped | check | destination | handler | blocked | call */
#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "narthex.h"

static void illegal(void) {
#ifdef __riscv
    __asm__ volatile(".word 0");
#else
    __builtin_trap();
#endif
}

static void misaligned(void) {
#ifdef __riscv
    static char bytes[16];
    __asm__ volatile("amoadd.w zero, zero, (%0)" ::"r"(bytes + 1) : "memory");
#endif
    narthex_fail("a misaligned atomic operation did not trap");
}

static void unmapped(void) {
    printf("%d\n", *(volatile int *)(uintptr_t)0x7f0000000);
}

static void check(void) {
    narthex_check(1 + 1 == 3, "one and one is not %d", 3);
}

static void destination(void) {
    narthex_send(narthex_nodes(), 1, "x", 1);
}

/* Sends to a handler that is not registered, and receives it. */
static void handler(void) {
    narthex_send(narthex_node(), 200, "x", 1);
    while (narthex_poll() == 0)
        ;
}

/* Node 0 sends to the last node, which never looks: in the end node 0 cannot send any more. */
static void blocked(void) {
    static const char payload[240];
    int last = narthex_nodes() - 1;
    if (narthex_node() == 0)
        for (;;)
            narthex_send(last, 1, payload, sizeof payload);
    for (;;)
        ;
}

static void call(void) {
    long answer = syscall(4000);
    printf("system call 4000 answers %ld, error %d\n", answer, errno);
}

static const struct {
    const char *name;
    void (*run)(void);
} faults[] = {
    {"illegal", illegal},         {"misaligned", misaligned},
    {"unmapped", unmapped},       {"check", check},
    {"destination", destination}, {"handler", handler},
    {"blocked", blocked},         {"call", call},
};

int main(int count, char **values) {
    for (size_t index = 0; count > 1 && index < sizeof faults / sizeof faults[0]; index++) {
        const char *wanted = values[1], *name = faults[index].name;
        while (*wanted && *wanted == *name)
            wanted++, name++;
        if (*wanted == *name) {
            faults[index].run();
            return 0;
        }
    }
    narthex_fail("faults: name one of illegal, misaligned, unmapped, check, destination, handler, "
                 "blocked, call");
}
