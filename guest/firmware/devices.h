/* The registers of devices that firmware serves, and its activities. Generated from what
 * interfaces/src declares by `make headers`; do not edit. */
#ifndef NARTHEX_FIRMWARE_DEVICES_H
#define NARTHEX_FIRMWARE_DEVICES_H

/* Where the forwarder's registers are. */
#define FORWARDER_REGISTERS 0x70000000ul

/* STATUS, and line 0: a packet from the host waits. */
#define FORWARDER_FROM_HOST 0x1ul

/* STATUS, and line 1: a packet from the network waits. */
#define FORWARDER_FROM_NETWORK 0x2ul

/* STATUS, and line 2: a packet to the network can be written. */
#define FORWARDER_NETWORK_ROOM 0x4ul

/* STATUS, and line 3: a packet to the host can be written. */
#define FORWARDER_HOST_ROOM 0x8ul

/* load: what there is to do */
#define REGISTER_FORWARDER_STATUS 0x0ul

/* load: the next doubleword of the packet from the host */
#define REGISTER_FORWARDER_HOST_RECEIVE 0x8ul

/* store: the next doubleword of a packet to the host */
#define REGISTER_FORWARDER_HOST_SEND 0x10ul

/* load: the next doubleword of the packet from the network */
#define REGISTER_FORWARDER_NETWORK_RECEIVE 0x18ul

/* store: the next doubleword of a packet to the network */
#define REGISTER_FORWARDER_NETWORK_SEND 0x20ul

/* Where the via device's registers are. */
#define VIA_REGISTERS 0x70001000ul

/* STATUS, and line 0: a doorbell waits. */
#define VIA_DOORBELL_WAITS 0x1ul

/* STATUS, and line 1: a command of the kernel agent waits. */
#define VIA_COMMAND_WAITS 0x2ul

/* STATUS, and line 2: a packet has been received. */
#define VIA_PACKET_RECEIVED 0x4ul

/* STATUS, and line 3: the network-side DMA can be started. */
#define VIA_CAN_SEND 0x8ul

/* STATUS, and line 4: the awaited blocks are whole, none is under way. */
#define VIA_AWAITED 0x10ul

/* STATUS, and line 5: no update and no put is under way. */
#define VIA_UPDATED 0x20ul

/* STATUS, and line 6: no tag is being initialised. */
#define VIA_INITIALISED 0x40ul

/* Bits of STATUS; the DMA engine's interrupt line follows them. */
#define VIA_LINES 0x7ul

/* What DOORBELL_SOURCE shows where no doorbell waits. */
#define VIA_NOTHING 0xfffffffffffffffful

/* Of a header's first doubleword: the packet-to-address table may place it. */
#define VIA_PACKET_PLACED 0x100ul

/* Bytes of a packet's header in the interface's memory. */
#define VIA_HEADER_BYTES 0x20ul

/* load: what there is to do, by the VIA bits; each is an interrupt line of that number */
#define REGISTER_VIA_STATUS 0x0ul

/* load: how data crosses, one of the VIA_SCHEME numbers */
#define REGISTER_VIA_SCHEME 0x8ul

/* load: this node's number, and the number of nodes in the upper half */
#define REGISTER_VIA_NODE 0x10ul

/* load: the VIs of the node, the tags in the upper half */
#define REGISTER_VIA_LIMITS 0x18ul

/* load: bytes of a coherence block, bytes of user data in a packet in the upper half */
#define REGISTER_VIA_BLOCK 0x20ul

/* load: of the oldest doorbell, process << 32 | vi << 1 | is it receive; all ones if none */
#define REGISTER_VIA_DOORBELL_SOURCE 0x28ul

/* load: the value of the oldest doorbell, which is gone then */
#define REGISTER_VIA_DOORBELL 0x30ul

/* load: the next doubleword of the oldest command, which is gone after the last one */
#define REGISTER_VIA_COMMAND 0x38ul

/* store: where the 32 bytes of a packet's header are in the interface's memory */
#define REGISTER_VIA_SEND_HEADER 0x40ul

/* store: where its payload is */
#define REGISTER_VIA_SEND_PAYLOAD 0x48ul

