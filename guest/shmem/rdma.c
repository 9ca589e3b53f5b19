#ifdef RDMA

#include "shmem/rdma.h"

#include <stdlib.h>

#include "runtime/information.h"
#include "runtime/marker.h"
#include "via/endpoint.h"
#include "via/pinned_cache.h"

enum { PAGE_BYTES = 4096, DESCRIPTORS = 16, TRANSFERS = UINT16_MAX - 2 /* the VIs' number */ };

/* Of the heap: large enough that few questions are asked, small enough that little is pinned for
 * nothing. Variables that the program often writes lie among others, and an interface that watches
 * registered memory fetches what is written: of them no more is registered than pages. */
static const size_t granule_bytes[] = {[GLOBALS] = PAGE_BYTES, [HEAP] = 64 << 10};

/* Of other memory than symmetric memory that is kept registered. */
enum { KEPT_BYTES = 8 << 20 };

/* How a granule is reached. Without an address nobody has asked. */
enum { REFUSED = UINT32_MAX };

struct key {
    uint64_t address;
    uint64_t handle;
};

struct answer {
    struct header header;
    struct key key;
};

/* What this PE knows of another one, and at its own number of itself. */
struct other {
    VIP_VI_HANDLE vi;
    unsigned posted, next;
    uint32_t confirmed; /* of the counted messages these have been done */
    struct key *keys;   /* by granule */
    VIP_DESCRIPTOR *descriptors;
};

static VIP_NIC_HANDLE nic;
static VIP_MEM_ATTRIBUTES attributes;
static VIP_MEM_HANDLE descriptors_handle;
static size_t most_bytes; /* of one transfer */
static struct other *others;
static struct pinned_cache kept;
static bool is_answered;

/* Starting */

static bool are_enough(VIP_ULONG vis) {
    uint64_t of_process = 2 * (uint64_t)(shmem_pes - 1); /* messages have as many */
    return of_process * (uint64_t)narthex_processes() <= vis;
}

static void open_other(int pe, VIP_DESCRIPTOR *descriptors) {
    VIP_VI_ATTRIBUTES vi = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                            .MaxTransferSize = most_bytes,
                            .Ptag = attributes.Ptag,
                            .EnableRdmaWrite = VIP_TRUE,
                            .EnableRdmaRead = VIP_TRUE};
    others[pe].descriptors = descriptors;
    via_require(VipCreateVi(nic, &vi, NULL, NULL, &others[pe].vi), "VipCreateVi");
    via_connect(nic, others[pe].vi, pe, TRANSFERS);
}

void shmem_rdma_start(void) {
    VIP_NIC_ATTRIBUTES limits;
    if (!are_enough(narthex_information()->via_vis))
        return;
    size_t bytes = (size_t)shmem_pes * DESCRIPTORS * sizeof(VIP_DESCRIPTOR);
    bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    VIP_DESCRIPTOR *descriptors = aligned_alloc(PAGE_BYTES, bytes);
    others = calloc((size_t)shmem_pes, sizeof *others);
    narthex_check(descriptors && others, "PE %d has no memory for RDMA", shmem_pe);
    memset(descriptors, 0, bytes);
    via_require(VipOpenNic("via", &nic), "VipOpenNic");
    via_require(VipQueryNic(nic, &limits), "VipQueryNic");
    most_bytes = limits.MaxTransferSize - PAGE_BYTES; /* from anywhere in a page on */
    via_require(VipCreatePtag(nic, &attributes.Ptag), "VipCreatePtag");
    via_require(VipRegisterMem(nic, descriptors, bytes, &attributes, &descriptors_handle),
                "VipRegisterMem");
    pinned_cache_open(&kept, nic, attributes.Ptag, KEPT_BYTES);
    attributes.EnableRdmaWrite = attributes.EnableRdmaRead = VIP_TRUE;
    for (int pe = 0; pe < shmem_pes; pe++)
        if (pe != shmem_pe)
            open_other(pe, descriptors + (size_t)pe * DESCRIPTORS);
}

/* Granules */

/* Where a region's first granule begins. */
static uintptr_t origin(uint64_t region) {
    return shmem_regions[region].begin / PAGE_BYTES * PAGE_BYTES;
}

static size_t granules_of(uint64_t region) {
    uintptr_t end = shmem_regions[region].begin + shmem_regions[region].bytes;
    return (end - origin(region) + granule_bytes[region] - 1) / granule_bytes[region];
}

/* How far into a region a place is, from the first granule on. */
static size_t offset_of(uint64_t place) {
    return (uintptr_t)shmem_address(place) - origin(place >> PLACE_REGION_SHIFT);
}

static size_t granule_of(uint64_t place) {
    uint64_t region = place >> PLACE_REGION_SHIFT;
    return (region == HEAP ? granules_of(GLOBALS) : 0) + offset_of(place) / granule_bytes[region];
}

static size_t offset_in_granule(uint64_t place) {
    return offset_of(place) % granule_bytes[place >> PLACE_REGION_SHIFT];
}

static size_t left_in_granule(uint64_t place) {
    return granule_bytes[place >> PLACE_REGION_SHIFT] - offset_in_granule(place);
}

static struct key *key_of(int pe, uint64_t place) {
    struct other *other = &others[pe];
    if (!other->keys)
        other->keys = calloc(granules_of(GLOBALS) + granules_of(HEAP), sizeof *other->keys);
    narthex_check(other->keys, "PE %d has no memory left for keys", shmem_pe);
    return &other->keys[granule_of(place)];
}

