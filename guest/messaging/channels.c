/* Virtual channels.
 *
 *     sender                                  receiver
 *     send   data ---- packets of slot 0 ---> [ slot 0 ]  receive, use, release
 *     send   data ---- packets of slot 1 ---> [ slot 1 ]
 *            <------------------- released ----
 *     send   data ---- packets of slot 0 ---> [ slot 0 ]
 *
 * A channel's transfers go to its two slots in turn. The packets carry HEADER_CHANNEL, the slot in
 * their handler number and the channel's number as message number, so the receive path knows where
 * each payload goes and copies it there; nobody is called. A slot is whole when all packets up to
 * the last one have come. The sender starts with a credit for each slot; a release, a packet
 * without payload, returns one or, by another handler number, both. */
#include "messaging/channels.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/arrangement.h"
#include "messaging/messages.h"
#include "runtime/information.h"
#include "runtime/marker.h"

enum { SLOTS = 2, ALIGNMENT_BYTES = 16 };

/* A receiver's memory for one transfer. */
struct slot {
    char *data;
    struct arrangement arrangement;
};

struct narthex_channel {
    int peer;     /* the node at the other end */
    int number;   /* of the channel */
    size_t bytes; /* a transfer's limit */
    int turn;     /* the slot of the next transfer */
    /* The sending end's. */
    int credits; /* slots that are free */
    /* The receiving end's. */
    bool in_use; /* the transfer received last is not released */
    int untold;  /* slots that are released, and the sender does not know */
    struct slot slots[SLOTS];
};

/* The ends on this node, [peer].channels[number], for either direction. */
struct ends {
    struct narthex_channel *channels[NARTHEX_CHANNELS];
};
static struct ends *outgoing, *incoming;

/* Opening */

static void *allocate(size_t bytes) {
    size_t whole = (bytes / ALIGNMENT_BYTES + 1) * ALIGNMENT_BYTES;
    void *memory = aligned_alloc(ALIGNMENT_BYTES, whole);
    narthex_check(memory, "node %d has no memory left for a channel's %zu bytes", narthex_node(),
                  whole);
    return memset(memory, 0, whole);
}

static struct narthex_channel *open_end(const char *function, struct ends **ends, int peer,
                                        int number, size_t bytes) {
    int node = narthex_node(), nodes = narthex_nodes();
    check_outside_handler(function);
    narthex_check(peer >= 0 && peer < nodes, "node %d calls %s for node %d: nodes are 0 to %d",
                  node, function, peer, nodes - 1);
    narthex_check(number >= 0 && number < NARTHEX_CHANNELS,
                  "node %d calls %s for channel %d: numbers are 0 to %d", node, function, number,
                  NARTHEX_CHANNELS - 1);
    narthex_check(bytes <= narthex_payload_limit(),
                  "node %d calls %s for transfers of %zu bytes: the limit is %zu", node, function,
                  bytes, narthex_payload_limit());
    if (!*ends)
        *ends = calloc((size_t)nodes, sizeof **ends);
    narthex_check(*ends, "node %d has no memory left for channels", node);
    struct narthex_channel **end = &(*ends)[peer].channels[number];
    narthex_check(!*end, "node %d calls %s for channel %d and node %d twice", node, function,
                  number, peer);
    *end = allocate(sizeof **end);
    **end = (struct narthex_channel){.peer = peer, .number = number, .bytes = bytes};
    return *end;
}

struct narthex_channel *narthex_channel_to(int destination, int number, size_t bytes) {
    struct narthex_channel *channel = open_end(__func__, &outgoing, destination, number, bytes);
    channel->credits = SLOTS;
    return channel;
}

struct narthex_channel *narthex_channel_from(int source, int number, size_t bytes) {
    struct narthex_channel *channel = open_end(__func__, &incoming, source, number, bytes);
    for (int slot = 0; slot < SLOTS; slot++)
        channel->slots[slot] = (struct slot){allocate(bytes), NO_PACKETS};
    return channel;
}

/* Packets that have arrived */

static struct narthex_channel *find(const struct ends *ends, uint64_t header) {
    return ends ? ends[header_peer(header)].channels[header_number(header)] : NULL;
}

static char *take_release(uint64_t header) {
    static char nothing[8];
    struct narthex_channel *channel = find(outgoing, header);
    narthex_check(channel,
                  "node %d released channel %u, which node %d has not opened with "
                  "narthex_channel_to",
                  header_peer(header), header_number(header), narthex_node());
    channel->credits += header_handler(header) - HANDLER_CHANNEL_RELEASE + 1;
    return nothing;
}

