/* The VIPL of programs that run over interfaces with the Virtual Interface Architecture and over
 * queue pairs: whichever the machine has is asked (guest/via, guest/via_verbs). */
#include "runtime/information.h"
#include "via/vipl.h"

static bool is_over_verbs; /* since VipOpenNic */

/* `name` stands in brackets: a macro of that name is not meant. */
#define CHOOSE(name, parameters, arguments)                                                        \
    __typeof__(name) verbs_##name, any_##name;                                                     \
    VIP_RETURN any_##name parameters {                                                             \
        return is_over_verbs ? verbs_##name arguments : (name)arguments;                           \
    }

__typeof__(VipOpenNic) verbs_VipOpenNic, any_VipOpenNic;

VIP_RETURN any_VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle) {
    is_over_verbs = narthex_information()->send_driver == DRIVER_VERBS;
    return is_over_verbs ? verbs_VipOpenNic(DeviceName, NicHandle)
                         : VipOpenNic(DeviceName, NicHandle);
}

CHOOSE(VipCloseNic, (VIP_NIC_HANDLE nic), (nic))
CHOOSE(VipQueryNic, (VIP_NIC_HANDLE nic, VIP_NIC_ATTRIBUTES *attributes), (nic, attributes))
CHOOSE(VipErrorCallback, (VIP_NIC_HANDLE nic, VIP_PVOID context, VIP_ERROR_HANDLER *handler),
       (nic, context, handler))
CHOOSE(VipCreatePtag, (VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE *ptag), (nic, ptag))
CHOOSE(VipDestroyPtag, (VIP_NIC_HANDLE nic, VIP_PROTECTION_HANDLE ptag), (nic, ptag))
CHOOSE(VipRegisterMem,
       (VIP_NIC_HANDLE nic, VIP_PVOID start, VIP_ULONG bytes, VIP_MEM_ATTRIBUTES *attributes,
        VIP_MEM_HANDLE *handle),
       (nic, start, bytes, attributes, handle))
CHOOSE(VipDeregisterMem, (VIP_NIC_HANDLE nic, VIP_PVOID start, VIP_MEM_HANDLE handle),
       (nic, start, handle))
CHOOSE(VipCreateVi,
       (VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attributes, VIP_CQ_HANDLE send,
        VIP_CQ_HANDLE receive, VIP_VI_HANDLE *vi),
       (nic, attributes, send, receive, vi))
CHOOSE(VipDestroyVi, (VIP_VI_HANDLE vi), (vi))
CHOOSE(VipQueryVi,
       (VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *attributes, VIP_BOOLEAN *send,
        VIP_BOOLEAN *receive),
       (vi, state, attributes, send, receive))
CHOOSE(VipConnectWait,
       (VIP_NIC_HANDLE nic, VIP_NET_ADDRESS *local, VIP_ULONG timeout, VIP_NET_ADDRESS *remote,
        VIP_VI_ATTRIBUTES *attributes, VIP_CONN_HANDLE *connection),
       (nic, local, timeout, remote, attributes, connection))
CHOOSE(VipConnectAccept, (VIP_CONN_HANDLE connection, VIP_VI_HANDLE vi), (connection, vi))
CHOOSE(VipConnectReject, (VIP_CONN_HANDLE connection), (connection))
CHOOSE(VipConnectRequest,
       (VIP_VI_HANDLE vi, VIP_NET_ADDRESS *local, VIP_NET_ADDRESS *remote, VIP_ULONG timeout,
        VIP_VI_ATTRIBUTES *attributes),
       (vi, local, remote, timeout, attributes))
CHOOSE(VipDisconnect, (VIP_VI_HANDLE vi), (vi))
CHOOSE(VipPostSend, (VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle),
       (vi, descriptor, handle))
CHOOSE(VipSendDone, (VIP_VI_HANDLE vi, VIP_DESCRIPTOR **descriptor), (vi, descriptor))
CHOOSE(VipSendWait, (VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **descriptor),
       (vi, timeout, descriptor))
CHOOSE(VipPostRecv, (VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle),
       (vi, descriptor, handle))
CHOOSE(VipRecvDone, (VIP_VI_HANDLE vi, VIP_DESCRIPTOR **descriptor), (vi, descriptor))
CHOOSE(VipRecvWait, (VIP_VI_HANDLE vi, VIP_ULONG timeout, VIP_DESCRIPTOR **descriptor),
       (vi, timeout, descriptor))
CHOOSE(VipCreateCQ, (VIP_NIC_HANDLE nic, VIP_ULONG entries, VIP_CQ_HANDLE *cq), (nic, entries, cq))
CHOOSE(VipDestroyCQ, (VIP_CQ_HANDLE cq), (cq))
CHOOSE(VipCQDone, (VIP_CQ_HANDLE cq, VIP_VI_HANDLE *vi, VIP_BOOLEAN *receives), (cq, vi, receives))
CHOOSE(VipCQWait, (VIP_CQ_HANDLE cq, VIP_ULONG timeout, VIP_VI_HANDLE *vi, VIP_BOOLEAN *receives),
       (cq, timeout, vi, receives))
