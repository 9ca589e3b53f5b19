/* The core of the network interface, as its service processor drives it (Section 4.2): a poll of
 * all sources of events in two loads, and two queues of commands, each carried out in order. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_NIC_H
#define NARTHEX_FIRMWARE_VOYAGER_NIC_H

#include "firmware/devices.h"
#include "firmware/firmware.h"
#include "runtime/marker.h"
#include "runtime/registers.h"

enum { DOUBLEWORD = sizeof(uint64_t), LINE_BYTES = 32 };

/* Where a header has the bytes of its payload. */
enum { HEADER_BYTES_SHIFT = 16 };

/* The bit of a header that firmware's own packets have. */
enum { HEADER_OF_FIRMWARE = 1 << 23 };

/* Whose commands a queue has. Receiving never waits behind what the network does not take. */
enum command_queue { FOR_TRANSMIT, FOR_RECEIVE, COMMAND_QUEUES };

static inline uint64_t nic_load(uintptr_t offset) {
    return load_register(VOYAGER_REGISTERS + offset);
}

static inline void nic_store(uintptr_t offset, uint64_t value) {
    store_register(VOYAGER_REGISTERS + offset, value);
}

static inline uint64_t sram_load(uint64_t address) {
    return load_register(VOYAGER_SRAM_UNCACHED + address);
}

static inline void sram_store(uint64_t address, uint64_t value) {
    store_register(VOYAGER_SRAM_UNCACHED + address, value);
}

/* Room in the firmware's part of SRAM bank A, for slots that are on their way. */
enum { STAGING_PLACES = 8, STAGING_FOR_PARKED = STAGING_PLACES, STAGING_FOR_BLOCKS };
enum { STAGING_PLACES_OF_BLOCKS = 4 };
enum { STAGING_FOR_POINTERS = STAGING_FOR_BLOCKS + STAGING_PLACES_OF_BLOCKS };
enum { STAGING_PLACES_OF_POINTERS = 3 }; /* nine lines */
enum { STAGING_FOR_REFUSALS = STAGING_FOR_POINTERS + STAGING_PLACES_OF_POINTERS };

static inline uint64_t staging_room(void) {
    return nic_load(REGISTER_VOYAGER_FREE_A) & UINT32_MAX;
}

/* Doublewords that a command queue takes, while it is empty. Firmware allocates them: there are no
 * more than half of them for messages that are sent, and LENDING_COMMANDS for lending.c. */
enum { LENDING_COMMANDS = 4 };

static inline uint64_t command_room(enum command_queue queue) {
    uint64_t rooms = nic_load(REGISTER_VOYAGER_COMMAND_ROOM);
    return queue == FOR_TRANSMIT ? (uint32_t)rooms : rooms >> 32;
}

/* Commands of a doubleword: operation and options, lines - 1, SRAM line; the upper half says what
 * else it takes, of which the bits from 32 on stand where other commands have their lines. */

enum { LINES_SHIFT = 11, SRAM_SHIFT = 17, OTHER_SHIFT = 32, COMPLETED_QUEUE_BIT = 8 };

/* An operation waits for a command with these options, which begins when those before it in its
 * queue are complete: completions come in the order of their commands. */
#define AWAITED (VOYAGER_COMMAND_NOTIFY | VOYAGER_COMMAND_ORDERED)

static inline void issue(enum command_queue queue, uint64_t command, uint64_t lines, uint64_t sram,
                         uint64_t other) {
    nic_store(REGISTER_VOYAGER_COMMAND_0 + queue * DOUBLEWORD,
              command | VOYAGER_COMMAND_SHORT | (lines - 1) << LINES_SHIFT |
                  (other >> 32) << LINES_SHIFT | sram / LINE_BYTES << SRAM_SHIFT |
                  other << OTHER_SHIFT);
}

/* A doubleword of a command in its long form (devices.h). */
static inline void issue_long(enum command_queue queue, uint64_t doubleword) {
    nic_store(REGISTER_VOYAGER_COMMAND_0 + queue * DOUBLEWORD, doubleword);
}

/* Reads lines of the node's memory into SRAM: a command each (Table 4). The first one waits for
 * what is still sent from there. */
static inline void issue_bus_reads(uint64_t host, uint64_t sram, uint64_t lines) {
    uint64_t options = VOYAGER_COMMAND_ORDERED;
    for (; lines > 1; lines--) {
        issue(FOR_TRANSMIT, VOYAGER_BUS_READ | options, 1, sram, host / LINE_BYTES);
        sram += LINE_BYTES;
        host += LINE_BYTES;
        options = 0;
    }
    issue(FOR_TRANSMIT, VOYAGER_BUS_READ | AWAITED, 1, sram, host / LINE_BYTES);
}

/* Writes lines of the node's memory from SRAM. */
static inline void issue_bus_writes(uint64_t sram, uint64_t host, uint64_t lines) {
    for (; lines > 1; lines--) {
        issue(FOR_RECEIVE, VOYAGER_BUS_WRITE, 1, sram, host / LINE_BYTES);
        sram += LINE_BYTES;
        host += LINE_BYTES;
    }
    issue(FOR_RECEIVE, VOYAGER_BUS_WRITE | AWAITED, 1, sram, host / LINE_BYTES);
}

/* Copies lines from one place of SRAM to another. */
static inline void issue_copy(enum command_queue queue, uint64_t from, uint64_t to,
                              uint64_t lines) {
    issue(queue, VOYAGER_COPY | AWAITED, lines, from, to / LINE_BYTES);
}

/* Sends a slot of SRAM to the queue that a translation names, in a process's name. Nothing waits
 * for it. */
static inline void issue_transmit(uint64_t sram, uint64_t translation, uint64_t process) {
    const uint64_t node = translation & 0xffff, queue_and_priority = translation >> 16 & 0x1ff;
    issue(FOR_TRANSMIT, VOYAGER_TRANSMIT, 1, sram, node | queue_and_priority << 16 | process << 25);
}

/* Does nothing, in its turn. */
static inline void issue_nothing(enum command_queue queue) {
    issue(queue, VOYAGER_COMPLETE | AWAITED, 1, 0, 0);
}

/* What it, or a command before it, has done wrong: a VOYAGER_FAULT number, or 0. */
static inline uint64_t completed_fault(uint64_t completion) {
    return completion >> 32;
}

/* The command queue whose command has completed. */
static inline enum command_queue completed_queue(uint64_t completion) {
    return (enum command_queue)(completion >> COMPLETED_QUEUE_BIT & 1);
}

#endif
