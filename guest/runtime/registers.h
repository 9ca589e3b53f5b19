/* The interfaces' drivers and registers and the information page. Generated from what the
 * models in interfaces/src declare by `make headers`; do not edit. */
#ifndef NARTHEX_RUNTIME_REGISTERS_H
#define NARTHEX_RUNTIME_REGISTERS_H

#include <stdint.h>

/* Its first field: the bytes NARTHEX and a zero. */
#define INFORMATION_MAGIC UINT64_C(0x5845485452414e)

/* Its second field. */
#define INFORMATION_VERSION UINT64_C(0x1)

/* Registers in front of FIFOs. */
#define DRIVER_FIFO UINT64_C(0x1)

/* Cachable queues. */
#define DRIVER_CACHABLE_QUEUE UINT64_C(0x2)

/* Block buffers in front of FIFOs. */
#define DRIVER_BLOCK_BUFFER UINT64_C(0x3)

/* Registers and user-level DMA in front of FIFOs. */
#define DRIVER_USER_LEVEL_DMA UINT64_C(0x4)

/* Cachable device registers. */
#define DRIVER_CACHABLE_REGISTER UINT64_C(0x5)

/* SARC's single-reader queues and RDMA. */
#define DRIVER_SARC UINT64_C(0x95d4c18bf7ad336)

/* Queues whose blocks the processor flushes to the interface. */
#define DRIVER_CXL_NIC2 UINT64_C(0x25fa9c15e285ebd3)

/* Rings of buffers in coherent memory. */
#define DRIVER_COHERENT_RING UINT64_C(0x269f587d283aae06)

/* Split virtqueues. */
#define DRIVER_VIRTIO UINT64_C(0x46947a3158289ef6)

/* Lines whose loads the interface holds. */
#define DRIVER_PIO_COHERENT UINT64_C(0x5985a2badc3f1bd6)

/* The Virtual Interface Architecture's library. */
#define DRIVER_VIA UINT64_C(0x68e8f7194eba5d73)

/* Nothing: pcie-bench's card carries no messages. */
#define DRIVER_PCIE_BENCH UINT64_C(0x7de7464cd265a94f)

/* StarT-Voyager's message queues. */
#define DRIVER_VOYAGER UINT64_C(0xa47cc00e4678b626)

/* Descriptor rings and doorbells. */
#define DRIVER_RING UINT64_C(0xb25c4c1ff8a15b0b)

/* Descriptor rings whose tails the interface watches in memory. */
#define DRIVER_CXL_NIC UINT64_C(0xdbfa08f6a25c1d53)

/* Queue pairs. */
#define DRIVER_VERBS UINT64_C(0xe6d215b730981b09)

/* Two registers of the processor that are the network's. */
#define DRIVER_REGISTER_FILE UINT64_C(0xf960200fcf4f76ab)

/* STATUS: a packet can be sent. */
#define STATUS_ROOM UINT64_C(0x1)

/* STATUS: a packet has arrived. */
#define STATUS_ARRIVED UINT64_C(0x2)

/* SEND_DMA and RECEIVE_DMA: the transfer is under way. */
#define DMA_BUSY UINT64_C(0x1)

/* Bytes of a line: eight 64-bit words. */
#define SARC_LINE_BYTES UINT64_C(0x40)

/* The windows of all tiles: its L2's bytes, way by way. */
#define SARC_WINDOW UINT64_C(0x1000000000)

/* From one tile's window to the next. */
#define SARC_WINDOW_BYTES UINT64_C(0x100000)

/* From one chip's first window to the next chip's. */
#define SARC_CHIP_BYTES UINT64_C(0x8000000)

/* Where in a window the state of its lines begins: a line's role and flags, and its tag. A store to
 * the first word marks the line and clears its tag. */
#define SARC_STATE UINT64_C(0x80000)

/* Bytes of a line's state. */
#define SARC_STATE_BYTES UINT64_C(0x10)

/* Registers of the tile that accesses them, behind SARC_REGISTER offsets. */
#define SARC_REGISTERS UINT64_C(0x1100000000)

/* load: the tile's number on its chip. */
#define SARC_REGISTER_TILE UINT64_C(0x0)

/* load: the chip's number. */
#define SARC_REGISTER_CHIP UINT64_C(0x8)

/* load: tiles of a chip. */
#define SARC_REGISTER_TILES UINT64_C(0x10)

/* load: chips. */
#define SARC_REGISTER_CHIPS UINT64_C(0x18)

/* load: tiles of a process; those of process p begin at tile p times as many. */
#define SARC_REGISTER_TILES_OF_PROCESS UINT64_C(0x20)

/* load: bytes of a tile's L2. */
#define SARC_REGISTER_L2_BYTES UINT64_C(0x28)

/* load: its ways. */
#define SARC_REGISTER_WAYS UINT64_C(0x30)

/* load: locks of the lock box; 0: there is none. */
#define SARC_REGISTER_LOCKS UINT64_C(0x38)

/* load: bytes of a chip's non-cacheable DRAM. */
#define SARC_REGISTER_DRAM_BYTES UINT64_C(0x40)

/* load: the global timer, in cycles of the interface. */
#define SARC_REGISTER_CYCLES UINT64_C(0x48)

/* load: jobs that the tile's interface has still to do. */
#define SARC_REGISTER_JOBS UINT64_C(0x50)

