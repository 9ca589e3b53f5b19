/* Opening an interface, and errors that belong to no call. */
#include <stdlib.h>
#include <string.h>

#include "via/error_names.h"
#include "via_verbs/provider.h"

enum { LONGEST_MESSAGE = 1 << 30 };

/* The interface is opened once in a process, however often VipOpenNic is called. */
static struct via_nic *opened;

static void release(struct via_nic *nic) {
    if (nic->context)
        ibv_close_device(nic->context);
    free(nic->registrations);
    free(nic);
}

static struct via_nic *make_nic(void) {
    struct via_nic *nic = calloc(1, sizeof *nic);
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_device_attr limits;
    if (nic && devices && devices[0])
        nic->context = ibv_open_device(devices[0]);
    if (devices)
        ibv_free_device_list(devices);
    if (!nic || !nic->context || ibv_query_device(nic->context, &limits) != 0) {
        if (nic)
            release(nic);
        return NULL;
    }
    nic->users = 1;
    nic->most_regions = limits.max_mr;
    nic->registrations = calloc((size_t)limits.max_mr + 1, sizeof *nic->registrations);
    nic->control = nic->registrations ? verbs_open_control(nic->context) : NULL;
    if (!nic->control) {
        release(nic);
        return NULL;
    }
    return nic;
}

VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle) {
    if (!via_may_open(DeviceName, NicHandle))
        return VIP_INVALID_PARAMETER;
    if (opened)
        opened->users += 1;
    else
        opened = make_nic();
    *NicHandle = opened;
    return opened ? VIP_SUCCESS : VIP_ERROR_RESOURCE;
}

VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle) {
    if (!NicHandle || NicHandle != opened)
        return VIP_INVALID_PARAMETER;
    if (NicHandle->users > 1) {
        NicHandle->users -= 1;
        return VIP_SUCCESS;
    }
    if (NicHandle->vis)
        return VIP_ERROR_RESOURCE;
    verbs_close_control(NicHandle->control);
    release(NicHandle);
    opened = NULL;
    return VIP_SUCCESS;
}

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *NicAttribs) {
    struct ibv_device_attr limits;
    struct ibv_port_attr port;
    if (!NicHandle || !NicAttribs)
        return VIP_INVALID_PARAMETER;
    if (ibv_query_device(NicHandle->context, &limits) != 0 ||
        ibv_query_port(NicHandle->context, 1, &port) != 0)
        return VIP_ERROR_RESOURCE;
    uint16_t node = (uint16_t)(narthex_node() / narthex_processes());
    VIP_RELIABILITY_LEVEL levels = VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION;
    *NicAttribs = (VIP_NIC_ATTRIBUTES){
        .Name = "via",
        .HardwareVersion = 1,
        .ProviderVersion = 1,
        .NicAddressLen = sizeof node,
        .LocalNicAddress = {.HostAddressLen = sizeof node},
        .ThreadSafe = VIP_FALSE,
        .MaxDiscriminatorLen = sizeof(uint64_t),
        .MaxRegisterBytes = limits.max_mr_size,
        .MaxRegisterRegions = (VIP_ULONG)limits.max_mr,
        .MaxRegisterBlockBytes = limits.max_mr_size,
        .MaxVI = (VIP_ULONG)limits.max_qp,
        .MaxDescriptorsPerQueue = VIA_DESCRIPTORS_LIMIT,
        .MaxSegmentsPerDesc = VIA_SEGMENTS_LIMIT,
        .MaxCQ = (VIP_ULONG)limits.max_cq,
        .MaxCQEntries = CQ_ENTRIES_LIMIT,
        .MaxTransferSize = LONGEST_MESSAGE,
        .NativeMTU = (VIP_ULONG)128 << port.active_mtu,
        .MaxPtags = PTAGS_LIMIT,
        .ReliabilityLevelSupport = levels,
        .RDMAReadSupport = levels,
    };
    memcpy(NicAttribs->LocalNicAddress.HostAddress, &node, sizeof node);
    return VIP_SUCCESS;
}

/* Errors that belong to no call */

VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context,
                            VIP_ERROR_HANDLER *Handler) {
    if (!NicHandle)
        return VIP_INVALID_PARAMETER;
    NicHandle->handler = Handler;
    NicHandle->handler_context = Context;
    return VIP_SUCCESS;
}

void verbs_event(struct via_vi *vi, VIP_ERROR_CODE code) {
    struct via_nic *nic = vi->nic;
    if (nic->events_count == EVENTS)
        return;
    nic->events[(nic->events_first + nic->events_count++) % EVENTS] = (struct via_event){vi, code};
}

void verbs_tell_events(struct via_nic *nic) {
    while (nic->events_count > 0) {
        struct via_event event = nic->events[nic->events_first];
        nic->events_first = (nic->events_first + 1) % EVENTS;
        nic->events_count -= 1;
        if (!event.vi) /* destroyed */
            continue;
        if (!nic->handler)
            narthex_fail("node %d: the interface reports %s; install a handler with "
                         "VipErrorCallback to go on",
                         narthex_node(), VIA_ERROR_NAMES[event.code]);
        VIP_ERROR_DESCRIPTOR error = {.NicHandle = nic,
                                      .ViHandle = event.vi,
                                      .ResourceCode = VIP_RESOURCE_VI,
                                      .ErrorCode = event.code};
        nic->handler(nic->handler_context, &error);
    }
}
