/* VIPL: the user's library of the Virtual Interface Architecture, version 1.0.
 *
 * A program opens the interface, registers memory, makes a VI and connects it; then it posts
 * descriptors, which takes no system call, and looks whether they are done:
 *
 *     VipOpenNic("via", &nic);
 *     VipRegisterMem(nic, memory, bytes, &attributes, &handle);
 *     VipCreateVi(nic, &vi_attributes, NULL, NULL, &vi);
 *     VipConnectRequest(vi, &local, &remote, VIP_INFINITE, &remote_attributes);
 *     VipPostSend(vi, descriptor, handle);
 *     while (VipSendDone(vi, &done) == VIP_NOT_DONE)
 *         ;
 *
 * Names, structures and codes are the specification's. Reliability: unreliable delivery and
 * reliable delivery; over queue pairs (guest/via_verbs) reliable delivery and reliable reception.
 * RDMA goes beyond what the study of eager data transfer measures. A node's network address is its
 * number, two bytes; a discriminator has up to eight bytes. Times are in milliseconds. One thread
 * of a process uses the library.
 *
 * Not there: VipResizeCQ, notification by callback, the name service. */
#ifndef NARTHEX_VIA_VIPL_H
#define NARTHEX_VIA_VIPL_H

#include "runtime/marker.h"
#include "via/descriptor.h"
#include "via/names.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct via_nic *VIP_NIC_HANDLE;
typedef struct via_vi *VIP_VI_HANDLE;
typedef struct via_cq *VIP_CQ_HANDLE;
typedef struct via_connection *VIP_CONN_HANDLE;
typedef VIP_UINT32 VIP_PROTECTION_HANDLE;
typedef VIP_UINT16 VIP_QOS;

#define VIP_INFINITE (~(VIP_ULONG)0)

typedef enum {
    VIP_SUCCESS,
    VIP_NOT_DONE,
    VIP_INVALID_PARAMETER,
    VIP_ERROR_RESOURCE,
    VIP_TIMEOUT,
    VIP_REJECT,
    VIP_INVALID_RELIABILITY_LEVEL,
    VIP_INVALID_MTU,
    VIP_INVALID_QOS,
    VIP_INVALID_PTAG,
    VIP_INVALID_RDMAREAD,
    VIP_DESCRIPTOR_ERROR,
    VIP_INVALID_STATE,
    VIP_ERROR_NAMESERVICE,
    VIP_NO_MATCH,
    VIP_NOT_REACHABLE,
    VIP_ERROR_NOT_SUPPORTED
} VIP_RETURN;

typedef VIP_UINT16 VIP_RELIABILITY_LEVEL;
#define VIP_SERVICE_UNRELIABLE 0x1
#define VIP_SERVICE_RELIABLE_DELIVERY 0x2
#define VIP_SERVICE_RELIABLE_RECEPTION 0x4

typedef enum {
    VIP_STATE_IDLE,
    VIP_STATE_CONNECTED,
    VIP_STATE_CONNECT_PENDING,
    VIP_STATE_ERROR
} VIP_VI_STATE;

/* The node's number in the first HostAddressLen bytes, the discriminator behind them. */
typedef struct {
    VIP_UINT16 HostAddressLen;
    VIP_UINT16 DiscriminatorLen;
    VIP_UINT8 HostAddress[10];
} VIP_NET_ADDRESS;

typedef struct {
    VIP_RELIABILITY_LEVEL ReliabilityLevel;
    VIP_ULONG MaxTransferSize;
    VIP_QOS QoS;
    VIP_PROTECTION_HANDLE Ptag;
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
} VIP_VI_ATTRIBUTES;

typedef struct {
    VIP_PROTECTION_HANDLE Ptag;
    VIP_BOOLEAN EnableRdmaWrite;
    VIP_BOOLEAN EnableRdmaRead;
} VIP_MEM_ATTRIBUTES;

typedef struct {
    VIP_CHAR Name[64];
    VIP_ULONG HardwareVersion;
    VIP_ULONG ProviderVersion;
    VIP_UINT16 NicAddressLen;
    VIP_NET_ADDRESS LocalNicAddress;
    VIP_BOOLEAN ThreadSafe;
    VIP_UINT16 MaxDiscriminatorLen;
    VIP_ULONG MaxRegisterBytes;
    VIP_ULONG MaxRegisterRegions;
    VIP_ULONG MaxRegisterBlockBytes;
    VIP_ULONG MaxVI;
    VIP_ULONG MaxDescriptorsPerQueue;
    VIP_ULONG MaxSegmentsPerDesc;
    VIP_ULONG MaxCQ;
    VIP_ULONG MaxCQEntries;
    VIP_ULONG MaxTransferSize;
    VIP_ULONG NativeMTU;
    VIP_ULONG MaxPtags;
    VIP_RELIABILITY_LEVEL ReliabilityLevelSupport;
    VIP_RELIABILITY_LEVEL RDMAReadSupport;
} VIP_NIC_ATTRIBUTES;

