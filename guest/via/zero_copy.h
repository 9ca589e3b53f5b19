/* Sends of a message-passing library over a VI, in two ways ("EDT vs. CNI Comparison", Section 5):
 *
 *     copied      user's memory ── copy ──► buffer, registered before ──► interface
 *     in place    user's memory, registered by a pinned-down cache ─────► interface
 *
 * Both return when the memory may be written again. */
#ifndef NARTHEX_VIA_ZERO_COPY_H
#define NARTHEX_VIA_ZERO_COPY_H

#include "via/pinned_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

struct via_sender {
    VIP_VI_HANDLE vi;
    VIP_DESCRIPTOR *descriptor;
    char *buffer;
    size_t buffer_bytes;
    VIP_MEM_HANDLE handle; /* of descriptor and buffer */
    struct pinned_cache cache;
};

/* A sender over a VI with this protection tag, for messages of up to `bytes` bytes, which keeps
 * registrations of up to `limit` bytes. */
void via_sender_open(struct via_sender *sender, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi,
                     VIP_PROTECTION_HANDLE ptag, size_t bytes, size_t limit);

void via_send_copied(struct via_sender *sender, const void *data, size_t bytes);

/* Copies where the memory cannot be registered. */
void via_send_in_place(struct via_sender *sender, void *data, size_t bytes);

void via_sender_close(struct via_sender *sender, VIP_NIC_HANDLE nic);

#ifdef __cplusplus
}
#endif

#endif