/* load: remote stores of the tile that have not arrived yet. */
#define SARC_REGISTER_STORES UINT64_C(0x58)

/* The lock box, a doubleword a lock. load: 1, the lock was free and is taken now; 0: it is taken.
 * store: it is free. */
#define SARC_LOCK_BOX UINT64_C(0x1100100000)

/* Non-cacheable DRAM of chip 0. */
#define SARC_DRAM UINT64_C(0x1200000000)

/* From one chip's DRAM to the next chip's. */
#define SARC_DRAM_CHIP_BYTES UINT64_C(0x4000000)

/* Addresses for regions that programs define. */
#define SARC_REGIONS UINT64_C(0x1280000000)

/* How many. */
#define SARC_REGIONS_BYTES UINT64_C(0x80000000)

/* Regions begin and end at multiples of it. */
#define SARC_REGION_BYTES UINT64_C(0x1000)

/* Role: a line of the cache. */
#define SARC_ROLE_CACHE UINT64_C(0x0)

/* Role: directly addressed memory. */
#define SARC_ROLE_SCRATCHPAD UINT64_C(0x1)

/* Role: a command buffer. Words: operation | bytes << 8, destination, acknowledgement's address (0:
 * none), source or data. load of word 0: 0, it is free; 1: words are missing still. */
#define SARC_ROLE_COMMAND UINT64_C(0x2)

/* Role: a counter. Words: value (a store adds), reset value, word to be sent at zero, none, four
 * addresses that get it (0: none). */
#define SARC_ROLE_COUNTER UINT64_C(0x3)

/* Role: a queue with one reader. Words: enqueue, tail, head, shape. The items are in the lines
 * behind it. */
#define SARC_ROLE_SINGLE_READER UINT64_C(0x4)

/* Role: a queue with several readers. Words: enqueue or, by a load, dequeue; items that it holds
 * (below zero: readers that wait), none, shape. */
#define SARC_ROLE_MULTIPLE_READER UINT64_C(0x5)

/* State: bits of the role. */
#define SARC_STATE_ROLE UINT64_C(0xff)

/* State: the cache has the line no more. */
#define SARC_STATE_LOCKED UINT64_C(0x100)

/* State: all processes of its owner's job may use it. */
#define SARC_STATE_SHARED UINT64_C(0x200)

/* State: its program has selected it for the first level. */
#define SARC_STATE_FIRST_LEVEL UINT64_C(0x400)

/* State: where the owner's process stands. */
#define SARC_STATE_OWNER UINT64_C(0x10)

/* Operation: a copy of up to SARC_COPY_BYTES bytes, at any alignment. */
#define SARC_OPERATION_COPY UINT64_C(0x1)

/* Operation: a write of 8 to SARC_MESSAGE_WORDS * 8 bytes that follow. */
#define SARC_OPERATION_MESSAGE UINT64_C(0x2)

/* Operation: a write of the word that follows; 8 bytes. */
#define SARC_OPERATION_STORE UINT64_C(0x3)

/* Operation: a read of up to a line; from a queue with several readers it takes an item. */
#define SARC_OPERATION_READ UINT64_C(0x4)

/* Where the bytes stand in a command's first word. */
#define SARC_COMMAND_BYTES UINT64_C(0x8)

/* Most bytes of a copy. */
#define SARC_COPY_BYTES UINT64_C(0x10000)

/* Most words of a message. */
#define SARC_MESSAGE_WORDS UINT64_C(0x5)

/* Shape of a queue: words of an item | items << this; both powers of two. */
#define SARC_QUEUE_ITEMS UINT64_C(0x10)

/* ioctl: tile, lines, SARC_SHARED | SARC_FIRST_LEVEL or 0 -> address; the lines are scratchpad
 * lines of zeros. */
#define SARC_ALLOCATE UINT64_C(0x1)

/* ioctl: address, lines, as allocated or a part of it. */
#define SARC_FREE UINT64_C(0x2)

/* ioctl: address, lines, buffer of SARC_SWAPPED_LINE_BYTES a line; the lines are free then. */
#define SARC_SWAP_OUT UINT64_C(0x3)

/* ioctl: address, lines, buffer; the same lines, which have to be free. */
#define SARC_SWAP_IN UINT64_C(0x4)

/* ioctl: bytes, SARC_SHARED or 0 -> address, a multiple of 4096. */
#define SARC_DRAM_ALLOCATE UINT64_C(0x5)

/* ioctl: address -> the first word of its line's state; 0 unless the process may use the line. For
 * lines of other tiles, whose states cannot be loaded. */
#define SARC_QUERY UINT64_C(0x6)

/* ioctl: first address, bytes, place of the first byte (as allocated), SARC_LOADS | SARC_STORES; in
 * the place of the region with the same first address, if there is one. */
#define SARC_DEFINE_REGION UINT64_C(0x7)

/* ioctl: first address of a region. */
#define SARC_REMOVE_REGION UINT64_C(0x8)

/* A region may be loaded from. */
#define SARC_LOADS UINT64_C(0x1)

/* A region may be stored to. */
#define SARC_STORES UINT64_C(0x2)

/* All processes of the job may use it. */
#define SARC_SHARED UINT64_C(0x1)

/* The first level may keep the lines while they are plain memory, where the hardware lets it. */
#define SARC_FIRST_LEVEL UINT64_C(0x2)

/* Bytes of a line that was swapped out. */
#define SARC_SWAPPED_LINE_BYTES UINT64_C(0x50)