char *channel_place(uint64_t header) {
    if (header_handler(header) >= HANDLER_CHANNEL_RELEASE)
        return take_release(header);
    struct narthex_channel *channel = find(incoming, header);
    narthex_check(channel,
                  "node %d received a packet of channel %u from node %d, which it has not "
                  "opened with narthex_channel_from: open both ends, then call narthex_barrier",
                  narthex_node(), header_number(header), header_peer(header));
    struct slot *slot = &channel->slots[header_handler(header) - HANDLER_CHANNEL];
    size_t place = header_place(header);
    arrange(&slot->arrangement, header);
    narthex_check(place + header_bytes(header) <= channel->bytes,
                  "node %d opened channel %d from node %d for %zu bytes, and received a longer "
                  "transfer: both ends must name the same limit",
                  narthex_node(), channel->number, channel->peer, channel->bytes);
    return slot->data + place;
}

#ifdef LONG_MESSAGES
static struct slot *slot_of_long(uint64_t header) {
    struct narthex_channel *channel = find(incoming, header);
    narthex_check(channel,
                  "node %d received a transfer of channel %u from node %d, which it has not "
                  "opened with narthex_channel_from: open both ends, then call narthex_barrier",
                  narthex_node(), header_number(header), header_peer(header));
    return &channel->slots[header_handler(header) - HANDLER_CHANNEL];
}

char *channel_place_of_all(uint64_t header, size_t bytes) {
    struct slot *slot = slot_of_long(header);
    const struct narthex_channel *channel = find(incoming, header);
    narthex_check(bytes <= channel->bytes,
                  "node %d opened channel %d from node %d for %zu bytes, and received a longer "
                  "transfer: both ends must name the same limit",
                  narthex_node(), channel->number, channel->peer, channel->bytes);
    return slot->data;
}

void channel_has_all(uint64_t header, size_t bytes) {
    slot_of_long(header)->arrangement = (struct arrangement){.missing = 0, .bytes = bytes};
}
#endif

/* Transfers */

/* Fails unless `function`, called outside of handlers, got an end of the direction `ends`. */
static void check_end(const char *function, const struct ends *ends,
                      const struct narthex_channel *channel) {
    check_outside_handler(function);
    narthex_check(channel, "node %d calls %s for no channel (NULL)", narthex_node(), function);
    narthex_check(ends && ends[channel->peer].channels[channel->number] == channel,
                  "node %d calls %s for the other end of channel %d: narthex_channel_to opens the "
                  "end that sends, narthex_channel_from the one that receives",
                  narthex_node(), function, channel->number);
}

static void send_on(const struct narthex_channel *channel, int handler, const void *data,
                    size_t bytes) {
    send_packets(channel->peer, HEADER_CHANNEL | header_of(handler, (unsigned)channel->number),
                 data, bytes);
}

void narthex_channel_send(struct narthex_channel *channel, const void *data, size_t bytes) {
    check_end(__func__, outgoing, channel);
    narthex_check(bytes <= channel->bytes,
                  "node %d calls narthex_channel_send for %zu bytes on channel %d to node %d, "
                  "which is open for %zu",
                  narthex_node(), bytes, channel->number, channel->peer, channel->bytes);
    narthex_check(data || bytes == 0,
                  "node %d calls narthex_channel_send for %zu bytes from nowhere (NULL)",
                  narthex_node(), bytes);
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (channel->credits == 0)
        narthex_poll();
    LEAVE();
    channel->credits -= 1;
    send_on(channel, HANDLER_CHANNEL + channel->turn, data, bytes);
    channel->turn ^= 1;
}

const void *narthex_channel_receive(struct narthex_channel *channel, size_t *bytes) {
    check_end(__func__, incoming, channel);
    narthex_check(!channel->in_use,
                  "node %d calls narthex_channel_receive twice on channel %d from node %d without "
                  "narthex_channel_release",
                  narthex_node(), channel->number, channel->peer);
    struct slot *slot = &channel->slots[channel->turn];
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (!is_complete(&slot->arrangement))
        narthex_poll();
    LEAVE();
    channel->in_use = true;
    if (bytes)
        *bytes = slot->arrangement.bytes;
    return slot->data;
}

/* Frees the slot of the transfer received last, for `function`. */
static void free_slot(const char *function, struct narthex_channel *channel) {
    check_end(function, incoming, channel);
    narthex_check(channel->in_use,
                  "node %d calls %s on channel %d from node %d, of which it has received nothing "
                  "since the last release",
                  narthex_node(), function, channel->number, channel->peer);
    channel->slots[channel->turn].arrangement = NO_PACKETS;
    channel->turn ^= 1;
    channel->in_use = false;
    channel->untold += 1;
}

static void tell_sender(struct narthex_channel *channel) {
    int handler = HANDLER_CHANNEL_RELEASE + channel->untold - 1;
    channel->untold = 0;
    send_on(channel, handler, NULL, 0);
}

void narthex_channel_release(struct narthex_channel *channel) {
    free_slot(__func__, channel);
    tell_sender(channel);
}

void narthex_channel_release_later(struct narthex_channel *channel) {
    free_slot(__func__, channel);
    if (channel->untold == SLOTS)
        tell_sender(channel);
}
