/* What the library keeps of an open interface, and its own verbs.
 *
 * Requests that need the operating system go to the kernel agent by ioctl; those that the firmware
 * has to finish have a sequence number, under which it answers on the command page. */
#ifndef NARTHEX_VIA_PROVIDER_H
#define NARTHEX_VIA_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>

#include "messaging/copy.h"
#include "runtime/cache_blocks.h"
#include "runtime/information.h"
#include "via/pages.h"
#include "via/vipl.h"

enum { VIA_HANDLES_LIMIT = 2048, VIA_VIS_LIMIT = 256, VIA_REQUEST_WORDS = 8, VIA_WINDOW_UNIT = 64 };
enum { VIA_WINDOW_UNITS = VIA_WINDOW_BYTES / VIA_WINDOW_UNIT };

/* A registration, as the library has to know it where it copies by itself. */
struct via_registration {
    const char *start;
    size_t bytes;
    VIP_PROTECTION_HANDLE ptag; /* 0: none */
};

struct via_nic {
    int users; /* how often it is open */
    int file;
    const struct narthex_information *machine;
    struct via_command_page *page;
    struct via_vi *vis[VIA_VIS_LIMIT];
    uint64_t events; /* that were handled */
    VIP_ERROR_HANDLER *handler;
    VIP_PVOID handler_context;
    bool flushes;       /* what it transfers, since the interface does not see caches */
    bool copies;        /* descriptors and data to and from the window */
    uint32_t next_unit; /* of the window, where the search for room begins */
    bool unit_is_used[VIA_WINDOW_UNITS];
    struct via_registration registrations[VIA_HANDLES_LIMIT];
};

/* Descriptors posted to one queue of a VI, oldest first. */
struct via_queue {
    volatile uint64_t *doorbell;
    uint32_t first, count;
    VIP_DESCRIPTOR *posted[VIA_DESCRIPTORS_LIMIT];
    uint32_t units[VIA_DESCRIPTORS_LIMIT];     /* of the window that a descriptor's copy has, */
    uint32_t in_window[VIA_DESCRIPTORS_LIMIT]; /* and where the copy is */
};

struct via_vi {
    struct via_nic *nic;
    uint64_t number;
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_STATE state;
    struct via_queue send, receive;
};

struct via_cq {
    struct via_nic *nic;
    uint64_t number, handle;
    uint64_t entries;
    uint64_t taken;
    uint32_t index; /* of the next entry */
    uint64_t sense; /* that it has once it is new */
    char *memory;
};

/* A request to connect that VipConnectWait has taken. */
struct via_connection {
    struct via_nic *nic;
    uint64_t number;
};

/* Which levels of reliability a VI may have. */
#define VIA_LOWER_LEVEL VIP_SERVICE_UNRELIABLE
#define VIA_HIGHER_LEVEL VIP_SERVICE_RELIABLE_DELIVERY
#include "via/common.h"

/* Makes a request of the kernel agent; `words` holds what it takes, then what it gives. */
VIP_RETURN via_request(struct via_nic *nic, unsigned long request, uint64_t *words);

/* Waits for the firmware's answer to request `sequence`, for `timeout` milliseconds; what it says.
 */
VIP_RETURN via_await(struct via_nic *nic, uint64_t sequence, VIP_ULONG timeout, uint64_t *values);

/* Both: the sequence is in the word `sequence_at`. */
VIP_RETURN via_ask(struct via_nic *nic, unsigned long request, uint64_t *words, int sequence_at);

/* Handles the errors that belong to no call; called where nothing else is done. */
void via_handle_events(struct via_nic *nic);

/* A doubleword that the interface writes. Where it does not see caches the block is dropped behind
 * the load, so that the next one reads memory. Not before: a flush takes a block that is absent for
 * itself and writes it back, perhaps over what the interface has just written. */
static inline uint64_t via_poll(const struct via_nic *nic, const volatile uint64_t *word) {
    uint64_t value = *word;
    if (nic->flushes)
        flush_block(word);
    return value;
}

/* Whether there are any. */
static inline bool via_has_event(const struct via_nic *nic) {
    return via_poll(nic, &nic->page->events[nic->events % VIA_EVENTS].number) == nic->events + 1;
}

/* Writes every coherence block that the bytes touch to memory, and drops it. */
static inline void via_flush(const struct via_nic *nic, const volatile void *memory, size_t bytes) {
    uintptr_t block = nic->machine->block_bytes;
    uintptr_t end = (uintptr_t)memory + bytes;
    for (uintptr_t each = (uintptr_t)memory & ~(block - 1); each < end; each += block)
        flush_block((const volatile void *)each);
}

/* The window (via/window.c). */

/* Copies a descriptor to the window, with its data if it `sends`; false if there is no room. What
 * it names without a right to is not copied: the firmware finds a handle there that it refuses. */
bool via_window_post(struct via_vi *vi, struct via_queue *queue, uint32_t place,
                     const VIP_DESCRIPTOR *descriptor, VIP_MEM_HANDLE handle, bool sends);

/* Whether the descriptor at this place of a queue is done; then the program's has its status, and
 * its data if it `receives`. */
bool via_window_done(struct via_vi *vi, struct via_queue *queue, uint32_t place, bool receives);

#endif
