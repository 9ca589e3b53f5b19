/* The core of the network interface, as its service processor drives it (Section 4.2): a poll of
 * all sources of events in two loads, and two queues of commands, each carried out in order. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_NIC_H
#define NARTHEX_FIRMWARE_VOYAGER_NIC_H

#include "firmware/devices.h"
#include "firmware/firmware.h"
#include "runtime/marker.h"
#include "runtime/registers.h"

enum { DOUBLEWORD = sizeof(uint64_t), LINE_BYTES = 32 };

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
enum { STAGING_PLACES = 8, STAGING_FOR_PARKED = STAGING_PLACES };

static inline uint64_t staging_room(void) {
    return nic_load(REGISTER_VOYAGER_FREE_A) & UINT32_MAX;
}

/* Commands */

static inline void issue(enum command_queue queue, uint64_t doubleword) {
    nic_store(REGISTER_VOYAGER_COMMAND_0 + queue * DOUBLEWORD, doubleword);
}

/* Reads this many lines of the node's memory into SRAM; an operation waits for it. */
static inline void issue_bus_read(uint64_t host, uint64_t sram, uint64_t lines) {
    issue(FOR_TRANSMIT, VOYAGER_BUS_READ | VOYAGER_COMMAND_NOTIFY | lines << 24 | sram << 32);
    issue(FOR_TRANSMIT, host);
}

/* Writes them from SRAM; an operation waits for it. */
static inline void issue_bus_write(uint64_t sram, uint64_t host, uint64_t lines) {
    const uint64_t tag = (uint64_t)FOR_RECEIVE << VOYAGER_COMMAND_TAG;
    issue(FOR_RECEIVE, VOYAGER_BUS_WRITE | VOYAGER_COMMAND_NOTIFY | tag | lines << 24 | sram << 32);
    issue(FOR_RECEIVE, host);
}

/* Sends a slot of SRAM to the queue that a translation names, in a process's name. */
static inline void issue_transmit(uint64_t sram, uint64_t translation, uint64_t process) {
    issue(FOR_TRANSMIT, VOYAGER_TRANSMIT | sram << 32);
    issue(FOR_TRANSMIT, (translation & ~VOYAGER_TRANSLATION_VALID) | process << 32);
}

/* An operation waits until what stands in the queue before is done. */
static inline void issue_nothing(enum command_queue queue) {
    const uint64_t tag = (uint64_t)queue << VOYAGER_COMMAND_TAG;
    issue(queue, VOYAGER_COMPLETE | VOYAGER_COMMAND_NOTIFY | tag);
}

/* The command queue whose command has completed. */
static inline enum command_queue completed_queue(uint64_t completion) {
    return (enum command_queue)(completion & 0xff);
}

#endif