/* Bytes of a descriptor of a buffer. */
#define BUFFER_DESCRIPTOR_BYTES UINT64_C(0x10)

/* Its flag, which is 1 for a new one in the ring's first lap. */
#define BUFFER_DESCRIPTOR_READY UINT64_C(0x100000000)

/* The most buffers of a direction. */
#define MOST_RING_BUFFERS UINT64_C(0x400)

/* Bytes of a descriptor of a virtqueue. */
#define VIRTQ_DESCRIPTOR_BYTES UINT64_C(0x10)

/* Flag of a descriptor: another one follows in its chain. */
#define VIRTQ_DESC_F_NEXT UINT64_C(0x1)

/* Flag of a descriptor: the device writes the buffer. */
#define VIRTQ_DESC_F_WRITE UINT64_C(0x2)

/* Flag of a used ring: the device needs no kicks. */
#define VIRTQ_USED_F_NO_NOTIFY UINT64_C(0x1)

/* Flag of an available ring: the driver needs no interrupts. */
#define VIRTQ_AVAIL_F_NO_INTERRUPT UINT64_C(0x1)

/* Bit of a queue's thresholds: kicks follow the event index. */
#define VIRTIO_EVENT_INDEX UINT64_C(0x8000000000000000)

/* Bit of the receive queue's thresholds: the driver may wait for interrupts. */
#define VIRTIO_INTERRUPTS UINT64_C(0x4000000000000000)

/* Number of the receive queue. */
#define VIRTIO_RECEIVE_QUEUE UINT64_C(0x0)

/* Number of the send queue. */
#define VIRTIO_SEND_QUEUE UINT64_C(0x1)

/* The control word of a send line that may be filled. */
#define SEND_LINE_IS_FREE UINT64_C(0x1)

/* via_scheme: eager data transfer, coherent receive. */
#define VIA_SCHEME_EDT UINT64_C(0x1)

/* via_scheme: eager data transfer, received blocks go home. */
#define VIA_SCHEME_EDT_DMA_RECEIVE UINT64_C(0x2)

/* via_scheme: coherent DMA, caches supply newer data. */
#define VIA_SCHEME_DMA_INTERVENTION UINT64_C(0x3)

/* via_scheme: coherent DMA, caches write newer data home first. */
#define VIA_SCHEME_DMA_RETRY UINT64_C(0x4)

/* via_scheme: DMA that caches do not see; software flushes. */
#define VIA_SCHEME_DMA_FLUSH UINT64_C(0x5)

/* via_scheme: stores to and loads from the window. */
#define VIA_SCHEME_PIO UINT64_C(0x6)

/* via_scheme: the same, the processor joins stores. */
#define VIA_SCHEME_PIO_COMBINING UINT64_C(0x7)

/* From one VI's doorbells to the next one's, in the page of doorbells. */
#define VIA_DOORBELL_STRIDE UINT64_C(0x10)

/* The send doorbell among them; a store of a descriptor's address rings. */
#define VIA_DOORBELL_SEND UINT64_C(0x0)

/* The receive doorbell among them. */
#define VIA_DOORBELL_RECEIVE UINT64_C(0x8)

/* Bytes of a process's window into the interface's memory. */
#define VIA_WINDOW_BYTES UINT64_C(0x10000)

/* Doublewords of a command to the firmware. */
#define VIA_COMMAND_WORDS UINT64_C(0x8)

/* ioctl: command page -> sequence. */
#define VIA_OPEN UINT64_C(0x1)

/* ioctl: -> sequence; everything of the process is released. */
#define VIA_CLOSE UINT64_C(0x2)

/* ioctl: address, length, protection tag, attributes -> memory handle, sequence. */
#define VIA_REGISTER UINT64_C(0x3)

/* ioctl: memory handle -> sequence; the pages stay pinned. */
#define VIA_DEREGISTER UINT64_C(0x4)

/* ioctl: memory handle, or 0 for the command page; unpins what the firmware has let go. */
#define VIA_RELEASE UINT64_C(0x5)

/* ioctl: -> protection tag. */
#define VIA_CREATE_PTAG UINT64_C(0x6)

/* ioctl: protection tag. */
#define VIA_DESTROY_PTAG UINT64_C(0x7)

/* ioctl: tag, attributes, largest transfer, send and receive CQ (0: none) -> VI, sequence. */
#define VIA_CREATE_VI UINT64_C(0x8)

/* ioctl: VI -> sequence. */
#define VIA_DESTROY_VI UINT64_C(0x9)

/* ioctl: VI, remote node, discriminator, attributes -> sequence. */
#define VIA_CONNECT_REQUEST UINT64_C(0xa)

/* ioctl: discriminator -> sequence. */
#define VIA_CONNECT_WAIT UINT64_C(0xb)

/* ioctl: connection, VI -> sequence. */
#define VIA_CONNECT_ACCEPT UINT64_C(0xc)

/* ioctl: connection -> sequence. */
#define VIA_CONNECT_REJECT UINT64_C(0xd)

/* ioctl: sequence of a request that waits -> sequence. */
#define VIA_CANCEL UINT64_C(0xe)

/* ioctl: VI -> sequence. */
#define VIA_DISCONNECT UINT64_C(0xf)

/* ioctl: address, length, entries -> CQ, its memory handle, sequence. */
#define VIA_CREATE_CQ UINT64_C(0x10)