/* store: destination node << 32 | bytes of payload; the packet is sent */
#define REGISTER_VIA_SEND_START 0x50ul

/* store: a free slot of the interface's memory, for a header and the user data of a packet */
#define REGISTER_VIA_RECEIVE_BUFFER 0x58ul

/* load: the slot of the oldest packet received; 0 if there is none */
#define REGISTER_VIA_RECEIVED_SLOT 0x60ul

/* load: where its payload is, in the slot or at its VI's place; the packet is gone then */
#define REGISTER_VIA_RECEIVED_PAYLOAD 0x68ul

/* store: the VI of which the packet-to-address table is changed */
#define REGISTER_VIA_PLACE_SELECT 0x70ul

/* store: where in the interface's memory a message of the VI goes */
#define REGISTER_VIA_PLACE_ADDRESS 0x78ul

/* store: bytes that fit there, above them the message's number; 0 bytes take the place away */
#define REGISTER_VIA_PLACE_LENGTH 0x80ul

/* store: the tag that the next stores change */
#define REGISTER_VIA_TAG_SELECT 0x88ul

/* store: the first host address of the selected tag's region (SHA) */
#define REGISTER_VIA_TAG_HOST_START 0x90ul

/* store: the end of it (EHA) */
#define REGISTER_VIA_TAG_HOST_END 0x98ul

/* store: the first address of its copy in the interface's memory (SNA) */
#define REGISTER_VIA_TAG_NI_START 0xa0ul

/* store: the end of it (ENA) */
#define REGISTER_VIA_TAG_NI_END 0xa8ul

/* store: the access bit (A); 1 begins the initialisation, 0 ends the tag */
#define REGISTER_VIA_TAG_CONTROL 0xb0ul

/* store: the first address in the interface's memory of a copy to wait for */
#define REGISTER_VIA_AWAIT_ADDRESS 0xb8ul

/* store: its bytes; STATUS shows when no block of it changes any more */
#define REGISTER_VIA_AWAIT_LENGTH 0xc0ul

/* store: the host address of a doubleword that is to be stored coherently */
#define REGISTER_VIA_UPDATE_ADDRESS 0xc8ul

/* store: its value; the store begins, STATUS shows when it is done */
#define REGISTER_VIA_UPDATE_VALUE 0xd0ul

/* store: the process whose window is placed */
#define REGISTER_VIA_WINDOW_SELECT 0xd8ul

/* store: where in the interface's memory the window is */
#define REGISTER_VIA_WINDOW_ADDRESS 0xe0ul

/* store: where in the interface's memory bytes are that a registered region is to get */
#define REGISTER_VIA_PUT_SOURCE 0xe8ul

/* store: the host address that they are to have there */
#define REGISTER_VIA_PUT_ADDRESS 0xf0ul

/* store: their number; they are put there coherently, STATUS shows when (UPDATED) */
#define REGISTER_VIA_PUT_LENGTH 0xf8ul

/* load: where the interface's memory ends */
#define REGISTER_VIA_MEMORY 0x100ul

/* load: entries of the packet-to-address table for each VI; a message's is number modulo it */
#define REGISTER_VIA_PLACES 0x108ul

/* load: where the registers of the DMA engine are */
#define REGISTER_VIA_DMA_ENGINE 0x110ul

/* load: cycles that each message takes on each side beside the firmware's own instructions */
#define REGISTER_VIA_LAYER 0x118ul

/* load: 1 if a registration without room for its copy waits, 0 if its data go by DMA */
#define REGISTER_VIA_WHEN_FULL 0x120ul

/* load: processes of the node */
#define REGISTER_VIA_PROCESSES 0x128ul

/* It starts a DMA engine. */
#define ACTIVITY_DMA_SETUP 8

/* It serves the interrupt at the end of a DMA engine's copy. */
#define ACTIVITY_DMA_INTERRUPT 9

/* Where the voyager device's registers are. */
#define VOYAGER_REGISTERS 0x70001000ul

/* The state of physical queues: transmit queue n at n * VOYAGER_QUEUE_STATE_BYTES, receive queues
 * behind all of them. */
