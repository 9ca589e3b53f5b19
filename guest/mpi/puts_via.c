/* Puts over VIA: RDMA writes, by a VI for each other rank beside that of messages. The last write
 * of a put has the receiver's slot as its immediate data, for which the receiver posts a
 * descriptor with each offer. */
#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "mpi/puts.h"
#include "mpi/transport.h"
#include "runtime/information.h"
#include "via/endpoint.h"

enum { PAGE_BYTES = 4096, PUTS = UINT16_MAX - 1 /* the VIs' number among those of a pair */ };
enum { OFFERS = 8 /* to a rank at a time */, REGISTRATIONS = 64 };

struct write {
    _Alignas(128) VIP_DESCRIPTOR descriptor; /* a coherence block for itself */
};

/* The VI to another rank, and the descriptors of what it is offered. */
struct other {
    VIP_VI_HANDLE vi;
    unsigned next, offers;
    struct write *descriptors;
};

static VIP_NIC_HANDLE nic;
static VIP_CQ_HANDLE arrivals;
static VIP_MEM_HANDLE handle;
static VIP_MEM_ATTRIBUTES attributes;
static size_t most_bytes; /* of one write */
static struct other *others;
static struct write *own_write;

static struct registration {
    uintptr_t begin, end;
    VIP_MEM_HANDLE handle;
} registrations[REGISTRATIONS];
static int registered;

static void open_other(int rank) {
    VIP_VI_ATTRIBUTES vi = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                            .MaxTransferSize = most_bytes,
                            .Ptag = attributes.Ptag,
                            .EnableRdmaWrite = VIP_TRUE};
    via_require(VipCreateVi(nic, &vi, NULL, arrivals, &others[rank].vi), "VipCreateVi");
    via_connect(nic, others[rank].vi, rank, PUTS);
}

/* Fails where a node has too few VIs. Only in programs that are linked for these interfaces, since
 * it moves what stands behind it. */
static void check_vis(int ranks) {
#ifdef RDMA
    int needed = 2 * (ranks - 1) * narthex_processes();
    int vis = (int)narthex_information()->via_vis;
    narthex_check(needed <= vis,
                  "interfaces.via.vis: %d is too few: MPI takes two VIs from each process to each "
                  "other one, for messages and for puts, which are %d on a node; expected at least "
                  "%d, or fewer processes",
                  vis, needed, needed);
#else
    (void)ranks;
#endif
}