/* ioctl: CQ -> sequence. */
#define VIA_DESTROY_CQ UINT64_C(0x11)

/* ioctl: -> the most VIs, tags, handles, CQs, commands that wait, pages of a region. */
#define VIA_QUERY UINT64_C(0x12)

/* the latency of reads */
#define BENCH_LAT_RD UINT64_C(0x0)

/* the latency of a write and a read of the same bytes behind it */
#define BENCH_LAT_WRRD UINT64_C(0x1)

/* the time of reads, as many under way as there may be */
#define BENCH_BW_RD UINT64_C(0x2)

/* the same of writes */
#define BENCH_BW_WR UINT64_C(0x3)

/* the same of reads and writes in turn */
#define BENCH_BW_RW UINT64_C(0x4)

/* by the DMA engine; without it by the command path */
#define BENCH_DMA UINT64_C(0x10)

/* voyager_kind: queues of the hardware. */
#define VOYAGER_KIND_RESIDENT UINT64_C(0x1)

/* voyager_kind: queues of the firmware. */
#define VOYAGER_KIND_NONRESIDENT UINT64_C(0x2)

/* voyager_kind: queues of both in turn. */
#define VOYAGER_KIND_HYBRID UINT64_C(0x3)

/* voyager_kind: cachable queues in snooped space; programs cannot open more of them. */
#define VOYAGER_KIND_CACHABLE UINT64_C(0x4)

/* Added to VOYAGER_KIND_RESIDENT of a transmit queue: its messages have the network's high
 * priority. */
#define VOYAGER_KIND_URGENT UINT64_C(0x100)

/* Added to VOYAGER_KIND_HYBRID of a transmit queue: its messages are stores to serviced space,
 * which firmware alone serves. */
#define VOYAGER_KIND_STORES UINT64_C(0x200)

/* Bytes of a queue's slot. */
#define VOYAGER_SLOT_BYTES UINT64_C(0x60)

/* Most bytes of payload of a message. */
#define VOYAGER_PAYLOAD_LIMIT UINT64_C(0x58)

/* Pointer window: the producer; a transmit queue's is stored by its program. */
#define VOYAGER_POINTER_PRODUCER UINT64_C(0x0)

/* Pointer window: the consumer; a receive queue's is stored by its program. */
#define VOYAGER_POINTER_CONSUMER UINT64_C(0x8)

/* Pointer window: a VOYAGER_STATUS number. */
#define VOYAGER_POINTER_STATUS UINT64_C(0x10)

/* Pointer window of a hybrid transmit queue: 1 if its messages are stores to serviced space, else
 * 0. */
#define VOYAGER_POINTER_STORES UINT64_C(0x18)

/* Status: the queue works. */
#define VOYAGER_STATUS_OPEN UINT64_C(0x0)

/* Status: it is not open. */
#define VOYAGER_STATUS_CLOSED UINT64_C(0x1)

/* Status: a pointer was stored that cannot be. */
#define VOYAGER_STATUS_BAD_POINTER UINT64_C(0x2)

/* Status: a message had a destination that its process has not. */
#define VOYAGER_STATUS_BAD_DESTINATION UINT64_C(0x3)

/* Status: a message had too many bytes of payload. */
#define VOYAGER_STATUS_BAD_LENGTH UINT64_C(0x4)

/* Status: the firmware has still to close it. */
#define VOYAGER_STATUS_CLOSING UINT64_C(0x5)

/* Status: its program has left it full, and it has held up others for too long. */
#define VOYAGER_STATUS_NOT_DRAINED UINT64_C(0x6)

/* ioctl: is receive, kind, slots, number k, buffer (non-resident) -> logical queue, pointer window,
 * buffer. */
#define VOYAGER_OPEN UINT64_C(0x1)

/* ioctl: is receive, number k. It is closed when its status says so. */
#define VOYAGER_CLOSE UINT64_C(0x2)

/* ioctl: address, length; block transfers may read and write there. */
#define VOYAGER_DMA_REGISTER UINT64_C(0x3)

/* ioctl: address, length, as registered. */
#define VOYAGER_DMA_DEREGISTER UINT64_C(0x4)

/* ioctl: method, rank, local address, its address at the rank, bytes, channel of the rank (all
 * ones: none), number k of the own receive queue for the acknowledgement (all ones: none). */
#define VOYAGER_DMA UINT64_C(0x5)

/* ioctl: channel, packets, number k of the receive queue that tells when they have come, value that
 * it tells. */
#define VOYAGER_CHANNEL_SET UINT64_C(0x6)

/* ioctl: channel; it is as if it had not been set. Packets that still come count. */
#define VOYAGER_CHANNEL_CLEAR UINT64_C(0x9)

/* ioctl: -> queues, channels, slots of a transfer's packets, bytes of SRAM left. */
#define VOYAGER_QUERY UINT64_C(0x7)

/* ioctl: bytes, whole packets -> offset in the process's part of SRAM, command window, cachable
 * address; once a process. */
#define VOYAGER_STAGING UINT64_C(0x8)

/* Command window: store: the next doubleword of a command of the process; load: how many more its
 * queue takes. */
#define VOYAGER_WINDOW_ISSUE UINT64_C(0x0)

/* Command window: load: the VOYAGER_FAULT of the last command that failed, 0 if none has; store:
 * none has. */
#define VOYAGER_WINDOW_FAULT UINT64_C(0x8)

