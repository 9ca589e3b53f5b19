/* The program whose every interleaving `narthex check interface` explores (docs/checking.md).
 *
 *     interface SENDS RECEIVES
 *
 * It sends SENDS numbered messages to node 1, then polls until it has received RECEIVES, with the
 * messaging library and the drivers that every program has. It checks nothing itself: it hands each
 * message that it receives to the checker, by a call that only the checker knows, and the checker
 * compares. Nothing is counted that need not be, so that the states stay few. */
#include "../arguments.h"
#include "runtime/information.h"

enum { CALL_RECEIVED = 0x4e80, HANDLER = 1, PEER = 1, LONGEST = 248 };

static _Alignas(16) char buffers[2 * (LONGEST + 32)];
static long received;

/* A message's length takes turns: what fits into one block with the header, into two, and into a
 * whole packet. */
static size_t message_bytes(const struct narthex_information *machine, long number) {
    size_t blocks = (size_t)number % 3 + 1;
    size_t bytes = blocks * machine->block_bytes - machine->header_bytes;
    return blocks == 3 || bytes > machine->payload_bytes ? machine->payload_bytes : bytes;
}

static void fill(unsigned char *payload, size_t bytes, long number) {
    for (size_t index = 0; index < bytes; index++)
        payload[index] = (unsigned char)(number * 31 + (long)index + 1);
}

static void hand_over(int source, const void *payload, size_t bytes) {
    (void)source;
#ifdef __riscv
    register uint64_t a0 __asm__("a0") = (uintptr_t)payload;
    register uint64_t a1 __asm__("a1") = bytes;
    register long a7 __asm__("a7") = CALL_RECEIVED;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a7) : "memory");
#else
    (void)payload, (void)bytes;
#endif
    received += 1;
}

static void send_all(long messages) {
    const struct narthex_information *machine = narthex_information();
    static _Alignas(8) unsigned char payload[LONGEST];
    for (long number = 0; number < messages; number++) {
        size_t bytes = message_bytes(machine, number);
        fill(payload, bytes, number);
        narthex_send(PEER, HANDLER, payload, bytes);
    }
}

int main(int count, char **values) {
    long sends = argument(count, values, 1, "sends", 0, 100, 0);
    long receives = argument(count, values, 2, "receives", 0, 100, 0);
    narthex_register_handler(HANDLER, hand_over);
    narthex_reserve(buffers, sizeof buffers, narthex_information()->payload_bytes);
    send_all(sends);
    while (received < receives)
        narthex_poll();
    return 0;
}
