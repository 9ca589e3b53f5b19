/* Protection tags, and registering memory: the kernel agent pins its pages, the firmware keeps
 * where they are. */
#include "via/provider.h"

VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag) {
    uint64_t words[VIA_REQUEST_WORDS] = {0};
    if (!NicHandle || !Ptag)
        return VIP_INVALID_PARAMETER;
    VIP_RETURN result = via_request(NicHandle, VIA_CREATE_PTAG, words);
    if (result == VIP_SUCCESS)
        *Ptag = (VIP_PROTECTION_HANDLE)words[0];
    return result;
}

VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag) {
    uint64_t words[VIA_REQUEST_WORDS] = {Ptag};
    return NicHandle ? via_request(NicHandle, VIA_DESTROY_PTAG, words) : VIP_INVALID_PARAMETER;
}

VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
                          VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemHandle) {
    if (!NicHandle || !VirtualAddress || Length == 0 || !MemAttribs || !MemHandle)
        return VIP_INVALID_PARAMETER;
    uint64_t attributes = (MemAttribs->EnableRdmaWrite ? VIA_RDMA_WRITE : 0) |
                          (MemAttribs->EnableRdmaRead ? VIA_RDMA_READ : 0);
    uint64_t words[VIA_REQUEST_WORDS] = {(uintptr_t)VirtualAddress, Length, MemAttribs->Ptag,
                                         attributes};
    if (NicHandle->flushes)
        via_flush(NicHandle, VirtualAddress, Length);
    VIP_RETURN result = via_request(NicHandle, VIA_REGISTER, words);
    if (result != VIP_SUCCESS)
        return result;
    result = via_await(NicHandle, words[5], VIP_INFINITE, NULL);
    if (result != VIP_SUCCESS) { /* the pages are pinned already */
        VipDeregisterMem(NicHandle, VirtualAddress, (VIP_MEM_HANDLE)words[4]);
        return result;
    }
    *MemHandle = (VIP_MEM_HANDLE)words[4];
    if (words[4] < VIA_HANDLES_LIMIT)
        NicHandle->registrations[words[4]] =
            (struct via_registration){VirtualAddress, Length, MemAttribs->Ptag};
    return VIP_SUCCESS;
}

VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
                            VIP_MEM_HANDLE MemHandle) {
    uint64_t words[VIA_REQUEST_WORDS] = {MemHandle};
    if (!NicHandle || !VirtualAddress)
        return VIP_INVALID_PARAMETER;
    VIP_RETURN result = via_ask(NicHandle, VIA_DEREGISTER, words, 1);
    if (result == VIP_SUCCESS && MemHandle < VIA_HANDLES_LIMIT)
        NicHandle->registrations[MemHandle].ptag = 0;
    return result != VIP_SUCCESS ? result : via_request(NicHandle, VIA_RELEASE, words);
}
