/* Protection tags are protection domains; registered memory is a memory region, and its handle the
 * region's key, which an RDMA of the other end names as well. */
#include <errno.h>
#include <stdlib.h>

#include "via_verbs/provider.h"

enum { TAG_BITS = 8 }; /* of a key: by them one that was given out again is told */

static VIP_RETURN meaning_of(int error) {
    return error == ENOMEM ? VIP_ERROR_RESOURCE : VIP_INVALID_PARAMETER;
}

static bool is_ptag(const struct via_nic *nic, VIP_PROTECTION_HANDLE ptag) {
    return ptag >= 1 && ptag <= PTAGS_LIMIT && nic->domains[ptag - 1];
}

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag) {
    if (!NicHandle || !Ptag)
        return VIP_INVALID_PARAMETER;
    for (VIP_PROTECTION_HANDLE each = 0; each < PTAGS_LIMIT; each++)
        if (!NicHandle->domains[each]) {
            NicHandle->domains[each] = ibv_alloc_pd(NicHandle->context);
            *Ptag = each + 1;
            return NicHandle->domains[each] ? VIP_SUCCESS : VIP_ERROR_RESOURCE;
        }
    return VIP_ERROR_RESOURCE;
}

VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag) {
    if (!NicHandle || !is_ptag(NicHandle, Ptag))
        return VIP_INVALID_PARAMETER;
    if (ibv_dealloc_pd(NicHandle->domains[Ptag - 1]) != 0)
        return VIP_INVALID_STATE;
    NicHandle->domains[Ptag - 1] = NULL;
    return VIP_SUCCESS;
}

static struct via_registration *registration_of(const struct via_nic *nic, VIP_MEM_HANDLE handle) {
    VIP_MEM_HANDLE number = handle >> TAG_BITS;
    if (number > (VIP_MEM_HANDLE)nic->most_regions)
        return NULL;
    struct via_registration *found = &nic->registrations[number];
    return found->region && found->region->lkey == handle ? found : NULL;
}

bool verbs_is_registered(const struct via_nic *nic, VIP_PROTECTION_HANDLE ptag,
                         VIP_MEM_HANDLE handle, const void *start, size_t bytes) {
    const struct via_registration *found = registration_of(nic, handle);
    if (!found || found->ptag != ptag)
        return false;
    size_t offset = (size_t)((const char *)start - (const char *)found->region->addr);
    return offset <= found->region->length && bytes <= found->region->length - offset;
}

VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                          VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemHandle) {
    if (!NicHandle || !VirtualAddress || Length == 0 || !MemAttribs || !MemHandle)
        return VIP_INVALID_PARAMETER;
    if (!is_ptag(NicHandle, MemAttribs->Ptag))
        return VIP_INVALID_PTAG;
    int access = IBV_ACCESS_LOCAL_WRITE |
                 (MemAttribs->EnableRdmaWrite ? IBV_ACCESS_REMOTE_WRITE : 0) |
                 (MemAttribs->EnableRdmaRead ? IBV_ACCESS_REMOTE_READ : 0);
    struct ibv_mr *region =
        ibv_reg_mr(NicHandle->domains[MemAttribs->Ptag - 1], VirtualAddress, Length, access);
    if (!region)
        return meaning_of(errno);
    NicHandle->registrations[region->lkey >> TAG_BITS] =
        (struct via_registration){region, MemAttribs->Ptag};
    *MemHandle = region->lkey;
    return VIP_SUCCESS;
}

VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
                            VIP_MEM_HANDLE MemHandle) {
    if (!NicHandle || !VirtualAddress)
        return VIP_INVALID_PARAMETER;
    struct via_registration *found = registration_of(NicHandle, MemHandle);
    if (!found || ibv_dereg_mr(found->region) != 0)
        return VIP_INVALID_PARAMETER;
    found->region = NULL;
    return VIP_SUCCESS;
}
