/* Opening an interface, requests of its kernel agent, and errors that belong to no call. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "messaging/narthex.h"
#include "via/error_names.h"
#include "via/provider.h"

/* Requests */

static VIP_RETURN meaning_of(int error) {
    switch (error) {
    case ENOMEM:
    case EAGAIN:
        return VIP_ERROR_RESOURCE;
    case EBUSY:
        return VIP_INVALID_STATE;
    default:
        return VIP_INVALID_PARAMETER;
    }
}

VIP_RETURN via_request(struct via_nic *nic, unsigned long request, uint64_t *words) {
    return ioctl(nic->file, (int)request, words) < 0 ? meaning_of(errno) : VIP_SUCCESS;
}

static const volatile struct via_answer *answer_to(const struct via_nic *nic, uint64_t sequence) {
    return &nic->page->answers[sequence % VIA_ANSWERS];
}

static bool is_answered(const struct via_nic *nic, uint64_t sequence) {
    return via_poll(nic, &answer_to(nic, sequence)->sequence) == sequence;
}

/* Takes a request back; whether the firmware had not answered it. */
static bool cancel(struct via_nic *nic, uint64_t sequence) {
    uint64_t words[VIA_REQUEST_WORDS] = {sequence};
    return via_ask(nic, VIA_CANCEL, words, 1) == VIP_SUCCESS;
}

VIP_RETURN via_await(struct via_nic *nic, uint64_t sequence, VIP_ULONG timeout, uint64_t *values) {
    if (timeout == VIP_INFINITE) {
        while (!is_answered(nic, sequence))
            ;
    } else {
        uint64_t start = narthex_time_ns();
        while (!is_answered(nic, sequence))
            if (narthex_time_ns() - start >= timeout * NANOSECONDS && cancel(nic, sequence))
                return VIP_TIMEOUT;
    }
    const volatile struct via_answer *answer = answer_to(nic, sequence);
    for (int each = 0; values && each < VIA_VALUES; each++)
        values[each] = answer->values[each];
    return (VIP_RETURN)answer->status;
}

VIP_RETURN via_ask(struct via_nic *nic, unsigned long request, uint64_t *words, int sequence_at) {
    VIP_RETURN result = via_request(nic, request, words);
    return result != VIP_SUCCESS ? result : via_await(nic, words[sequence_at], VIP_INFINITE, NULL);
}

/* Opening */

/* The interface is opened once in a process, however often VipOpenNic is called. */
static struct via_nic *opened;

static struct via_nic *make_nic(int file, const struct narthex_information *machine) {
    struct via_nic *nic = calloc(1, sizeof *nic);
    struct via_command_page *page = aligned_alloc(VIA_PAGE_BYTES, sizeof *page);
    if (!nic || !page) {
        free(nic);
        free(page);
        return NULL;
    }
    memset(page, 0, sizeof *page);
    nic->users = 1;
    nic->file = file;
    nic->machine = machine;
    nic->page = page;
    nic->flushes = machine->via_scheme == VIA_SCHEME_DMA_FLUSH;
    nic->copies =
        machine->via_scheme == VIA_SCHEME_PIO || machine->via_scheme == VIA_SCHEME_PIO_COMBINING;
    if (nic->flushes)
        via_flush(nic, page, sizeof *page);
    return nic;
}

VIP_RETURN VipOpenNic(const VIP_CHAR *DeviceName, VIP_NIC_HANDLE *NicHandle) {
    if (!via_may_open(DeviceName, NicHandle))
        return VIP_INVALID_PARAMETER;
    if (opened) {
        opened->users += 1;
        *NicHandle = opened;
        return VIP_SUCCESS;
    }
    int file = open("/dev/via", O_RDWR);
    if (file < 0)
        return VIP_ERROR_RESOURCE;
    struct via_nic *nic = make_nic(file, narthex_information());
    if (!nic) {
        close(file);
        return VIP_ERROR_RESOURCE;
    }
    uint64_t words[VIA_REQUEST_WORDS] = {(uintptr_t)nic->page};
    VIP_RETURN result = via_ask(nic, VIA_OPEN, words, 1);
    if (result != VIP_SUCCESS) {
        close(file);
        free(nic->page);
        free(nic);
        return result;
    }
    *NicHandle = opened = nic;
    return VIP_SUCCESS;
}