/* The key of this PE's granule, which is registered if need be. */
static const struct key *own_key(uint64_t place) {
    struct key *key = key_of(shmem_pe, place);
    if (key->address)
        return key;
    uint64_t region = place >> PLACE_REGION_SHIFT;
    uintptr_t end = shmem_regions[region].begin + shmem_regions[region].bytes;
    uintptr_t begin = (uintptr_t)shmem_address(place) - offset_in_granule(place);
    size_t most = granule_bytes[region], bytes = end - begin < most ? end - begin : most;
    VIP_MEM_HANDLE handle;
    bytes = (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    VIP_RETURN result = VipRegisterMem(nic, (void *)begin, bytes, &attributes, &handle);
    *key = (struct key){begin, result == VIP_SUCCESS ? handle : REFUSED};
    return key;
}

/* Questions */

static void ask(int pe, struct header header) {
    is_answered = false;
    send(pe, &header, sizeof header);
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (!is_answered)
        narthex_poll();
    LEAVE();
    others[pe].confirmed = header.after;
}

void shmem_key_asked(int source, const struct header *header) {
    struct answer answer = {{.place = header->place, .kind = KEY_ANSWERED},
                            *own_key(header->place)};
    send(source, &answer, sizeof answer);
}

void shmem_key_answered(int source, const struct header *header) {
    *key_of(source, header->place) = ((const struct answer *)header)->key;
    is_answered = true;
}

/* Whether the other PE lets its memory be reached; asks for what is not known. */
static bool is_open(int pe, struct header header, size_t bytes) {
    size_t done = 0;
    if ((int32_t)(header.after - others[pe].confirmed) > 0)
        ask(pe, header);
    while (done < bytes) {
        const struct key *key = key_of(pe, header.place);
        if (!key->address)
            ask(pe, header);
        if (key->handle == REFUSED)
            return false;
        size_t part = left_in_granule(header.place);
        done += part;
        header.place += part;
    }
    return true;
}

/* Transfers */

/* It grows downwards from the highest addresses on. It is not registered: the program writes it all
 * the time. */
static bool is_on_stack(const void *memory) {
    return memory >= __builtin_frame_address(0);
}

static bool find_own(void *memory, size_t bytes, VIP_MEM_HANDLE *handle) {
    for (uint64_t region = GLOBALS; region <= HEAP; region++) {
        size_t offset = (uintptr_t)memory - shmem_regions[region].begin;
        uint64_t place = region << PLACE_REGION_SHIFT | offset;
        if (offset >= shmem_regions[region].bytes || bytes > left_in_granule(place))
            continue;
        const struct key *key = own_key(place);
        *handle = (VIP_MEM_HANDLE)key->handle;
        return key->handle != REFUSED;
    }
    return !is_on_stack(memory) && pinned_cache_find(&kept, memory, bytes, handle) == VIP_SUCCESS;
}

static void await_oldest(struct other *other) {
    VIP_DESCRIPTOR *done;
    via_require((VipSendWait)(other->vi, VIP_INFINITE, &done), "VipSendWait");
    other->posted -= 1;
}

static void post(struct other *other, VIP_UINT16 operation, VIP_ADDRESS_SEGMENT remote,
                 VIP_DATA_SEGMENT own) {
    if (other->posted == DESCRIPTORS)
        await_oldest(other);
    VIP_DESCRIPTOR *descriptor = &other->descriptors[other->next++ % DESCRIPTORS];
    descriptor->CS.Control = operation;
    descriptor->CS.SegCount = 2;
    descriptor->CS.Length = own.Length;
    descriptor->DS[0].Remote = remote;
    descriptor->DS[1].Local = own;
    via_require(VipPostSend(other->vi, descriptor, descriptors_handle), "VipPostSend");
    other->posted += 1;
}

static bool transfer(int pe, VIP_UINT16 operation, struct header header, char *own, size_t bytes) {
    VIP_MEM_HANDLE handle;
    if (!others || !find_own(own, bytes, &handle) || !is_open(pe, header, bytes))
        return false;
    struct other *other = &others[pe];
    while (bytes > 0) {
        const struct key *key = key_of(pe, header.place);
        size_t left = left_in_granule(header.place), part = bytes < left ? bytes : left;
        part = part < most_bytes ? part : most_bytes;
        uint64_t address = key->address + offset_in_granule(header.place);
        post(other, operation, (VIP_ADDRESS_SEGMENT){{address}, (VIP_MEM_HANDLE)key->handle, 0},
             (VIP_DATA_SEGMENT){{.Address = own}, handle, (VIP_UINT32)part});
        header.place += part;
        own += part;
        bytes -= part;
    }
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (other->posted > 0)
        await_oldest(other);
    LEAVE();
    return true;
}

bool shmem_rdma_put(int pe, struct header header, const void *source, size_t bytes) {
    return transfer(pe, VIP_CONTROL_OP_RDMAWRITE, header, (char *)(uintptr_t)source, bytes);
}

bool shmem_rdma_get(int pe, struct header header, void *dest, size_t bytes) {
    return transfer(pe, VIP_CONTROL_OP_RDMAREAD, header, dest, bytes);
}

#else

typedef int no_rdma;

#endif
