/* What every VIPL does alike, whatever it runs over.
 *
 * A provider's header includes this file behind its structures: those of a VI and of its queues
 * have the fields that are named here (`state`, `attributes`, `send`, `receive`; `posted`, `first`,
 * `count`). It says before which two levels of reliability its VIs may have, VIA_LOWER_LEVEL and
 * VIA_HIGHER_LEVEL. The calls themselves stand in each VIPL's files, under the names of
 * via/names.h. */
#ifndef NARTHEX_VIA_COMMON_H
#define NARTHEX_VIA_COMMON_H

#include <stdbool.h>
#include <string.h>

#include "messaging/narthex.h"
#include "via/vipl.h"

enum { NANOSECONDS = 1000000 /* of a millisecond */ };

/* Opening */

/* Whether VipOpenNic is asked for the interface that a node has. */
static inline bool via_may_open(const VIP_CHAR *name, const VIP_NIC_HANDLE *nic) {
    return name && nic && strcmp(name, "via") == 0;
}

/* Whether VipCreateCQ is asked for a queue that cannot be. */
static inline bool is_no_cq(const struct via_nic *nic, VIP_ULONG entries, VIP_ULONG limit,
                            const VIP_CQ_HANDLE *cq) {
    return !nic || !cq || entries == 0 || entries > limit;
}

/* Addresses: a node's number, then a discriminator. */

static inline bool is_address(const VIP_NET_ADDRESS *address) {
    return address && address->HostAddressLen <= sizeof(uint16_t) &&
           address->DiscriminatorLen <= sizeof(uint64_t);
}

static inline uint64_t node_of(const VIP_NET_ADDRESS *address) {
    uint64_t node = 0;
    memcpy(&node, address->HostAddress, address->HostAddressLen);
    return node;
}

static inline uint64_t discriminator_of(const VIP_NET_ADDRESS *address) {
    uint64_t discriminator = 0;
    memcpy(&discriminator, address->HostAddress + address->HostAddressLen,
           address->DiscriminatorLen);
    return discriminator;
}

/* Says to VipConnectWait's caller, if it wants to know, which node asks. */
static inline void tell_node(VIP_NET_ADDRESS *address, uint16_t node) {
    if (!address)
        return;
    *address = (VIP_NET_ADDRESS){.HostAddressLen = sizeof node};
    memcpy(address->HostAddress, &node, sizeof node);
}

/* Attributes of a VI in a word, as they go to the other end: bits (via/descriptor.h), and the
 * largest transfer in the upper half. */

static inline uint64_t pack(const VIP_VI_ATTRIBUTES *attributes) {
    return (attributes->EnableRdmaWrite ? VIA_RDMA_WRITE : 0) |
           (attributes->EnableRdmaRead ? VIA_RDMA_READ : 0) |
           (attributes->ReliabilityLevel == VIA_HIGHER_LEVEL ? VIA_RELIABLE : 0);
}

static inline void unpack(uint64_t value, VIP_VI_ATTRIBUTES *attributes) {
    if (!attributes)
        return;
    *attributes = (VIP_VI_ATTRIBUTES){
        .ReliabilityLevel = value & VIA_RELIABLE ? VIA_HIGHER_LEVEL : VIA_LOWER_LEVEL,
        .MaxTransferSize = value >> 32,
        .EnableRdmaWrite = (value & VIA_RDMA_WRITE) != 0,
        .EnableRdmaRead = (value & VIA_RDMA_READ) != 0,
    };
}

/* The first of a VI's attributes that no interface takes, or that is more than `longest` bytes. */
static inline VIP_RETURN check_service(const VIP_VI_ATTRIBUTES *attributes, VIP_ULONG longest) {
    if (attributes->ReliabilityLevel != VIA_LOWER_LEVEL &&
        attributes->ReliabilityLevel != VIA_HIGHER_LEVEL)
        return VIP_INVALID_RELIABILITY_LEVEL;
    if (attributes->QoS != 0)
        return VIP_INVALID_QOS;
    return attributes->MaxTransferSize > longest ? VIP_INVALID_MTU : VIP_SUCCESS;
}

/* VIs */

/* Whether VipDestroyVi may take a VI away. */
static inline bool is_unused(const struct via_vi *vi) {
    return vi->state != VIP_STATE_CONNECTED && vi->send.count + vi->receive.count == 0;
}

/* What VipQueryVi tells, once the VIPL has heard what it has to. */
static inline void describe_vi(const struct via_vi *vi, VIP_VI_STATE *state,
                               VIP_VI_ATTRIBUTES *attributes, VIP_BOOLEAN *send_is_empty,
                               VIP_BOOLEAN *receive_is_empty) {
    *state = vi->state;
    *attributes = vi->attributes;
    *send_is_empty = vi->send.count == 0;
    *receive_is_empty = vi->receive.count == 0;
}

static inline bool is_posted(const struct via_queue *queue, const VIP_DESCRIPTOR *descriptor) {
    for (uint32_t each = 0; each < queue->count; each++)
        if (queue->posted[(queue->first + each) % VIA_DESCRIPTORS_LIMIT] == descriptor)
            return true;
    return false;
}

/* Completion queues */

/* VipCQWait: asks VipCQDone until there is an entry, for `timeout` milliseconds at most. */
static inline VIP_RETURN wait_for_entry(VIP_CQ_HANDLE cq, VIP_ULONG timeout, VIP_VI_HANDLE *vi,
                                        VIP_BOOLEAN *receives) {
    VIP_RETURN result;
    if (timeout == VIP_INFINITE) {
        while ((result = VipCQDone(cq, vi, receives)) == VIP_NOT_DONE)
            ;
        return result;
    }
    uint64_t start = narthex_time_ns();
    while ((result = VipCQDone(cq, vi, receives)) == VIP_NOT_DONE)
        if (narthex_time_ns() - start >= timeout * NANOSECONDS)
            return VIP_TIMEOUT;
    return result;
}

#endif