#define VOYAGER_QUEUES 0x70002000ul

/* From one physical queue's state to the next one's. */
#define VOYAGER_QUEUE_STATE_BYTES 0x40ul

/* load: the physical queue of each logical one, a doubleword each, receive queues behind all
 * transmit queues; all ones: not resident. */
#define VOYAGER_MAP 0x70004000ul

/* SRAM bank A and, VOYAGER_BANK_B behind, bank B; cachable, and not kept coherent. */
#define VOYAGER_SRAM 0x70100000ul

/* The same bytes, uncached. */
#define VOYAGER_SRAM_UNCACHED 0x70200000ul

/* The bit of an SRAM address that names bank B. */
#define VOYAGER_BANK_B 0x80000ul

/* Shadow words of a logical queue, from SRAM address 0 on: producer, consumer, status; receive
 * queues behind all transmit queues. */
#define VOYAGER_SHADOW_BYTES 0x20ul

/* What a load shows where there is nothing. */
#define VOYAGER_NOTHING 0xfffffffffffffffful

/* OnePoll: a command has completed. */
#define VOYAGER_SOURCE_COMPLETION 0x0ul

/* OnePoll: a channel counter has come to zero. */
#define VOYAGER_SOURCE_ACKNOWLEDGE 0x1ul

/* OnePoll: an access was captured. */
#define VOYAGER_SOURCE_CAPTURE 0x2ul

/* OnePoll: a command of the kernel agent waits; POLL_ENTRY shows its first doubleword. */
#define VOYAGER_SOURCE_AGENT 0x3ul

/* OnePoll: physical receive queue 0 has a packet; the others follow. */
#define VOYAGER_SOURCE_RECEIVE 0x10ul

/* CONTROL: the queue is at work. */
#define VOYAGER_CONTROL_ENABLED 0x1ul

/* CONTROL: packets for the full queue go to the miss queue. */
#define VOYAGER_CONTROL_DIVERTS 0x2ul

/* Command: its completion (tag, fault << 32) goes to the completion queue; the fault may be that of
 * a command before it in its queue, behind the last one with a completion. */
#define VOYAGER_COMMAND_NOTIFY 0x100ul

/* Command: it waits until those before it in its queue are complete. */
#define VOYAGER_COMMAND_ORDERED 0x200ul

/* BUS_READ, BUS_WRITE, BUS_FLUSH, PERMISSION, COPY, TRANSMIT in one doubleword: SRAM line or
 * permission << 17; node line << 32, its bits from 32 on << 11, or line to copy to << 32 and lines
 * - 1 << 11, or node << 32 | logical queue << 48 | process << 57. */
#define VOYAGER_COMMAND_SHORT 0x400ul

/* BLOCK_TRANSMIT: it follows the last BLOCK_READ of its queue line by line. */
#define VOYAGER_COMMAND_CHAINED 0x400ul

/* BLOCK_TRANSMIT: the logical receive queue in bits 24 to 31 is told if a packet of the transfer is
 * refused, once its last one has been there. */
#define VOYAGER_COMMAND_TOLD 0x800ul

/* BLOCK_TRANSMIT: it is the last one of its transfer. */
#define VOYAGER_COMMAND_LAST 0x1000ul

/* Command: lines << 24 | SRAM address << 32; host address | (process + 1, or 0 for a node address)
 * << 48. */
#define VOYAGER_BUS_READ 0x1ul

/* Command: lines << 24 | SRAM address << 32 | bytes of the last line (0: all) << 52; host address
 * as BUS_READ's. */
#define VOYAGER_BUS_WRITE 0x2ul

/* Command: bytes (4 or 8) << 24 | SRAM address << 32; value. */
#define VOYAGER_SRAM_WRITE 0x3ul

/* Command: doublewords << 24 | SRAM address << 32; SRAM address to copy to. */
#define VOYAGER_COPY 0x4ul

/* Command: SRAM address of a slot << 32; node | logical queue << 16 | process that sends << 32. */
#define VOYAGER_TRANSMIT 0x5ul

/* Command: process << 24 | SRAM address << 32; its address | bytes << 48. */
#define VOYAGER_BLOCK_READ 0x6ul