/* Command of a program: offset in its part of SRAM << 32; its address | bytes << 48. */
#define VOYAGER_ISSUE_READ UINT64_C(0x6)

/* Command of a program: offset in its part of SRAM << 32 | channel there (255: none) << 52 |
 * receive queue k << 24 (with TOLD); address there | bytes << 48; virtual destination, of which the
 * process counts. */
#define VOYAGER_ISSUE_TRANSMIT UINT64_C(0x7)

/* Command of a program: channel << 24 | packets << 32; 1 | receive queue k << 8 | value << 32. */
#define VOYAGER_ISSUE_COUNTER UINT64_C(0x8)

/* Command of a program: nothing but its completion. */
#define VOYAGER_ISSUE_COMPLETE UINT64_C(0xe)

/* Of a program's command: its receive queue k, in bits 16 to 23, gets a message once it is
 * complete: the VOYAGER_FAULT of it or of one before it, or 0. */
#define VOYAGER_ISSUE_NOTIFY UINT64_C(0x100)

/* Of a program's command: it waits until those before it are complete. */
#define VOYAGER_ISSUE_ORDERED UINT64_C(0x200)

/* Of ISSUE_TRANSMIT: it follows the program's last ISSUE_READ line by line. */
#define VOYAGER_ISSUE_CHAINED UINT64_C(0x400)

/* Of ISSUE_TRANSMIT: the receive queue in bits 24 to 31 gets a VOYAGER_USER_REFUSED if a packet of
 * the transfer is refused there, once its last one has been there. */
#define VOYAGER_ISSUE_TOLD UINT64_C(0x800)

/* Of ISSUE_TRANSMIT: it is the last one of its transfer. */
#define VOYAGER_ISSUE_LAST UINT64_C(0x1000)

/* A command without sense. */
#define VOYAGER_FAULT_OPERAND UINT64_C(0x1)

/* A command with an SRAM address that is not allowed. */
#define VOYAGER_FAULT_SRAM UINT64_C(0x2)

/* A command with a memory address that is not allowed. */
#define VOYAGER_FAULT_ADDRESS UINT64_C(0x3)

/* A command with a node or queue that does not exist. */
#define VOYAGER_FAULT_DESTINATION UINT64_C(0x4)

/* The user's byte of a message which tells that a block's receiver has not registered what it goes
 * to. */
#define VOYAGER_USER_REFUSED UINT64_C(0xfe)

/* DMA: hardware at both ends. */
#define VOYAGER_DMA_HARDWARE UINT64_C(0x0)

/* DMA: firmware at both ends. */
#define VOYAGER_DMA_FIRMWARE UINT64_C(0x1)

/* DMA: firmware sends, hardware receives. */
#define VOYAGER_DMA_FIRMWARE_SENDS UINT64_C(0x2)

/* DMA: bytes of data in a packet, from a multiple of it on; a channel counts packets. */
#define VOYAGER_BLOCK_PACKET_BYTES UINT64_C(0x40)

/* Bytes of a descriptor. */
#define DESCRIPTOR_BYTES UINT64_C(0x10)

/* Control of a send descriptor: report when it is done. */
#define DESCRIPTOR_REPORT UINT64_C(0x8000000)

/* Control of a descriptor: the interface is done with it. */
#define DESCRIPTOR_DONE UINT64_C(0x100000000)

/* From a further receive queue's registers to the next one's. */
#define RECEIVE_QUEUE_STRIDE UINT64_C(0x40)

/* Entries of the table at RECEIVE_TABLE. */
#define RECEIVE_TABLE_ENTRIES UINT64_C(0x80)

/* RECEIVE_RING_INTERRUPT: it is enabled. */
#define RING_INTERRUPT_ENABLED UINT64_C(0x1)

/* RECEIVE_RING_INTERRUPT: the driver may wait for it. */
#define RING_INTERRUPT_PRESENT UINT64_C(0x2)

/* Bytes of a basic block of a send queue. */
#define VERBS_BASIC_BLOCK UINT64_C(0x40)

/* Bytes of a segment of a work request. */
#define VERBS_SEGMENT UINT64_C(0x10)

/* Bytes of a half of the BlueFlame register. */
#define VERBS_BLUE_FLAME_HALF UINT64_C(0x100)

/* The number of a process's first queue pair. */
#define VERBS_FIRST_QUEUE_PAIR UINT64_C(0x40)

/* Bytes of a datagram's segments that say where it goes. */
#define VERBS_ADDRESS UINT64_C(0x30)

/* Bytes before the payload of a datagram in its receive. */
#define VERBS_ROUTE_HEADER UINT64_C(0x28)

/* The most bytes of payload in a completion. */
#define VERBS_SCATTERED UINT64_C(0x20)

/* Length of an inline segment: the bit that tells it from others. */
#define VERBS_INLINE UINT64_C(0x80000000)

/* The local key that ends the segments of a receive. */
#define VERBS_NO_KEY UINT64_C(0x100)

/* Control segment: a completion is wanted. */
#define VERBS_SIGNALLED UINT64_C(0x8)

/* Control segment: not before what earlier requests fetch is here. */
#define VERBS_FENCED UINT64_C(0x80)

/* Control segment: the completion at the other end is solicited. */
#define VERBS_SOLICITED UINT64_C(0x200)

/* Upper half of VERBS_ARM, beside the completions taken, modulo 2^24: only solicited ones count. */
#define VERBS_ARM_SOLICITED UINT64_C(0x1000000)

