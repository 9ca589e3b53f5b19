#include "via/zero_copy.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/copy.h"
#include "messaging/narthex.h"
#include "via/endpoint.h"

enum { PAGE_BYTES = 4096, DESCRIPTOR_BYTES = 128 }; /* a coherence block for itself */

void via_sender_open(struct via_sender *sender, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi,
                     VIP_PROTECTION_HANDLE ptag, size_t bytes, size_t limit) {
    size_t all = (DESCRIPTOR_BYTES + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    char *memory = aligned_alloc(PAGE_BYTES, all);
    narthex_check(memory, "node %d has no memory for a sender", narthex_node());
    memset(memory, 0, all);
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = ptag};
    sender->vi = vi;
    sender->descriptor = (VIP_DESCRIPTOR *)(void *)memory;
    sender->buffer = memory + DESCRIPTOR_BYTES;
    sender->buffer_bytes = bytes;
    via_check(VipRegisterMem(nic, memory, all, &attributes, &sender->handle), "VipRegisterMem");
    pinned_cache_open(&sender->cache, nic, ptag, limit);
}

static void send(struct via_sender *sender, void *data, VIP_MEM_HANDLE handle, size_t bytes) {
    VIP_DESCRIPTOR *done;
    via_describe(sender->descriptor, data, handle, (VIP_UINT32)bytes);
    via_check(VipPostSend(sender->vi, sender->descriptor, sender->handle), "VipPostSend");
    via_check(VipSendWait(sender->vi, VIP_INFINITE, &done), "VipSendWait");
}

void via_send_copied(struct via_sender *sender, const void *data, size_t bytes) {
    narthex_check(bytes <= sender->buffer_bytes,
                  "node %d: a message of %zu bytes; the limit is %zu", narthex_node(), bytes,
                  sender->buffer_bytes);
    copy(sender->buffer, data, bytes);
    send(sender, sender->buffer, sender->handle, bytes);
}

void via_send_in_place(struct via_sender *sender, void *data, size_t bytes) {
    VIP_MEM_HANDLE handle;
    if (pinned_cache_find(&sender->cache, data, bytes, &handle) == VIP_SUCCESS)
        send(sender, data, handle, bytes);
    else
        via_send_copied(sender, data, bytes);
}

void via_sender_close(struct via_sender *sender, VIP_NIC_HANDLE nic) {
    pinned_cache_close(&sender->cache);
    via_check(VipDeregisterMem(nic, sender->descriptor, sender->handle), "VipDeregisterMem");
    free(sender->descriptor);
}