/* Command: SRAM address << 32 | channel (255: none) << 52; address at the destination | bytes <<
 * 48; node | process << 16. */
#define VOYAGER_BLOCK_TRANSMIT 0x7ul

/* Command: channel << 24 | count << 32; 0: acknowledge queue, 1: receive queue | logical queue << 8
 * | value << 32. */
#define VOYAGER_COUNTER_SET 0x8ul

/* Command: is receive << 24 | physical queue << 25 | word's offset << 32; value. */
#define VOYAGER_QUEUE_SET 0x9ul

/* Command: is receive << 24 | physical queue << 25; when its unit has left it, its pointers go to
 * its logical queue's shadow words and its map entry is gone. */
#define VOYAGER_QUEUE_OUT 0xaul

/* Command: is receive << 24 | physical queue << 25 | logical queue << 32. */
#define VOYAGER_MAP_SET 0xbul

/* Command: permission << 24 | lines << 32; host address of the first line. */
#define VOYAGER_PERMISSION 0xcul

/* Command: 0; offset in the serviced space; value. */
#define VOYAGER_APPROVE 0xdul

/* Command: nothing but its completion. */
#define VOYAGER_COMPLETE 0xeul

/* Command: lines << 24; host address as BUS_READ's. */
#define VOYAGER_BUS_FLUSH 0xful

/* Command: channel << 32 | packets << 40. */
#define VOYAGER_COUNT 0x10ul

/* Command: SRAM line << 17 | node << 32 | process there << 48 | process that sends << 57. In the
 * first line its place there and the PACKET fields; from the second one on its data. */
#define VOYAGER_PACKET 0x11ul

/* Where a packet's place has, behind its address, the sender's logical receive queue plus one that
 * is told if the receiver refuses it; 0: none. */
#define VOYAGER_PLACE_TOLD 0x30ul

/* A packet's place: it is the last one of its transfer. */
#define VOYAGER_PLACE_LAST 0x200000000000000ul

/* PACKET's second doubleword: bytes of data, and here the channel (255: none). */
#define VOYAGER_PACKET_CHANNEL 0x8ul

/* PACKET's second doubleword: it goes to the miss queue, not to the remote command queue. */
#define VOYAGER_PACKET_TO_FIRMWARE 0x10000ul

/* A miss queue's header: such a packet. Bytes of data in bits 16 to 22, channel in bits 24 to 31,
 * process in bits 32 to 39; its address is in bytes 24 to 31 of its slot, its data from byte 32
 * on. */
#define VOYAGER_HEADER_PACKET 0x800000ul

/* Command: logical receive queue << 32 | value << 40; a message as acknowledgements are. */
#define VOYAGER_TELL 0x12ul

/* Where an eight-bit tag stands in a command. */
#define VOYAGER_COMMAND_TAG 0x10ul

/* Capture, bits 56 to 63: a posted store; data in bits 0 to 31, offset in bits 32 to 55. */
#define VOYAGER_CAPTURED_STORE 0x1ul

/* Capture: a load that waits for its approval. */
#define VOYAGER_CAPTURED_LOAD 0x2ul

/* Capture: a store that waits for its approval. */
#define VOYAGER_CAPTURED_WAITING_STORE 0x3ul

/* Capture: a read of snooped space that waits; the line's number in bits 32 to 55. */
#define VOYAGER_CAPTURED_SNOOPED_READ 0x4ul

/* Capture: a write of snooped space that waits. */
#define VOYAGER_CAPTURED_SNOOPED_WRITE 0x5ul

/* Capture: the bit of a waiting store's offset that tells that it was approved with a destination,
 * and is over. */
#define VOYAGER_OFFSET_CARRIED 0x800000ul

/* Capture, beside it: it had less than a doubleword, or the destination is no SRAM, and its bytes
 * went nowhere. */
#define VOYAGER_OFFSET_CARRIED_NOWHERE 0x400000ul

/* Of the value with which a store is approved: its doubleword goes to the SRAM address in the lower
 * half; else nowhere. */
#define VOYAGER_APPROVE_TO_SRAM 0x8000000000000000ul