VIP_RETURN VipCloseNic(VIP_NIC_HANDLE NicHandle) {
    if (!NicHandle || NicHandle != opened)
        return VIP_INVALID_PARAMETER;
    if (--NicHandle->users > 0)
        return VIP_SUCCESS;
    uint64_t words[VIA_REQUEST_WORDS] = {0};
    VIP_RETURN result = via_ask(NicHandle, VIA_CLOSE, words, 0);
    if (result != VIP_SUCCESS)
        return result;
    words[0] = 0; /* the command page */
    via_request(NicHandle, VIA_RELEASE, words);
    opened = NULL;
    close(NicHandle->file);
    for (int each = 0; each < VIA_VIS_LIMIT; each++)
        free(NicHandle->vis[each]);
    free(NicHandle->page);
    free(NicHandle);
    return VIP_SUCCESS;
}

VIP_RETURN VipQueryNic(VIP_NIC_HANDLE NicHandle, VIP_NIC_ATTRIBUTES *NicAttribs) {
    uint64_t words[VIA_REQUEST_WORDS] = {0};
    if (!NicHandle || !NicAttribs)
        return VIP_INVALID_PARAMETER;
    VIP_RETURN result = via_request(NicHandle, VIA_QUERY, words);
    if (result != VIP_SUCCESS)
        return result;
    uint64_t most_vis = words[0], most_ptags = words[1], most_handles = words[2],
             most_cqs = words[3];
    uint64_t most_pages = words[5];
    uint16_t node = (uint16_t)NicHandle->machine->node;
    bool copies = NicHandle->copies;
    *NicAttribs = (VIP_NIC_ATTRIBUTES){
        .Name = "via",
        .HardwareVersion = 1,
        .ProviderVersion = 1,
        .NicAddressLen = sizeof node,
        .LocalNicAddress = {.HostAddressLen = sizeof node},
        .ThreadSafe = VIP_FALSE,
        .MaxDiscriminatorLen = sizeof(uint64_t),
        .MaxRegisterBytes = most_pages * VIA_PAGE_BYTES * most_handles,
        .MaxRegisterRegions = most_handles,
        .MaxRegisterBlockBytes = most_pages * VIA_PAGE_BYTES,
        .MaxVI = most_vis,
        .MaxDescriptorsPerQueue = VIA_DESCRIPTORS_LIMIT,
        .MaxSegmentsPerDesc = VIA_SEGMENTS_LIMIT,
        .MaxCQ = most_cqs,
        .MaxCQEntries = VIA_CQ_ENTRIES_LIMIT,
        .MaxTransferSize = copies ? VIA_WINDOW_BYTES / 4 : most_pages * VIA_PAGE_BYTES,
        .NativeMTU = NicHandle->machine->via_mtu,
        .MaxPtags = most_ptags,
        .ReliabilityLevelSupport = VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY,
        .RDMAReadSupport = copies ? 0 : VIP_SERVICE_UNRELIABLE | VIP_SERVICE_RELIABLE_DELIVERY,
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

/* The firmware cannot reach a descriptor with a wrong handle: the library says in it what is wrong.
 */
static void complete(struct via_queue *queue, VIP_DESCRIPTOR *descriptor) {
    for (uint32_t each = 0; each < queue->count; each++)
        if (queue->posted[(queue->first + each) % VIA_DESCRIPTORS_LIMIT] == descriptor)
            descriptor->CS.Status = VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR;
}

static void handle(struct via_nic *nic, const volatile struct via_event *event) {
    VIP_ERROR_CODE code = (VIP_ERROR_CODE)(uint32_t)event->codes;
    struct via_vi *vi = event->vi < VIA_VIS_LIMIT ? nic->vis[event->vi] : NULL;
    VIP_ERROR_DESCRIPTOR error = {
        .NicHandle = nic,
        .ViHandle = vi,
        .DescriptorPtr = (VIP_DESCRIPTOR *)(uintptr_t)event->descriptor,
        .ResourceCode = (VIP_RESOURCE_CODE)(event->codes >> 32),
        .ErrorCode = code,
    };
    if (vi && code == VIP_ERROR_POST_DESC) {
        complete(&vi->send, error.DescriptorPtr);
        complete(&vi->receive, error.DescriptorPtr);
    }
    if (vi &&
        (vi->attributes.ReliabilityLevel != VIP_SERVICE_UNRELIABLE || code == VIP_ERROR_CONN_LOST))
        vi->state = VIP_STATE_ERROR;
    if (!nic->handler)
        narthex_fail("node %d: the interface reports %s for VI %llu; install a handler with "
                     "VipErrorCallback to go on",
                     narthex_node(), VIA_ERROR_NAMES[code], (unsigned long long)event->vi);
    nic->handler(nic->handler_context, &error);
}

void via_handle_events(struct via_nic *nic) {
    while (via_has_event(nic)) {
        const volatile struct via_event *event = &nic->page->events[nic->events % VIA_EVENTS];
        nic->events += 1;
        handle(nic, event);
    }
}
