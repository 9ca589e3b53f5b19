/* Driver of messages over the Virtual Interface Architecture (guest/via/vipl.h).
 *
 * Each process has a VI for each other one, connected at the first message or poll. A packet is one
 * VIA message, copied into memory that was registered before:
 *
 *     slot:  | descriptor | credits | header | payload |
 *
 * VIA wants a receive descriptor posted before its message comes. So a sender has credits, as many
 * as its peer has posted descriptors for packets; the peer gives them back in front of its own
 * packets, or in a message of their own once half of them are due. For those messages some
 * descriptors more are posted. All receive queues lead to one completion queue, which is polled.
 *
 * Where a packet goes the library tells only when it sends it: there is room if there is for every
 * peer. Packets to the process itself go through memory. */
#include <stdlib.h>
#include <string.h>

#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "via/endpoint.h"

enum { ALIGNMENT = 128, CREDITS = 16, CREDIT_MESSAGES = 3, SENDS = 8, WINDOW_PACKETS = 120 };
enum { MESSAGES = UINT16_MAX }; /* the VIs' number among those of a pair of processes */

struct message {
    uint64_t credits; /* that the receiver gets back */
    uint64_t header;  /* 0: nothing but credits */
    char payload[PACKET_PAYLOAD_LIMIT];
};

struct slot {
    _Alignas(ALIGNMENT) VIP_DESCRIPTOR descriptor;
    struct message message;
};

struct peer {
    VIP_VI_HANDLE vi;
    int credits;      /* packets that it can take */
    int due;          /* credits that it gets back */
    unsigned sending; /* slots that are posted */
    unsigned next;    /* slot to send from */
    struct slot *sends, *receives;
};

static VIP_NIC_HANDLE nic;
static VIP_CQ_HANDLE arrivals;
static VIP_MEM_HANDLE memory;
static struct peer *peers;
static int own, count;
static int credits_of_peer;
static int starved; /* peers to which no packet can go now */
static const struct send_driver *to_itself = &send_loopback[SMALL_HEADER];
static const struct receive_driver *from_itself = &receive_loopback[SMALL_HEADER];
static struct slot *arrived_in; /* the slot of the packet that has arrived; NULL: from itself */
static struct peer *arrived_from;

/* Starting */

static void post_receive(struct peer *peer, struct slot *slot) {
    via_describe(&slot->descriptor, &slot->message, memory, sizeof slot->message);
    via_require(VipPostRecv(peer->vi, &slot->descriptor, memory), "VipPostRecv");
}

static void open_peer(int rank, struct slot *slots, VIP_PROTECTION_HANDLE ptag) {
    struct peer *peer = &peers[rank];
    VIP_VI_ATTRIBUTES attributes = {.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
                                    .MaxTransferSize = sizeof(struct message),
                                    .Ptag = ptag};
    *peer = (struct peer){.credits = credits_of_peer, .sends = slots, .receives = slots + SENDS};
    via_require(VipCreateVi(nic, &attributes, NULL, arrivals, &peer->vi), "VipCreateVi");
    for (int each = 0; each < credits_of_peer + CREDIT_MESSAGES; each++)
        post_receive(peer, &peer->receives[each]);
    via_connect(nic, peer->vi, rank, MESSAGES);
}

/* How many packets of a peer have descriptors: where they are in the interface's window, its size
 * is the limit. */
static int choose_credits(void) {
    uint64_t scheme = narthex_information()->via_scheme;
    if ((scheme != VIA_SCHEME_PIO && scheme != VIA_SCHEME_PIO_COMBINING) || count < 2)
        return CREDITS;
    int each = WINDOW_PACKETS / (count - 1) - CREDIT_MESSAGES - 2;
    narthex_check(each > 1, "%d processes send messages by programmed I/O: the window is too small",
                  count);
    return each < CREDITS ? each : CREDITS;
}

static void open_all(void) {
    VIP_PROTECTION_HANDLE ptag;
    own = narthex_node();
    count = narthex_nodes();
    credits_of_peer = choose_credits();
    size_t each = (size_t)(SENDS + credits_of_peer + CREDIT_MESSAGES);
    size_t bytes = each * (size_t)count * sizeof(struct slot);
    struct slot *slots = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    peers = calloc((size_t)count, sizeof *peers);
    narthex_check(slots && peers, "node %d has no memory left for packets", own);
    memset(slots, 0, bytes);
    via_require(VipOpenNic("via", &nic), "VipOpenNic");
    via_require(VipCreatePtag(nic, &ptag), "VipCreatePtag");
    VIP_MEM_ATTRIBUTES attributes = {.Ptag = ptag};
    via_require(VipRegisterMem(nic, slots, bytes, &attributes, &memory), "VipRegisterMem");
    via_require(VipCreateCQ(nic, each * (size_t)count, &arrivals), "VipCreateCQ");
    for (int rank = 0; rank < count; rank++)
        if (rank != own)
            open_peer(rank, slots + each * (size_t)rank, ptag);
}