/* Capture: where the logical queue stands in the offset of a pointer window; the word is in the
 * bits before. */
#define VOYAGER_OFFSET_QUEUE 0xcul

/* Capture: the bit of such an offset that tells a receive queue. */
#define VOYAGER_OFFSET_RECEIVE 0x100000ul

/* Capture: the bit of an offset in the serviced space proper: process << 12, and the offset in its
 * page. */
#define VOYAGER_OFFSET_SERVICED 0x200000ul

/* Cachable queues, in a process's part of snooped space: the tail of its send queue, a line. */
#define VOYAGER_CACHABLE_TAIL 0x0ul

/* Cachable queues: the head of its send queue. */
#define VOYAGER_CACHABLE_SEND_HEAD 0x20ul

/* Cachable queues: the head of its receive queue. */
#define VOYAGER_CACHABLE_RECEIVE_HEAD 0x40ul

/* Permission: every access is captured. */
#define VOYAGER_PERMISSION_NONE 0x0ul

/* Permission: writes are captured. */
#define VOYAGER_PERMISSION_READ 0x1ul

/* Permission: nothing is captured. */
#define VOYAGER_PERMISSION_WRITE 0x2ul

/* Of a translation's entry: valid; node in bits 0 to 15, logical receive queue in bits 16 to 23. */
#define VOYAGER_TRANSLATION_VALID 0x8000000000000000ul

/* load: which sources have an entry, by the VOYAGER_SOURCE bits; each is an interrupt line of that
 * number */
#define REGISTER_VOYAGER_STATUS 0x0ul

/* load: this node's number | number of nodes << 32 | processes of a node << 48 */
#define REGISTER_VOYAGER_NODE 0x8ul

/* load: logical queues of a direction | physical queues << 16 | physical queues lent to hybrid
 * queues << 32 | logical queues of a process << 48 */
#define REGISTER_VOYAGER_LIMITS 0x10ul

/* store: the sources that OnePoll looks at, by bit */
#define REGISTER_VOYAGER_POLL_MASK 0x18ul

/* load: source of the first entry | consumer << 16 | producer << 32 where it is a receive queue;
 * all ones if there is none */
#define REGISTER_VOYAGER_POLL 0x20ul

/* load: the entry that POLL showed last: a receive queue's header doubleword, which stays; else the
 * entry, which is gone then */
#define REGISTER_VOYAGER_POLL_ENTRY 0x28ul

/* load: the oldest captured access, which is gone then; all ones if none */
#define REGISTER_VOYAGER_CAPTURE 0x30ul

/* load: the oldest completion, which is gone then; all ones if none */
#define REGISTER_VOYAGER_COMPLETION 0x38ul

/* load: the oldest acknowledgement, which is gone then; all ones if none */
#define REGISTER_VOYAGER_ACKNOWLEDGE 0x40ul

/* load: the next doubleword of the kernel agent's oldest command, which is gone after the last
 * one */
#define REGISTER_VOYAGER_AGENT 0x48ul

/* store: the next doubleword of a command for local command queue 0 */
#define REGISTER_VOYAGER_COMMAND_0 0x50ul

/* store: the same for local command queue 1 */
#define REGISTER_VOYAGER_COMMAND_1 0x58ul

/* load: free entries of local command queue 0, of 1 in the upper half */
#define REGISTER_VOYAGER_COMMAND_ROOM 0x60ul

/* store: the offset in the serviced space of a captured access that is approved next, as
 * captured */
#define REGISTER_VOYAGER_APPROVE_ADDRESS 0x68ul

/* store: the value that a load of it gets, or where the bytes of a store go
 * (VOYAGER_APPROVE_TO_SRAM); the access may be completed now */
#define REGISTER_VOYAGER_APPROVE_VALUE 0x70ul

/* store: which processes' stores to serviced space wait for an approval, by bit; others are
 * posted */
#define REGISTER_VOYAGER_SERVICED_STORES 0x78ul

/* load: where the firmware's part of SRAM bank A begins, where it ends in the upper half */
#define REGISTER_VOYAGER_FREE_A 0x80ul

/* load: the same of SRAM bank B */
#define REGISTER_VOYAGER_FREE_B 0x88ul

