/* Descriptors of the Virtual Interface Architecture, version 1.0: what a program asks of its
 * interface, and what the interface answers in it.
 *
 *     VipPostSend, VipPostRecv:   control segment  [address segment]  data segments
 *                                 32 bytes         16, RDMA only      16 each
 *
 * A descriptor lies in registered memory at a multiple of 64 bytes. From its posting until
 * VipSendDone or VipRecvDone gives it back it is the interface's. Firmware includes this file, too.
 */
#ifndef NARTHEX_VIA_DESCRIPTOR_H
#define NARTHEX_VIA_DESCRIPTOR_H

#include <stdint.h>

typedef uint8_t VIP_UINT8;
typedef uint16_t VIP_UINT16;
typedef uint32_t VIP_UINT32;
typedef uint64_t VIP_UINT64;
typedef unsigned long VIP_ULONG;
typedef char VIP_CHAR;
typedef void *VIP_PVOID;
typedef int VIP_BOOLEAN;
enum { VIP_FALSE, VIP_TRUE };

/* What names a registration in descriptors. */
typedef VIP_UINT32 VIP_MEM_HANDLE;

/* An address of 64 bits on every machine. */
typedef union {
    VIP_UINT64 AddressBits;
    VIP_PVOID Address;
} VIP_PVOID64;

typedef struct {
    VIP_PVOID64 Next;          /* not used: each descriptor is posted by a doorbell of its own */
    VIP_MEM_HANDLE NextHandle; /* not used */
    VIP_UINT16 SegCount;       /* segments behind this one */
    VIP_UINT16 Control;        /* VIP_CONTROL_... */
    VIP_UINT32 Reserved;       /* the library's while the descriptor is posted; 0 otherwise */
    VIP_UINT32 ImmediateData;  /* goes with the message if Control says so */
    VIP_UINT32 Length;         /* to send: of all data segments; then: bytes that were moved */
    VIP_UINT32 Status;         /* VIP_STATUS_..., written by the interface last of all */
} VIP_CONTROL_SEGMENT;

/* Where in the remote process's memory an RDMA begins. */
typedef struct {
    VIP_PVOID64 Data;
    VIP_MEM_HANDLE Handle;
    VIP_UINT32 Reserved;
} VIP_ADDRESS_SEGMENT;

typedef struct {
    VIP_PVOID64 Data;
    VIP_MEM_HANDLE Handle;
    VIP_UINT32 Length;
} VIP_DATA_SEGMENT;

typedef union {
    VIP_ADDRESS_SEGMENT Remote;
    VIP_DATA_SEGMENT Local;
} VIP_DESCRIPTOR_SEGMENT;

/* One with more segments than two goes on behind its end. */
typedef struct {
    VIP_CONTROL_SEGMENT CS;
    VIP_DESCRIPTOR_SEGMENT DS[2];
} VIP_DESCRIPTOR;

#define VIP_DESCRIPTOR_ALIGNMENT 64

/* Control */
#define VIP_CONTROL_OP_SENDRECV 0x0
#define VIP_CONTROL_OP_RDMAWRITE 0x1
#define VIP_CONTROL_OP_RDMAREAD 0x2
#define VIP_CONTROL_OP_RESERVED 0x3
#define VIP_CONTROL_OP_MASK 0x3
#define VIP_CONTROL_IMMEDIATE 0x4
#define VIP_CONTROL_QFENCE 0x8
#define VIP_CONTROL_RESERVED 0xfff0

/* Status */
#define VIP_STATUS_DONE 0x1
#define VIP_STATUS_FORMAT_ERROR 0x2
#define VIP_STATUS_PROTECTION_ERROR 0x4
#define VIP_STATUS_LENGTH_ERROR 0x8
#define VIP_STATUS_PARTIAL_ERROR 0x10
#define VIP_STATUS_DESC_FLUSHED_ERROR 0x20
#define VIP_STATUS_TRANSPORT_ERROR 0x40
#define VIP_STATUS_RDMA_PROT_ERROR 0x80
#define VIP_STATUS_REMOTE_DESC_ERROR 0x100
#define VIP_STATUS_ERROR_MASK 0x1fe
#define VIP_STATUS_OP_SEND 0x00000
#define VIP_STATUS_OP_RECEIVE 0x10000
#define VIP_STATUS_OP_RDMA_WRITE 0x20000
#define VIP_STATUS_OP_REMOTE_RDMA_WRITE 0x30000
#define VIP_STATUS_OP_RDMA_READ 0x40000
#define VIP_STATUS_OP_MASK 0x70000
#define VIP_STATUS_IMMEDIATE 0x80000

/* Limits of this implementation. */
#define VIA_SEGMENTS_LIMIT 6     /* of a descriptor, address segment included */
#define VIA_DESCRIPTORS_LIMIT 64 /* posted to a queue at a time; a power of two */

/* Attributes of regions and VIs in a word, as firmware has them and VIs tell each other. */
#define VIA_RDMA_WRITE 1ul
#define VIA_RDMA_READ 2ul
#define VIA_RELIABLE 4ul /* the higher of the two levels of reliability that a VI may have */

#endif