/* Where the events taken stand there, modulo 4. */
#define VERBS_ARM_SEQUENCE_SHIFT UINT64_C(0x1c)

/* Bytes of an event. */
#define VERBS_EVENT UINT64_C(0x40)

/* Opcode: RDMA write. */
#define VERBS_WRITE UINT64_C(0x8)

/* Opcode: RDMA write with immediate. */
#define VERBS_WRITE_IMMEDIATE UINT64_C(0x9)

/* Opcode: send. */
#define VERBS_SEND UINT64_C(0xa)

/* Opcode: send with immediate. */
#define VERBS_SEND_IMMEDIATE UINT64_C(0xb)

/* Opcode: RDMA read. */
#define VERBS_READ UINT64_C(0x10)

/* Opcode: a word becomes another one if it is as expected. */
#define VERBS_COMPARE_SWAP UINT64_C(0x11)

/* Opcode: something is added to a word. */
#define VERBS_FETCH_ADD UINT64_C(0x12)

/* Doublewords of a request. */
#define VERBS_REQUEST_WORDS UINT64_C(0xa)

/* ioctl: -> BlueFlame register (0: none), most bytes inline, of a packet, objects, entries, reads
 * and atomics under way. */
#define VERBS_QUERY UINT64_C(0x1)

/* ioctl: -> protection domain. */
#define VERBS_CREATE_DOMAIN UINT64_C(0x2)

/* ioctl: protection domain. */
#define VERBS_DESTROY_DOMAIN UINT64_C(0x3)

/* ioctl: address, bytes, access, protection domain -> key. */
#define VERBS_REGISTER UINT64_C(0x4)

/* ioctl: key. */
#define VERBS_DEREGISTER UINT64_C(0x5)

/* ioctl: address, logarithm of entries, record -> completion queue. */
#define VERBS_CREATE_COMPLETION_QUEUE UINT64_C(0x6)

/* ioctl: completion queue. */
#define VERBS_DESTROY_COMPLETION_QUEUE UINT64_C(0x7)

/* ioctl: address, logarithms of entries and segments, record, domain -> receive queue. */
#define VERBS_CREATE_RECEIVE_QUEUE UINT64_C(0x8)

/* ioctl: receive queue. */
#define VERBS_DESTROY_RECEIVE_QUEUE UINT64_C(0x9)

/* ioctl: address, logarithm of blocks, completion queues of sends and receives, receive queue,
 * domain, flags: 1 for payload in completions, 2 for whole blocks of what is received, 4 for
 * datagrams -> queue pair. */
#define VERBS_CREATE_QUEUE_PAIR UINT64_C(0xa)

/* ioctl: queue pair. */
#define VERBS_DESTROY_QUEUE_PAIR UINT64_C(0xb)

/* ioctl: queue pair, peer's rank, its queue pair, its first packet, MTU, access, delay for want of
 * a receive (ns), reads and atomics of the peer. */
#define VERBS_CONNECT UINT64_C(0xc)

/* ioctl: queue pair, state; to initialise one for datagrams: its queue key; to send: first packet,
 * timeout, retries, retries for want of a receive, reads and atomics under way. */
#define VERBS_SET_STATE UINT64_C(0xd)

/* ioctl: queue pair -> state. */
#define VERBS_QUERY_QUEUE_PAIR UINT64_C(0xe)

/* ioctl: address, logarithm of entries -> event queue, whose number is its vector. */
#define VERBS_CREATE_EVENT_QUEUE UINT64_C(0xf)

/* ioctl: event queue. */
#define VERBS_DESTROY_EVENT_QUEUE UINT64_C(0x10)

/* ioctl: completion queue, event queue to which its events go. */
#define VERBS_NOTIFY UINT64_C(0x11)

/* where STATUS has the number of contexts */
#define STATUS_CONTEXTS_SHIFT UINT64_C(0x8)

/* the control register that says whose x30 and x31 are */
#define CSR_NETMAP UINT64_C(0x801)

/* store: the address of the window */
#define REGISTER_BENCH_WINDOW UINT64_C(0x0)

/* load: bit 0, a packet can be sent; bit 1, a packet has arrived */
#define REGISTER_STATUS UINT64_C(0x0)

/* store: how many units the window has */
#define REGISTER_BENCH_UNITS UINT64_C(0x8)

/* store: the next doubleword of the packet to be sent, header first */
#define REGISTER_SEND UINT64_C(0x8)

/* store: bytes from one unit to the next */
#define REGISTER_BENCH_UNIT UINT64_C(0x10)

/* load: the next doubleword of the packet at the head, header first */
#define REGISTER_RECEIVE UINT64_C(0x10)

/* store: where in its unit an access begins */
#define REGISTER_BENCH_OFFSET UINT64_C(0x18)

/* load: the running context; store: the one that runs from now on */
#define REGISTER_CONTEXT UINT64_C(0x18)

/* store: so many more messages are in the send queue */
#define REGISTER_MESSAGE_READY UINT64_C(0x18)

/* store: bytes of an access */
#define REGISTER_BENCH_SIZE UINT64_C(0x20)

/* store: the cachable registers have been read and may be reused */
#define REGISTER_CLEAR UINT64_C(0x20)

/* load: the context that the interface chooses */
#define REGISTER_NEXT UINT64_C(0x20)

/* store: 0, units in turn; else the seed of random ones */
#define REGISTER_BENCH_PATTERN UINT64_C(0x28)