/* load: where the slots of the miss queue are in bank A, its header doublewords in the upper
 * half */
#define REGISTER_VOYAGER_MISS 0x90ul

/* load: slots of the miss queue */
#define REGISTER_VOYAGER_MISS_SLOTS 0x98ul

/* load: where the translation tables are in bank B, entries of each process in the upper half */
#define REGISTER_VOYAGER_TRANSLATION 0xa0ul

/* load: lines of a process's part of the snooped space */
#define REGISTER_VOYAGER_SNOOPED_LINES 0xa8ul

/* load: what the last command that failed did wrong, a VOYAGER_FAULT number; 0 if none has */
#define REGISTER_VOYAGER_FAULT 0xb0ul

/* load: which hybrid queue gives its physical one away: 0 the least recently used one, 1 a
 * clock's */
#define REGISTER_VOYAGER_POLICY 0xb8ul

/* load: for how many nanoseconds a full receive queue may hold up others; all ones where one job
 * has the machine alone */
#define REGISTER_VOYAGER_DRAIN_LIMIT 0xc0ul

/* load: cycles that an invocation which has a message fetched that is to be sent is to take at
 * least */
#define REGISTER_VOYAGER_STATED_MARSHAL_CYCLES 0xc8ul

/* load: cycles that an invocation which has a fetched message launched is to take at least */
#define REGISTER_VOYAGER_STATED_LAUNCH_CYCLES 0xd0ul

/* load: cycles that an invocation which has an arrived message brought to its queue is to take at
 * least */
#define REGISTER_VOYAGER_STATED_DEMULTIPLEX_CYCLES 0xd8ul

/* load: cycles that an invocation which frees the buffer of an arrived message is to take at
 * least */
#define REGISTER_VOYAGER_STATED_FREE_BUFFER_CYCLES 0xe0ul

/* load: cycles that an invocation which takes note of messages that a program has taken is to take
 * at least */
#define REGISTER_VOYAGER_STATED_RELEASE_CYCLES 0xe8ul

/* load: the node's address of process 0's part of the snooped space; those of the others follow, a
 * doubleword each */
#define REGISTER_VOYAGER_SNOOPED_START 0x100ul

/* bit 0: enabled; bit 1 (receive): when it is full, its packets go to the miss queue; bit 2
 * (transmit): its messages have the network's high priority; bits 8 to 15: the logical queue; bits
 * 16 to 18: its process */
#define REGISTER_VOYAGER_QUEUE_CONTROL 0x0ul

/* SRAM address of its slots; in the upper half that of its header doublewords, 0 if the headers are
 * in the slots alone */
#define REGISTER_VOYAGER_QUEUE_BASE 0x8ul

/* its slots, a power of two */
#define REGISTER_VOYAGER_QUEUE_SLOTS 0x10ul

/* slots that were filled, modulo 2^16 */
#define REGISTER_VOYAGER_QUEUE_PRODUCER 0x18ul

/* slots that were freed, modulo 2^16 */
#define REGISTER_VOYAGER_QUEUE_CONSUMER 0x20ul

/* its VOYAGER_STATUS number; a transmit queue with an error stands */
#define REGISTER_VOYAGER_QUEUE_ERROR 0x28ul

/* store: the user's pointer (transmit: producer, receive: consumer), unless it is there or beyond
 * already */
#define REGISTER_VOYAGER_QUEUE_ADVANCE 0x30ul

/* It finds out what an event asks for. */
#define ACTIVITY_DISPATCH 10

/* It takes up an operation that it had suspended. */
#define ACTIVITY_RESUME 11

/* It has a message fetched that is to be sent. */
#define ACTIVITY_MARSHAL 12

/* It translates a message's destination and has it sent. */
#define ACTIVITY_LAUNCH 13

/* It has an arrived message brought to its queue. */
#define ACTIVITY_DEMULTIPLEX 14

/* It frees the buffer of an arrived message and shows it in its queue. */
#define ACTIVITY_FREE_BUFFER 15

/* It takes note that a program has taken messages from its queue. */
#define ACTIVITY_RELEASE 17

#endif
