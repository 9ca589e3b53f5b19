/* VIs, and how two of them are connected: one process waits for requests, another makes one. */
#include <stdlib.h>
#include <string.h>

#include "via/provider.h"

static uint64_t node_of(const VIP_NET_ADDRESS *address) {
    uint64_t node = 0;
    if (address->HostAddressLen <= sizeof(uint16_t))
        memcpy(&node, address->HostAddress, address->HostAddressLen);
    return node;
}

static uint64_t discriminator_of(const VIP_NET_ADDRESS *address) {
    uint64_t discriminator = 0;
    memcpy(&discriminator, address->HostAddress + address->HostAddressLen,
           address->DiscriminatorLen);
    return discriminator;
}

static bool is_address(const VIP_NET_ADDRESS *address) {
    return address && address->HostAddressLen <= sizeof(uint16_t) &&
           address->DiscriminatorLen <= sizeof(uint64_t);
}

static uint64_t pack(const VIP_VI_ATTRIBUTES *attributes) {
    return (attributes->EnableRdmaWrite ? VIA_RDMA_WRITE : 0) |
           (attributes->EnableRdmaRead ? VIA_RDMA_READ : 0) |
           (attributes->ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY ? VIA_RELIABLE : 0);
}

/* What the firmware tells of a remote VI: its attributes, and its largest transfer in the upper
 * half. */
static void unpack(uint64_t value, VIP_VI_ATTRIBUTES *attributes) {
    if (!attributes)
        return;
    *attributes = (VIP_VI_ATTRIBUTES){
        .ReliabilityLevel =
            value & VIA_RELIABLE ? VIP_SERVICE_RELIABLE_DELIVERY : VIP_SERVICE_UNRELIABLE,
        .MaxTransferSize = value >> 32,
        .EnableRdmaWrite = (value & VIA_RDMA_WRITE) != 0,
        .EnableRdmaRead = (value & VIA_RDMA_READ) != 0,
    };
}

/* VIs */

static VIP_RETURN check_attributes(const struct via_nic *nic, const VIP_VI_ATTRIBUTES *attributes) {
    if (attributes->ReliabilityLevel != VIP_SERVICE_UNRELIABLE &&
        attributes->ReliabilityLevel != VIP_SERVICE_RELIABLE_DELIVERY)
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (attributes->QoS != 0)
        return VIP_INVALID_QOS;
    if (attributes->MaxTransferSize > UINT32_MAX)
        return VIP_INVALID_MTU;
    if (nic->copies && attributes->EnableRdmaRead)
        return VIP_INVALID_RDMAREAD;
    return VIP_SUCCESS;
}

static void start_queue(struct via_queue *queue, uint64_t doorbell) {
    queue->doorbell = (volatile uint64_t *)(uintptr_t)doorbell;
}

VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttribs,
                       VIP_CQ_HANDLE SendCQHandle, VIP_CQ_HANDLE RecvCQHandle,
                       VIP_VI_HANDLE *ViHandle) {
    if (!NicHandle || !ViAttribs || !ViHandle)
        return VIP_INVALID_PARAMETER;
    VIP_RETURN result = check_attributes(NicHandle, ViAttribs);
    struct via_vi *vi = result == VIP_SUCCESS ? calloc(1, sizeof *vi) : NULL;
    if (!vi)
        return result != VIP_SUCCESS ? result : VIP_ERROR_RESOURCE;
    uint64_t words[VIA_REQUEST_WORDS] = {
        ViAttribs->Ptag, pack(ViAttribs), ViAttribs->MaxTransferSize,
        SendCQHandle ? SendCQHandle->number : 0, RecvCQHandle ? RecvCQHandle->number : 0};
    result = via_request(NicHandle, VIA_CREATE_VI, words);
    if (result == VIP_SUCCESS) {
        result = via_await(NicHandle, words[6], VIP_INFINITE, NULL);
        uint64_t made[VIA_REQUEST_WORDS] = {words[5]};
        if (result != VIP_SUCCESS) /* the agent has made it */
            via_ask(NicHandle, VIA_DESTROY_VI, made, 1);
    }
    if (result != VIP_SUCCESS) {
        free(vi);
        return result;
    }
    uint64_t doorbells = NicHandle->machine->via_doorbells + words[5] * VIA_DOORBELL_STRIDE;
    *vi = (struct via_vi){.nic = NicHandle, .number = words[5], .attributes = *ViAttribs};
    start_queue(&vi->send, doorbells + VIA_DOORBELL_SEND);
    start_queue(&vi->receive, doorbells + VIA_DOORBELL_RECEIVE);
    NicHandle->vis[vi->number] = vi;
    *ViHandle = vi;
    return VIP_SUCCESS;
}

VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle) {
    if (!ViHandle)
        return VIP_INVALID_PARAMETER;
    if (ViHandle->state == VIP_STATE_CONNECTED ||
        ViHandle->send.count + ViHandle->receive.count > 0)
        return VIP_ERROR_RESOURCE;
    uint64_t words[VIA_REQUEST_WORDS] = {ViHandle->number};
    VIP_RETURN result = via_ask(ViHandle->nic, VIA_DESTROY_VI, words, 1);
    if (result == VIP_SUCCESS) {
        ViHandle->nic->vis[ViHandle->number] = NULL;
        free(ViHandle);
    }
    return result;
}

VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttribs,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty) {
    if (!ViHandle || !State || !ViAttribs || !ViSendQEmpty || !ViRecvQEmpty)
        return VIP_INVALID_PARAMETER;
    via_handle_events(ViHandle->nic);
    *State = ViHandle->state;
    *ViAttribs = ViHandle->attributes;
    *ViSendQEmpty = ViHandle->send.count == 0;
    *ViRecvQEmpty = ViHandle->receive.count == 0;
    return VIP_SUCCESS;
}

/* Connections */

VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr, VIP_ULONG Timeout,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          VIP_CONN_HANDLE *ConnHandle) {
    if (!NicHandle || !is_address(LocalAddr) || !ConnHandle)
        return VIP_INVALID_PARAMETER;
    struct via_connection *connection = malloc(sizeof *connection);
    if (!connection)
        return VIP_ERROR_RESOURCE;
    uint64_t values[VIA_VALUES], words[VIA_REQUEST_WORDS] = {discriminator_of(LocalAddr)};
    VIP_RETURN result = via_request(NicHandle, VIA_CONNECT_WAIT, words);
    if (result == VIP_SUCCESS)
        result = via_await(NicHandle, words[1], Timeout, values);
    if (result != VIP_SUCCESS) {
        free(connection);
        return result;
    }
    uint16_t node = (uint16_t)(values[0] >> 32);
    *connection = (struct via_connection){NicHandle, (uint32_t)values[0]};
    if (RemoteAddr) {
        *RemoteAddr = (VIP_NET_ADDRESS){.HostAddressLen = sizeof node};
        memcpy(RemoteAddr->HostAddress, &node, sizeof node);
    }
    unpack(values[1], RemoteViAttribs);
    *ConnHandle = connection;
    return VIP_SUCCESS;
}

VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle) {
    if (!ConnHandle || !ViHandle)
        return VIP_INVALID_PARAMETER;
    uint64_t words[VIA_REQUEST_WORDS] = {ConnHandle->number, ViHandle->number};
    VIP_RETURN result = via_ask(ConnHandle->nic, VIA_CONNECT_ACCEPT, words, 2);
    if (result == VIP_SUCCESS) {
        ViHandle->state = VIP_STATE_CONNECTED;
        free(ConnHandle);
    }
    return result;
}

VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle) {
    if (!ConnHandle)
        return VIP_INVALID_PARAMETER;
    uint64_t words[VIA_REQUEST_WORDS] = {ConnHandle->number};
    VIP_RETURN result = via_ask(ConnHandle->nic, VIA_CONNECT_REJECT, words, 1);
    if (result == VIP_SUCCESS)
        free(ConnHandle);
    return result;
}

VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                             VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout,
                             VIP_VI_ATTRIBUTES *RemoteViAttribs) {
    (void)LocalAddr; /* a node has one address */
    if (!ViHandle || !is_address(RemoteAddr))
        return VIP_INVALID_PARAMETER;
    if (ViHandle->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    uint64_t values[VIA_VALUES], words[VIA_REQUEST_WORDS] = {ViHandle->number, node_of(RemoteAddr),
                                                             discriminator_of(RemoteAddr)};
    VIP_RETURN result = via_request(ViHandle->nic, VIA_CONNECT_REQUEST, words);
    if (result == VIP_SUCCESS)
        result = via_await(ViHandle->nic, words[4], Timeout, values);
    if (result == VIP_SUCCESS) {
        ViHandle->state = VIP_STATE_CONNECTED;
        unpack(values[1], RemoteViAttribs);
    }
    return result;
}

VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle) {
    if (!ViHandle)
        return VIP_INVALID_PARAMETER;
    uint64_t words[VIA_REQUEST_WORDS] = {ViHandle->number};
    VIP_RETURN result = via_ask(ViHandle->nic, VIA_DISCONNECT, words, 1);
    if (result == VIP_SUCCESS)
        ViHandle->state = VIP_STATE_IDLE;
    return result;
}