/* store: a handler in bits 0-7, whose messages are those of the context in bits 8-15 */
#define REGISTER_BIND UINT64_C(0x28)

/* store: accesses of a test */
#define REGISTER_BENCH_COUNT UINT64_C(0x30)

/* store: a context in bits 0-7, and its priority in bits 8-15; 0 is the highest */
#define REGISTER_PRIORITY UINT64_C(0x30)

/* store: the test that begins, with BENCH_DMA for the DMA engine */
#define REGISTER_BENCH_START UINT64_C(0x38)

/* store: the running context has done with its message */
#define REGISTER_DONE UINT64_C(0x38)

/* load: accesses of the test that are not over */
#define REGISTER_BENCH_LEFT UINT64_C(0x40)

/* load: bytes of payload of the longest message that is pushed as one */
#define REGISTER_MESSAGE UINT64_C(0x40)

/* store: address of a payload to send by DMA; load: starts it, 1 while it lasts */
#define REGISTER_SEND_DMA UINT64_C(0x40)

/* load: the next latency, in steps of the timer */
#define REGISTER_BENCH_SAMPLE UINT64_C(0x48)

/* store: where to put the payload by DMA; load: starts it, 1 while it lasts */
#define REGISTER_RECEIVE_DMA UINT64_C(0x48)

/* load: the time of the last test, in picoseconds */
#define REGISTER_BENCH_ELAPSED UINT64_C(0x50)

/* load: a step of the timer, in picoseconds */
#define REGISTER_BENCH_TIMER UINT64_C(0x58)

/* store: where the send ring begins */
#define REGISTER_SEND_RING UINT64_C(0x80)

/* store: how many descriptors it has */
#define REGISTER_SEND_RING_SIZE UINT64_C(0x88)

/* load: its first descriptor whose packet has not left */
#define REGISTER_SEND_RING_HEAD UINT64_C(0x90)

/* store: its first descriptor that is not handed over */
#define REGISTER_SEND_RING_TAIL UINT64_C(0x98)

/* load: most packets of a burst; from bit 16 on the report's threshold, 32 to free */
#define REGISTER_SEND_RING_THRESHOLDS UINT64_C(0xa0)

/* store: where the receive ring begins */
#define REGISTER_RECEIVE_RING UINT64_C(0xc0)

/* store: how many descriptors it has */
#define REGISTER_RECEIVE_RING_SIZE UINT64_C(0xc8)

/* load: its first descriptor whose buffer is not filled */
#define REGISTER_RECEIVE_RING_HEAD UINT64_C(0xd0)

/* store: its first descriptor that is not handed over */
#define REGISTER_RECEIVE_RING_TAIL UINT64_C(0xd8)

/* load: buffers that are handed over together */
#define REGISTER_RECEIVE_RING_THRESHOLDS UINT64_C(0xe0)

/* store: 1 enables one interrupt, 0 disables it; load: the same, and 2 where the machine has it */
#define REGISTER_RECEIVE_RING_INTERRUPT UINT64_C(0xe8)

/* store: the vector of its messages, at first the queue's number; load: the same */
#define REGISTER_RECEIVE_RING_VECTOR UINT64_C(0xf0)

/* load: the receive queues of this process */
#define REGISTER_RECEIVE_QUEUES UINT64_C(0xf8)

/* load: the first doubleword at the head, which stays; more follow */
#define REGISTER_RECEIVE_WINDOW UINT64_C(0x100)

/* store: the first doubleword of the last work request that is posted */
#define REGISTER_VERBS_DOORBELL UINT64_C(0x100)

/* store: arms a completion queue: its number, in the upper half how */
#define REGISTER_VERBS_ARM UINT64_C(0x120)

/* the registers of receive queue 1, as those of queue 0 from RECEIVE_RING on */
#define REGISTER_FURTHER_RECEIVE_QUEUE UINT64_C(0x440)

/* block store: the next block of the packet to be sent; block load: of the packet at the head */
#define REGISTER_BLOCK UINT64_C(0x800)

/* the first of 16 doublewords with 8 entries each of the table that steers packets */
#define REGISTER_RECEIVE_TABLE UINT64_C(0x900)

/* store: a bit for each vector that is masked; load: the same */
#define REGISTER_VECTOR_MASK UINT64_C(0x980)

/* load: a bit for each vector whose message waits until it is unmasked */
#define REGISTER_VECTOR_PENDING UINT64_C(0x988)

/* store: how many descriptors the send queue has */
#define REGISTER_VIRTIO_SEND_SIZE UINT64_C(0xa00)

/* store: where its descriptor table begins */
#define REGISTER_VIRTIO_SEND_DESCRIPTORS UINT64_C(0xa08)

/* store: where its available ring begins */
#define REGISTER_VIRTIO_SEND_DRIVER UINT64_C(0xa10)

/* store: where its used ring begins */
#define REGISTER_VIRTIO_SEND_DEVICE UINT64_C(0xa18)

/* store: 1, when the registers before are right */
#define REGISTER_VIRTIO_SEND_ENABLE UINT64_C(0xa20)

/* load: most packets that are made available together; from bit 32 on the free ones below which
 * used ones are looked for; bit 63: event index */
#define REGISTER_VIRTIO_SEND_THRESHOLDS UINT64_C(0xa28)

/* store: the kick, 2 bytes: the queue's number */
#define REGISTER_VIRTIO_SEND_NOTIFY UINT64_C(0xa30)