static void start(const struct narthex_information *machine) {
    (void)machine; /* a program may use VIPL alone: the first message or poll opens */
}

static inline void begin(void) {
    if (!nic)
        open_all();
}

/* Sending */

static inline bool is_starved(const struct peer *peer) {
    return peer->credits == 0 || peer->sending == SENDS;
}

/* Takes the slots back that were sent. */
static void reclaim(struct peer *peer) {
    VIP_DESCRIPTOR *descriptor;
    VIP_RETURN result;
    while ((result = VipSendDone(peer->vi, &descriptor)) == VIP_SUCCESS)
        peer->sending -= 1;
    narthex_check(result == VIP_NOT_DONE, "node %d: a message fails with status 0x%x", own,
                  descriptor->CS.Status);
}

static bool has_room(void) {
    begin();
    if (starved > 0) {
        starved = 0;
        for (int rank = 0; rank < count; rank++)
            if (rank != own) {
                if (peers[rank].sending == SENDS)
                    reclaim(&peers[rank]);
                starved += is_starved(&peers[rank]);
            }
    }
    return starved == 0 && to_itself->has_room();
}

static void post_send(struct peer *peer, uint64_t header, const void *payload, size_t bytes) {
    struct slot *slot = &peer->sends[peer->next];
    uint32_t length = (uint32_t)(offsetof(struct message, payload) + bytes);
    peer->next = (peer->next + 1) % SENDS;
    peer->sending += 1;
    slot->message.credits = (uint64_t)peer->due;
    slot->message.header = header;
    peer->due = 0;
    copy(slot->message.payload, payload, bytes);
    via_describe(&slot->descriptor, &slot->message, memory, length);
    via_require(VipPostSend(peer->vi, &slot->descriptor, memory), "VipPostSend");
}

SENDING_CODE static void send(uint64_t header, const void *payload, size_t bytes) {
    int rank = header_peer(header);
    if (rank == own) {
        to_itself->send(header, payload, bytes);
        return;
    }
    struct peer *peer = &peers[rank];
    peer->credits -= 1;
    post_send(peer, (header & ~UINT64_C(0xffff)) | (uint64_t)own, payload, bytes);
    starved += is_starved(peer);
}

/* Receiving */

/* Posts a slot again, and gives back what is due. A credit message needs no credit. */
static void release(struct peer *peer, struct slot *slot) {
    post_receive(peer, slot);
    if (peer->due * 2 < credits_of_peer)
        return;
    if (peer->sending == SENDS)
        reclaim(peer);
    if (peer->sending < SENDS) {
        post_send(peer, 0, NULL, 0);
        starved += peer->sending == SENDS;
    }
}

static struct peer *peer_of(VIP_VI_HANDLE vi) {
    struct peer *peer = peers;
    while (peer->vi != vi)
        peer++;
    return peer;
}

static uint64_t arrived(void) {
    VIP_VI_HANDLE vi;
    VIP_BOOLEAN is_receive;
    VIP_DESCRIPTOR *descriptor;
    begin();
    if (arrived_in)
        return arrived_in->message.header;
    uint64_t header = from_itself->arrived();
    while (header == 0 && VipCQDone(arrivals, &vi, &is_receive) == VIP_SUCCESS) {
        struct peer *peer = peer_of(vi);
        via_require(VipRecvDone(vi, &descriptor), "VipRecvDone");
        struct slot *slot = (struct slot *)(void *)descriptor;
        peer->credits += (int)slot->message.credits;
        header = slot->message.header;
        if (header == 0) {
            release(peer, slot);
        } else {
            arrived_in = slot;
            arrived_from = peer;
        }
    }
    return header;
}

static void receive(void *payload, size_t bytes) {
    struct slot *slot = arrived_in;
    if (!slot) {
        from_itself->receive(payload, bytes);
        return;
    }
    copy(payload, slot->message.payload, bytes);
    arrived_in = NULL;
    arrived_from->due += 1;
    release(arrived_from, slot);
}

const struct send_driver send_via[HEADER_VARIANTS] = {{start, has_room, send}};
const struct receive_driver receive_via[HEADER_VARIANTS] = {{start, arrived, receive, NULL}};
