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

#endif
