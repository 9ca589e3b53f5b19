/* The registers of devices that firmware serves. Generated from what interfaces/src declares by
 * `make headers`; do not edit. */
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

#endif
