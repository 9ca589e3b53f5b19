/* Driver for an interface in the register file, after the nanoPU (Ibanez et al., OSDI 2021).
 *
 * While CSR_NETMAP says so, x30 and x31 are the network's: a move from x30 pops the next doubleword
 * of the packet that has arrived, header first, a move to x31 pushes one of the packet to be sent.
 * This file alone is compiled without the two registers (-ffixed-x30, -ffixed-x31), and gives them
 * back whenever it leaves: all other code uses them as ever. So no function is called in between.
 *
 * Ranks on the host link it with all others, and have no such interface. */
#include "messaging/driver.h"

#ifdef __riscv
#define NETWORK(...) __asm__ volatile(__VA_ARGS__ : "memory")
#else
#define NETWORK(...) ((void)0)
#endif

static uintptr_t registers;

static inline uint64_t status(void) {
    return *(volatile uint64_t *)(registers + REGISTER_STATUS);
}

/* The address of the register page stands above the lowest bit, which maps the registers. */
static void start(const struct narthex_information *machine) {
    registers = machine->register_page;
    NETWORK("csrw %1, %0" : : "r"(registers), "i"(CSR_NETMAP));
}

static inline void map(void) {
    NETWORK("csrsi %0, 1" : : "i"(CSR_NETMAP));
}

static inline void unmap(void) {
    NETWORK("csrci %0, 1" : : "i"(CSR_NETMAP));
}

static inline void push(uint64_t value) {
    (void)value;
    NETWORK("mv x31, %0" : : "r"(value));
}

static inline uint64_t pop(void) {
    uint64_t value = 0;
    NETWORK("mv %0, x30" : "=r"(value) :);
    return value;
}

static bool has_room(void) {
    return status() & STATUS_ROOM;
}

/* Up to eight bytes, byte by byte: the end of a payload of another size. */
static inline uint64_t rest_at(const char *source, size_t bytes) {
    uint64_t value = 0;
    for (size_t byte = 0; byte < bytes; byte++)
        value |= (uint64_t)(unsigned char)source[byte] << 8 * byte;
    return value;
}

static inline uint64_t doubleword_at(const char *source) {
    if ((uintptr_t)source % sizeof(word) == 0)
        return ((const word *)source)[0] | (uint64_t)((const word *)source)[1] << 32;
    return rest_at(source, sizeof(uint64_t));
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    const char *source = payload;
    (void)extra; /* its header is one doubleword */
    map();
    push(header);
    if ((uintptr_t)source % sizeof(doubleword) == 0)
        for (; bytes >= sizeof(doubleword); bytes -= sizeof(doubleword)) {
            push(*(const doubleword *)source);
            source += sizeof(doubleword);
        }
    else
        for (; bytes >= sizeof(doubleword); bytes -= sizeof(doubleword)) {
            push(doubleword_at(source));
            source += sizeof(doubleword);
        }
    if (bytes > 0)
        push(rest_at(source, bytes));
    unmap();
}

static inline uint64_t arrived(size_t extra) {
    uint64_t header = 0;
    (void)extra;
    if (status() & STATUS_ARRIVED) {
        map();
        header = pop();
        unmap();
    }
    return header;
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    char *target = payload;
    (void)extra;
    if (bytes == 0)
        return;
    map();
    for (; bytes >= sizeof(doubleword); bytes -= sizeof(doubleword)) {
        uint64_t value = pop();
        ((word *)target)[0] = (uint32_t)value;
        ((word *)target)[1] = (uint32_t)(value >> 32);
        target += sizeof(doubleword);
    }
    if (bytes > 0) {
        uint64_t rest = pop();
        for (size_t byte = 0; byte < bytes; byte++)
            target[byte] = (char)(rest >> 8 * byte);
    }
    unmap();
}

SEND_DRIVER(send_register_file, start, has_room, send);
RECEIVE_DRIVER(receive_register_file, start, arrived, receive, NULL);
