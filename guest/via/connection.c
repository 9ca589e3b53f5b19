/* VIs, and how two of them are connected: one process waits for requests, another makes one. */
#include <stdlib.h>

#include "via/provider.h"

/* VIs */

static VIP_RETURN check_attributes(const struct via_nic *nic, const VIP_VI_ATTRIBUTES *attributes) {
    VIP_RETURN service = check_service(attributes, UINT32_MAX);
    if (service != VIP_SUCCESS)
        return service;
    return nic->copies && attributes->EnableRdmaRead ? VIP_INVALID_RDMAREAD : VIP_SUCCESS;
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
    if (!is_unused(ViHandle))
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
    describe_vi(ViHandle, State, ViAttribs, ViSendQEmpty, ViRecvQEmpty);
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
    tell_node(RemoteAddr, node);
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