static void start(void) {
    VIP_NIC_ATTRIBUTES limits;
    int ranks = narthex_nodes();
    check_vis(ranks);
    size_t bytes = ((size_t)ranks * OFFERS + 1) * sizeof(struct write);
    struct write *descriptors =
        aligned_alloc(PAGE_BYTES, (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    others = calloc((size_t)ranks, sizeof *others);
    narthex_check(descriptors && others, "rank %d has no memory left for puts", narthex_node());
    memset(descriptors, 0, bytes);
    via_require(VipOpenNic("via", &nic), "VipOpenNic");
    via_require(VipQueryNic(nic, &limits), "VipQueryNic");
    most_bytes = limits.MaxTransferSize - PAGE_BYTES; /* from anywhere in a page on */
    via_require(VipCreatePtag(nic, &attributes.Ptag), "VipCreatePtag");
    via_require(VipRegisterMem(nic, descriptors, bytes, &attributes, &handle), "VipRegisterMem");
    via_require(VipCreateCQ(nic, (VIP_ULONG)ranks * OFFERS, &arrivals), "VipCreateCQ");
    attributes.EnableRdmaWrite = VIP_TRUE;
    own_write = descriptors;
    for (int rank = 0; rank < ranks; rank++) {
        others[rank].descriptors = descriptors + 1 + rank * OFFERS;
        if (rank != narthex_node())
            open_other(rank);
    }
}

/* The registration in which the memory is, made if need be. */
static bool find(const void *memory, size_t bytes, VIP_MEM_HANDLE *found) {
    uintptr_t begin = (uintptr_t)memory / PAGE_BYTES * PAGE_BYTES;
    uintptr_t end = ((uintptr_t)memory + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    for (int index = registered; index-- > 0;) {
        *found = registrations[index].handle;
        if (registrations[index].begin <= begin && end <= registrations[index].end)
            return true;
    }
    if (registered == REGISTRATIONS ||
        VipRegisterMem(nic, (void *)begin, end - begin, &attributes, found) != VIP_SUCCESS)
        return false;
    registrations[registered++] = (struct registration){begin, end, *found};
    return true;
}

static bool may_leave(const void *memory, size_t bytes) {
    VIP_MEM_HANDLE found;
    return find(memory, bytes, &found);
}

static bool offer(int source, void *memory, size_t bytes, uint32_t slot, struct put_place *place) {
    (void)slot;
    VIP_MEM_HANDLE found;
    struct other *other = &others[source];
    if (other->offers == OFFERS || !find(memory, bytes, &found))
        return false;
    VIP_DESCRIPTOR *descriptor = &other->descriptors[other->next++ % OFFERS].descriptor;
    via_describe(descriptor, descriptor, handle, 0); /* takes immediate data alone */
    descriptor->CS.SegCount = 0;
    via_require(VipPostRecv(other->vi, descriptor, handle), "VipPostRecv");
    other->offers += 1;
    mpi_under_way += 1;
    *place = (struct put_place){(uintptr_t)memory, found};
    return true;
}

static void write_part(struct other *other, const char *from, VIP_MEM_HANDLE found, size_t bytes,
                       const struct put_place *place) {
    VIP_DESCRIPTOR *descriptor = &own_write->descriptor, *done;
    descriptor->CS.SegCount = 2;
    descriptor->CS.Length = (VIP_UINT32)bytes;
    descriptor->DS[0].Remote =
        (VIP_ADDRESS_SEGMENT){{place->address}, (VIP_MEM_HANDLE)place->key, 0};
    descriptor->DS[1].Local =
        (VIP_DATA_SEGMENT){{.Address = (void *)(uintptr_t)from}, found, (VIP_UINT32)bytes};
    via_require(VipPostSend(other->vi, descriptor, handle), "VipPostSend");
    via_require((VipSendWait)(other->vi, VIP_INFINITE, &done), "VipSendWait");
}

static void put(int rank, const void *memory, size_t bytes, const struct put_place *place,
                uint32_t slot) {
    struct put_place next = *place;
    const char *from = memory;
    VIP_MEM_HANDLE found;
    narthex_check(find(memory, bytes, &found), "rank %d: a registration has been lost",
                  narthex_node());
    own_write->descriptor.CS.ImmediateData = slot;
    while (bytes > 0) {
        size_t part = bytes < most_bytes ? bytes : most_bytes;
        own_write->descriptor.CS.Control = VIP_CONTROL_OP_RDMAWRITE;
        if (part == bytes)
            own_write->descriptor.CS.Control |= VIP_CONTROL_IMMEDIATE;
        write_part(&others[rank], from, found, part, &next);
        next.address += part;
        from += part;
        bytes -= part;
    }
}

static struct other *other_of(VIP_VI_HANDLE vi) {
    struct other *other = others;
    while (other->vi != vi)
        other++;
    return other;
}

static void poll(void) {
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN is_receive;
    VIP_DESCRIPTOR *done;
    while (VipCQDone(arrivals, &vi, &is_receive) == VIP_SUCCESS) {
        via_require(VipRecvDone(vi, &done), "VipRecvDone");
        other_of(vi)->offers -= 1;
        mpi_under_way -= 1;
        put_arrives(done->CS.ImmediateData);
    }
}

const struct put_way mpi_puts_of_via = {1200, start, may_leave, offer, put, poll};
