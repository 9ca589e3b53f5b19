/* The core of the network interface for firmware that runs on the host (node.c): in place of
 * guest/firmware/voyager/nic.h. */
#ifndef NARTHEX_FIRMWARE_VOYAGER_NIC_H
#define NARTHEX_FIRMWARE_VOYAGER_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "firmware/devices.h"
#include "runtime/marker.h"
#include "runtime/registers.h"

enum { DOUBLEWORD = sizeof(uint64_t), LINE_BYTES = 32 };
enum { HEADER_BYTES_SHIFT = 16, HEADER_OF_FIRMWARE = 1 << 23 };
enum command_queue { FOR_TRANSMIT, FOR_RECEIVE, COMMAND_QUEUES };

#define AWAITED (VOYAGER_COMMAND_NOTIFY | VOYAGER_COMMAND_ORDERED)

/* SRAM is memory of the host. */
extern unsigned char sram[1 << 20];
#undef VOYAGER_SRAM
#define VOYAGER_SRAM ((uintptr_t)sram)

uint64_t nic_load(uintptr_t offset);
void nic_store(uintptr_t offset, uint64_t value);
uint64_t command_room(enum command_queue queue);
void issue(enum command_queue queue, uint64_t command, uint64_t lines, uint64_t sram_address,
           uint64_t other);
void issue_long(enum command_queue queue, uint64_t doubleword);

static inline uint64_t sram_load(uint64_t address) {
    uint64_t value;
    memcpy(&value, sram + address, sizeof value);
    return value;
}

static inline void sram_store(uint64_t address, uint64_t value) {
    memcpy(sram + address, &value, sizeof value);
}

#endif