/* store: how many descriptors the receive queue has */
#define REGISTER_VIRTIO_RECEIVE_SIZE UINT64_C(0xa40)

/* store: where its descriptor table begins */
#define REGISTER_VIRTIO_RECEIVE_DESCRIPTORS UINT64_C(0xa48)

/* store: where its available ring begins */
#define REGISTER_VIRTIO_RECEIVE_DRIVER UINT64_C(0xa50)

/* store: where its used ring begins */
#define REGISTER_VIRTIO_RECEIVE_DEVICE UINT64_C(0xa58)

/* store: 1, when the registers before are right */
#define REGISTER_VIRTIO_RECEIVE_ENABLE UINT64_C(0xa60)

/* load: buffers that are made available together; bit 62: interrupts; bit 63: event index */
#define REGISTER_VIRTIO_RECEIVE_THRESHOLDS UINT64_C(0xa68)

/* store: the kick, 2 bytes: the queue's number */
#define REGISTER_VIRTIO_RECEIVE_NOTIFY UINT64_C(0xa70)

/* the block that is to be stored to a device */
#define BLOCK_BUFFER_SEND UINT64_C(0x0)

/* the block that was loaded from a device */
#define BLOCK_BUFFER_RECEIVE UINT64_C(0x100)

/* store of a device's address: the send buffer is stored there */
#define BLOCK_BUFFER_FLUSH UINT64_C(0x200)

/* store of a device's address: the receive buffer is loaded from there */
#define BLOCK_BUFFER_LOAD UINT64_C(0x208)

/* Every driver that each program has: its number and its name. */
#define EVERY_DRIVER(EACH)                                                                         \
    EACH(DRIVER_FIFO, fifo)                                                                        \
    EACH(DRIVER_CACHABLE_QUEUE, cachable_queue)                                                    \
    EACH(DRIVER_BLOCK_BUFFER, block_buffer)                                                        \
    EACH(DRIVER_USER_LEVEL_DMA, user_level_dma)                                                    \
    EACH(DRIVER_CACHABLE_REGISTER, cachable_register)                                              \
    EACH(DRIVER_VIA, via)                                                                          \
    EACH(DRIVER_VOYAGER, voyager)

/* What the simulator tells a program about its machine. */
struct narthex_information {
    /* the bytes NARTHEX and a zero */
    uint64_t magic;
    /* of this layout */
    uint64_t version;
    /* this node's number */
    uint64_t node;
    /* nodes in the machine */
    uint64_t nodes;
    /* how to send: one of the DRIVER numbers */
    uint64_t send_driver;
    /* address of the registers */
    uint64_t register_page;
    /* bytes in a packet, header included */
    uint64_t packet_bytes;
    /* bytes of its header */
    uint64_t header_bytes;
    /* bytes of payload that fit */
    uint64_t payload_bytes;
    /* bytes in a coherence block */
    uint64_t block_bytes;
    /* address of the send queue */
    uint64_t send_queue;
    /* messages that it holds; blocks, where it is cachable registers */
    uint64_t send_entries;
    /* address of the receive queue */
    uint64_t receive_queue;
    /* messages that it holds; blocks, where it is cachable registers */
    uint64_t receive_entries;
    /* bytes of a queue's entry */
    uint64_t entry_bytes;
    /* address of the send queue's tail pointer */
    uint64_t send_tail;
    /* address of the send queue's head pointer */
    uint64_t send_head;
    /* address of the receive queue's head pointer */
    uint64_t receive_head;
    /* 0: store to MESSAGE_READY; 1: store the tail pointer */
    uint64_t message_ready;
    /* 1: a blocked sender need not drain the interface */
    uint64_t overflows_to_memory;
    /* of the run */
    uint64_t seed;
    /* how to receive: one of the DRIVER numbers */
    uint64_t receive_driver;
    /* this process's number on its node */
    uint64_t process;
    /* processes on each node */
    uint64_t processes;
    /* address of the memory that the node's processes share */
    uint64_t node_memory;
    /* bytes of it */
    uint64_t node_memory_bytes;
    /* address of the processor's block buffers */
    uint64_t block_buffers;
    /* largest payload of a packet that goes by loads and stores rather than DMA */
    uint64_t dma_above;
    /* addresses that differ by this fall on the same lines of the processor's data cache */
    uint64_t colours_bytes;
    /* how data crosses to a via interface: a VIA_SCHEME number, or 0 */
    uint64_t via_scheme;
    /* address of the process's page of doorbells */
    uint64_t via_doorbells;
    /* address of the process's window into the interface's memory */
    uint64_t via_window;
    /* bytes of user data that fit into a packet */
    uint64_t via_mtu;
    /* VIs of a node */
    uint64_t via_vis;
    /* how a voyager interface keeps the queues of its driver: a VOYAGER_KIND number, or 0 */
    uint64_t voyager_kind;
    /* queues that a process may open in each direction; virtual destination = rank * voyager_queues
     * + k */
    uint64_t voyager_queues;
    /* slots of a queue of its driver */
    uint64_t voyager_slots;
    /* address of the process's page of serviced space */
    uint64_t voyager_serviced;
    /* address of the process's part of the snooped space, or 0 */
    uint64_t voyager_snooped;
    /* bytes of it */
    uint64_t voyager_snooped_bytes;
    /* channels of a process */
    uint64_t voyager_channels;
};

#endif
