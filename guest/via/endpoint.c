#include "via/endpoint.h"

#include <string.h>

#include "messaging/narthex.h"

enum { RETRY_CYCLES = 2000 };

void via_require(VIP_RETURN result, const char *call) {
    narthex_check(result == VIP_SUCCESS, "node %d: %s fails with code %d", narthex_node(), call,
                  (int)result);
}

/* Where process `waiting` waits for process `asking`. */
static VIP_NET_ADDRESS address_of(int waiting, int asking, unsigned number) {
    uint16_t node = (uint16_t)(waiting / narthex_processes());
    uint64_t pair = (uint64_t)number << 32 | (uint64_t)waiting << 16 | (uint64_t)asking;
    VIP_NET_ADDRESS address = {.HostAddressLen = sizeof node, .DiscriminatorLen = sizeof pair};
    memcpy(address.HostAddress, &node, sizeof node);
    memcpy(address.HostAddress + sizeof node, &pair, sizeof pair);
    return address;
}

void via_connect(VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, int rank, unsigned number) {
    int own = narthex_node();
    if (rank > own) {
        VIP_NET_ADDRESS address = address_of(own, rank, number);
        VIP_CONN_HANDLE connection;
        via_require(VipConnectWait(nic, &address, VIP_INFINITE, NULL, NULL, &connection),
                    "VipConnectWait");
        via_require(VipConnectAccept(connection, vi), "VipConnectAccept");
        return;
    }
    VIP_NET_ADDRESS address = address_of(rank, own, number);
    VIP_RETURN result;
    while ((result = VipConnectRequest(vi, NULL, &address, VIP_INFINITE, NULL)) == VIP_NO_MATCH)
        narthex_pause(RETRY_CYCLES);
    via_require(result, "VipConnectRequest");
}

void via_describe(VIP_DESCRIPTOR *descriptor, void *memory, VIP_MEM_HANDLE handle,
                  VIP_UINT32 bytes) {
    descriptor->CS.Control = VIP_CONTROL_OP_SENDRECV;
    descriptor->CS.SegCount = 1;
    descriptor->CS.Length = bytes;
    descriptor->DS[0].Local = (VIP_DATA_SEGMENT){{.Address = memory}, handle, bytes};
}