/* Errors that belong to no call. */
typedef enum {
    VIP_RESOURCE_NIC,
    VIP_RESOURCE_VI,
    VIP_RESOURCE_CQ,
    VIP_RESOURCE_DESCRIPTOR
} VIP_RESOURCE_CODE;

typedef enum {
    VIP_ERROR_POST_DESC,   /* a doorbell with which the interface can do nothing */
    VIP_ERROR_CONN_LOST,   /* the remote VI has left, or met an error */
    VIP_ERROR_RECVQ_EMPTY, /* a message came, and no receive descriptor was posted */
    VIP_ERROR_VI_OVERRUN,  /* more descriptors were posted than a queue holds */
    VIP_ERROR_RDMAW_PROT,  /* an RDMA write named memory that it may not */
    VIP_ERROR_RDMAW_DATA,
    VIP_ERROR_RDMAW_ABORT,
    VIP_ERROR_RDMAR_PROT,     /* an RDMA read named memory that it may not */
    VIP_ERROR_COMP_PROT,      /* a completion could not be entered: its queue is full */
    VIP_ERROR_RDMA_TRANSPORT, /* packets of an RDMA were lost */
    VIP_ERROR_CATASTROPHIC
} VIP_ERROR_CODE;

typedef struct {
    VIP_NIC_HANDLE NicHandle;
    VIP_VI_HANDLE ViHandle;
    VIP_CQ_HANDLE CQHandle;
    VIP_DESCRIPTOR *DescriptorPtr;
    VIP_ULONG OpCode;
    VIP_RESOURCE_CODE ResourceCode;
    VIP_ERROR_CODE ErrorCode;
} VIP_ERROR_DESCRIPTOR;

typedef void VIP_ERROR_HANDLER(VIP_PVOID Context, VIP_ERROR_DESCRIPTOR *ErrorDesc);

/* Opening */
VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle);
VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle);
VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *NicAttribs);

/* Calls the handler for errors that belong to no call, when a later call of a Done or Wait
 * function finds nothing done; without a handler the program fails with a message. */
VIP_RETURN VipErrorCallback(VIP_NIC_HANDLE NicHandle, VIP_PVOID Context,
                            VIP_ERROR_HANDLER *Handler);

/* Memory: a VI uses what was registered with its own protection tag. */
VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag);
VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag);
VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                          VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemHandle);
VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
                            VIP_MEM_HANDLE MemHandle);

/* VIs and their connections */
VIP_RETURN VipCreateVi(VIP_NIC_HANDLE NicHandle, VIP_VI_ATTRIBUTES *ViAttribs,
                       VIP_CQ_HANDLE SendCQHandle, VIP_CQ_HANDLE RecvCQHandle,
                       VIP_VI_HANDLE *ViHandle);
VIP_RETURN VipDestroyVi(VIP_VI_HANDLE ViHandle);
VIP_RETURN VipQueryVi(VIP_VI_HANDLE ViHandle, VIP_VI_STATE *State, VIP_VI_ATTRIBUTES *ViAttribs,
                      VIP_BOOLEAN *ViSendQEmpty, VIP_BOOLEAN *ViRecvQEmpty);
VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr, VIP_ULONG Timeout,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          VIP_CONN_HANDLE *ConnHandle);
VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle);
VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle);
VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                             VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout,
                             VIP_VI_ATTRIBUTES *RemoteViAttribs);
VIP_RETURN VipDisconnect(VIP_VI_HANDLE ViHandle);

/* Work: descriptors come back in the order of their posting, queue by queue. */
VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemHandle);
VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VIPL(VipSendWait)(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut,
                             VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *DescriptorPtr,
                       VIP_MEM_HANDLE MemHandle);
VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **DescriptorPtr);
VIP_RETURN VIPL(VipRecvWait)(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut,
                             VIP_DESCRIPTOR **DescriptorPtr);

/* Completion queues: which VI's queue has a descriptor that is done. */
VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle);
VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle);
VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue);
VIP_RETURN VIPL(VipCQWait)(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
                           VIP_BOOLEAN *RecvQueue);

/* The waits tell the time ledger that the program polls, and at their end that the poll was not in
 * vain. They do so where they are called: the library itself is in every program. */
static inline void via_poll_begins(void) {
    ENTER(ACTIVITY_POLL);
}

static inline VIP_RETURN via_poll_ends(VIP_RETURN result) {
    ENTER(ACTIVITY_RECEIVE);
    LEAVE();
    LEAVE();
    return result;
}

#define VIA_POLLS(call) (via_poll_begins(), via_poll_ends(call))
#define VipSendWait(ViHandle, TimeOut, DescriptorPtr)                                              \
    VIA_POLLS(VIPL(VipSendWait)(ViHandle, TimeOut, DescriptorPtr))
#define VipRecvWait(ViHandle, TimeOut, DescriptorPtr)                                              \
    VIA_POLLS(VIPL(VipRecvWait)(ViHandle, TimeOut, DescriptorPtr))
#define VipCQWait(CQHandle, Timeout, ViHandle, RecvQueue)                                          \
    VIA_POLLS(VIPL(VipCQWait)(CQHandle, Timeout, ViHandle, RecvQueue))

#ifdef __cplusplus
}
#endif

#endif
