#include "mpi/transport.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/buffers.h"
#include "messaging/handlers.h"
#include "messaging/messages.h"
#include "mpi/matching.h"
#include "runtime/marker.h"

/* The slot's highest bit: the data may be put. */
struct announcement {
    uint64_t envelope, bytes, slot;
};
static const uint64_t MAY_BE_PUT = UINT64_C(1) << 63;

/* The place is there if the data are to be put. */
struct grant {
    uint64_t sender_slot, receiver_slot;
    struct put_place place;
};
enum { GRANT_BYTES = offsetof(struct grant, place) };

/* In front of a piece's data. */
struct piece {
    uint32_t slot, number;
};

struct peer *mpi_peers;
size_t mpi_packet_bytes;
static size_t most_eager_bytes = EAGER_BYTES;
static int own_rank;                                 /* in the world */
static struct request *ready, **ready_end = &ready;  /* sends that have been granted */
_Alignas(uint64_t) static char scratch[EAGER_BYTES]; /* an eager message that does not stand in one
                                                        block */

/* Requests whose rendezvous is under way, by slot. */
static struct request **slots;
static uint32_t slots_used, slots_room;

void *mpi_allocate(size_t bytes) {
    void *memory = malloc(bytes > 0 ? bytes : 1);
    narthex_check(memory, "rank %d has no memory left for %zu bytes of MPI", narthex_node(), bytes);
    return memory;
}

static uint32_t take_slot(struct request *request) {
    uint32_t slot = 0;
    while (slot < slots_used && slots[slot])
        slot += 1;
    if (slot == slots_room) {
        slots_room = slots_room ? 2 * slots_room : 16;
        slots = realloc(slots, slots_room * sizeof *slots);
        narthex_check(slots, "rank %d has no memory left for its rendezvous", own_rank);
    }
    if (slot == slots_used)
        slots_used += 1;
    slots[slot] = request;
    return slot;
}

static struct request *free_slot(uint64_t slot) {
    struct request *request = slots[slot];
    slots[slot] = NULL;
    return request;
}

/* Eager messages */

/* A message of this rank to itself, which the interface does not see. */
static void deliver_here(uint64_t envelope, const void *data, size_t bytes) {
    struct buffer *buffer = buffer_take(bytes);
    copy_block(buffer_data(buffer), data, bytes);
    match_arrival(&(struct arrival){.envelope = envelope,
                                    .source = own_rank,
                                    .data = buffer_data(buffer),
                                    .bytes = bytes,
                                    .payload = buffer_data(buffer),
                                    .is_kept = true});
}

bool send_eager(int peer, uint16_t context, int tag, const void *buffer, size_t count,
                const struct datatype *type) {
    size_t bytes = count * type->size;
    struct peer *there = &mpi_peers[peer];
    if (bytes > most_eager_bytes || (there->credits < cost(bytes) && peer != own_rank))
        return false;
    if (__builtin_expect(!type->is_contiguous, 0)) {
        pack(scratch, buffer, count, type);
        buffer = scratch;
    }
    uint64_t envelope = envelope_of(EAGER, context, tag);
    if (__builtin_expect(peer == own_rank, 0)) {
        deliver_here(envelope, buffer, bytes);
        return true;
    }
    if (send_short(peer, context, tag, buffer, bytes))
        return true;
    there->credits -= cost(bytes);
    envelope = numbered(there, envelope);
    send_after(peer, HANDLER_MPI_MESSAGE, &envelope, sizeof envelope, buffer, bytes);
    return true;
}

static OUT_OF_LINE void return_credits(int source, struct peer *peer) {
    uint64_t units = (uint64_t)peer->owed;
    peer->owed = 0;
    send_message(source, HANDLER_MPI_CONTROL, &units, sizeof units);
}

void give_credit(int source, size_t bytes) {
    struct peer *peer = &mpi_peers[source];
    if (source == own_rank)
        return;
    peer->owed += cost(bytes);
    if (peer->owed >= RETURNED_CREDITS)
        return_credits(source, peer);
}

static OUT_OF_LINE size_t truncate_message(struct request *request, size_t bytes) {
    request->error = MPI_ERR_TRUNCATE;
    request->came = bytes;
    return request->bytes;
}

void receive_now(struct request *request, int source, int tag, const void *data, size_t bytes) {
    request->source = source;
    request->source_tag = tag;
    if (__builtin_expect(bytes > request->bytes, 0))
        bytes = truncate_message(request, bytes);
    request->bytes = bytes;
    unpack(data, bytes, request->buffer, request->type);
    complete(request);
}

/* Arrival in order */

/* The message is the next of its pair: a short one has the key of that before it. */
static void take(struct arrival *arrival) {
    struct peer *peer = &mpi_peers[arrival->source];
    peer->expected += 1;
    if (envelope_kind(arrival->envelope) == SHORT)
        arrival->envelope = peer->key;
    else
        peer->key = key_of(arrival->envelope);
    match_arrival(arrival);
}

static uint16_t number_of(const struct arrival *arrival) {
    return (uint16_t)(arrival->envelope >> 48);
}

/* Messages whose predecessors have not come, by source and number. */
enum { EARLY_LISTS = 256 };
static struct waiting *early_messages[EARLY_LISTS];

static struct waiting **early_list(int source, uint16_t number) {
    return &early_messages[(unsigned)(source * 61 + number) % EARLY_LISTS];
}

static OUT_OF_LINE void stash(const struct arrival *arrival) {
    struct waiting **list = early_list(arrival->source, number_of(arrival));
    struct waiting *early = new_waiting(arrival);
    early->next = *list;
    *list = early;
    mpi_peers[arrival->source].early += 1;
}

/* The link to the early message with a number; to NULL if it has not come. */
static struct waiting **find_early(int source, uint16_t number) {
    struct waiting **link = early_list(source, number);
    while (*link && ((*link)->arrival.source != source || number_of(&(*link)->arrival) != number))
        link = &(*link)->next;
    return link;
}

/* Takes those whose predecessors have come. */
static OUT_OF_LINE void take_early(int source) {
    struct peer *peer = &mpi_peers[source];
    struct waiting **link;
    while (peer->early > 0 && *(link = find_early(source, peer->expected))) {
        struct waiting *early = *link;
        *link = early->next;
        peer->early -= 1;
        take(&early->arrival);
        free_waiting(early);
    }
}

/* Takes a message in its turn, and those that came before it. */
static void take_in_turn(struct arrival *arrival) {
    struct peer *peer = &mpi_peers[arrival->source];
    if (number_of(arrival) != peer->expected) {
        stash(arrival);
        return;
    }
    take(arrival);
    if (peer->early)
        take_early(arrival->source);
}

/* A message that is announced, comes early, or finds no receive. */
static OUT_OF_LINE void arrive_otherwise(int source, const void *payload, size_t bytes) {
    const struct announcement *announced = payload;
    struct arrival arrival = {
        .envelope = announced->envelope, .source = source, .payload = payload};
    arrival.data = (const char *)payload + sizeof announced->envelope;
    arrival.bytes = bytes - sizeof announced->envelope;
    if (envelope_kind(arrival.envelope) == ANNOUNCEMENT) {
        arrival.bytes = announced->bytes;
        arrival.slot = announced->slot;
    }
    take_in_turn(&arrival);
}

/* A short message that comes early, or finds no receive that waits for it first. */
static void short_arrives(int source, const void *payload, size_t bytes) {
    ENTER(ACTIVITY_RECEIVE);
    uint64_t header = running_message();
    unsigned number = header_number(header) | (unsigned)(header_handler(header) & 3) << 8;
    uint16_t expected = mpi_peers[source].expected;
    uint16_t ahead = (uint16_t)((number - expected) % SHORT_NUMBERS);
    struct arrival arrival = {.source = source,
                              .data = payload,
                              .bytes = bytes,
                              .payload = payload,
                              .envelope = envelope_of(SHORT, 0, 0) |
                                          (uint64_t)(uint16_t)(expected + ahead) << 48};
    take_in_turn(&arrival);
    LEAVE();
}

static inline bool is_short(uint64_t header) {
    return (header_handler(header) & ~3) == HANDLER_MPI_SHORT;
}

/* Takes a short message in its turn straight to the receive that waits for it. */
static inline bool take_short(uint64_t header) {
    int source = header_peer(header);
    size_t bytes = header_bytes(header);
    struct peer *peer = &mpi_peers[source];
    bool is_short_in_turn = (uint16_t)(header >> 24) == short_header(peer->expected) >> 24;
    if (!is_short_in_turn || peer->early || peer->owed >= RETURNED_CREDITS - cost(bytes))
        return false;
    struct request *request = take_plain(peer, peer->key, bytes);
    if (!request)
        return false;
    ENTER(ACTIVITY_RECEIVE);
    peer->expected += 1;
    peer->owed += cost(bytes);
    request->bytes = bytes;
    if (__builtin_expect((uintptr_t)request->buffer % sizeof(word) == 0, 1)) {
        take_packet(request->buffer, bytes);
    } else {
        take_packet(scratch, bytes);
        memcpy(request->buffer, scratch, bytes);
    }
    request->is.is_done = true;
    LEAVE();
    return true;
}

void take_next_packet(void) {
    uint64_t header = next_packet();
    if (header == 0)
        return;
    if (!is_short(header) || !take_short(header))
        handle_packet(header);
}

/* A short message in its turn for a plain receive takes a short way. */
static void message_arrives(int source, const void *payload, size_t bytes) {
    ENTER(ACTIVITY_RECEIVE);
    uint64_t envelope = *(const uint64_t *)payload;
    size_t data_bytes = bytes - sizeof envelope;
    struct peer *peer = &mpi_peers[source];
    uint64_t key = envelope & ((UINT64_C(1) << 48) - 1);
    bool is_in_turn = envelope >> 48 == peer->expected && !peer->early;
    bool is_few = data_bytes <= FEW_BYTES && peer->owed < RETURNED_CREDITS - cost(FEW_BYTES);
    struct request *request = is_in_turn && is_few ? take_plain(peer, key, data_bytes) : NULL;
    if (__builtin_expect(!request, 0)) {
        arrive_otherwise(source, payload, bytes);
        LEAVE();
        return;
    }
    peer->expected += 1;
    peer->key = key;
    peer->owed += cost(data_bytes);
    request->bytes = data_bytes;
    copy_few(request->buffer, (const uint64_t *)payload + 1, data_bytes);
    request->is.is_done = true;
    LEAVE();
}

/* Rendezvous */

static void announce(struct request *request) {
    struct announcement message = {envelope_of(ANNOUNCEMENT, request->context, request->tag),
                                   request->bytes, take_slot(request)};
    if (mpi_put_way && request->bytes >= mpi_put_way->least_bytes && request->peer != own_rank &&
        mpi_put_way->may_leave(request->packed, request->bytes))
        message.slot |= MAY_BE_PUT;
    if (request->peer == own_rank) {
        match_arrival(&(struct arrival){.envelope = message.envelope,
                                        .source = request->peer,
                                        .bytes = message.bytes,
                                        .slot = message.slot});
        return;
    }
    struct peer *there = &mpi_peers[request->peer];
    there->credits -= cost(0);
    message.envelope = numbered(there, message.envelope);
    send_message(request->peer, HANDLER_MPI_MESSAGE, &message, sizeof message);
}

void start_send(struct request *request) {
    const struct datatype *type = request->type;
    request->bytes = request->count * type->size;
    request->moved = 0;
    if (request->is.mode != SYNCHRONOUS && send_eager(request->peer, request->context, request->tag,
                                                      request->buffer, request->count, type)) {
        complete(request);
        return;
    }
    request->packed = request->buffer;
    if (!type->is_contiguous || request->is.mode == BUFFERED) {
        request->packed = mpi_allocate(request->bytes);
        request->owns_packed = true;
        pack(request->packed, request->buffer, request->count, type);
    }
    announce(request);
}

void start_receive(struct request *request) {
    request->bytes = request->count * request->type->size;
    request->error = MPI_SUCCESS;
    match_receive(request);
}

void grant(struct request *request, int source, int tag, size_t bytes, uint64_t sender_slot) {
    request->source = source;
    request->source_tag = tag;
    request->moved = 0;
    request->partner = bytes; /* to come */
    request->is.is_plain = false;
    request->packed = request->buffer;
    if (bytes > request->bytes || !request->type->is_contiguous) {
        request->packed = mpi_allocate(bytes);
        request->owns_packed = true;
    }
    struct grant message = {sender_slot & ~MAY_BE_PUT, 0, {0}};
    bool is_put = false;
    if (bytes > 0)
        message.receiver_slot = take_slot(request);
    if (sender_slot & MAY_BE_PUT)
        is_put = mpi_put_way->offer(source, request->packed, bytes, (uint32_t)message.receiver_slot,
                                    &message.place);
    send_message(source, HANDLER_MPI_CONTROL, &message, is_put ? sizeof message : GRANT_BYTES);
    give_credit(source, 0);
    if (bytes == 0) {
        request->bytes = 0;
        complete(request);
    }
}

static void append_ready(struct request *request) {
    request->next = NULL;
    mpi_under_way += 1;
    *ready_end = request;
    ready_end = &request->next;
}

static void take_grant(const struct grant *message, bool is_put) {
    struct request *request = free_slot(message->sender_slot);
    request->partner = message->receiver_slot;
    request->place = is_put ? message->place : (struct put_place){0};
    if (request->bytes == 0)
        complete(request);
    else
        append_ready(request);
}

/* A grant, or credits, which are one number. */
static void control_arrives(int source, const void *payload, size_t bytes) {
    ENTER(ACTIVITY_RECEIVE);
    if (bytes >= GRANT_BYTES)
        take_grant(payload, bytes > GRANT_BYTES);
    else
        mpi_peers[source].credits += (int32_t)*(const uint64_t *)payload;
    LEAVE();
}

void send_piece(void) {
    struct request *request = ready;
    if (!request)
        return;
    ready = request->next;
    if (!ready)
        ready_end = &ready;
    mpi_under_way -= 1;
    if (request->place.address) {
        mpi_put_way->put(request->peer, request->packed, request->bytes, &request->place,
                         (uint32_t)request->partner);
        complete(request);
        return;
    }
    size_t left = request->bytes - request->moved;
    size_t part = left < PIECE_BYTES ? left : PIECE_BYTES;
    struct piece piece = {(uint32_t)request->partner, (uint32_t)(request->moved / PIECE_BYTES)};
    send_after(request->peer, HANDLER_MPI_PIECE, &piece, sizeof piece,
               request->packed + request->moved, part);
    request->moved += part;
    if (request->moved == request->bytes)
        complete(request);
    else
        append_ready(request);
}

/* The last piece has come. */
static void finish_receive(struct request *request) {
    size_t came = request->partner;
    if (came > request->bytes)
        truncate_message(request, came);
    else
        request->bytes = came;
    if (request->packed != request->buffer)
        unpack(request->packed, request->bytes, request->buffer, request->type);
    complete(request);
}

static void piece_arrives(int source, const void *payload, size_t bytes) {
    (void)source;
    ENTER(ACTIVITY_RECEIVE);
    const struct piece *piece = payload;
    struct request *request = slots[piece->slot];
    size_t part = bytes - sizeof *piece;
    copy_block(request->packed + (size_t)piece->number * PIECE_BYTES, piece + 1, part);
    request->moved += part;
    if (request->moved == request->partner) {
        free_slot(piece->slot);
        finish_receive(request);
    }
    LEAVE();
}

void put_arrives(uint32_t slot) {
    finish_receive(free_slot(slot));
}

void put_arrives_as_message(int source, const void *payload, size_t bytes) {
    (void)source, (void)bytes;
    ENTER(ACTIVITY_RECEIVE);
    put_arrives((uint32_t)*(const uint64_t *)payload);
    LEAVE();
}

void transport_start(void) {
    size_t nodes = (size_t)narthex_nodes();
    own_rank = narthex_node();
    mpi_packet_bytes = narthex_payload_limit() / PACKETS_PER_MESSAGE_LIMIT;
    matching_start();
    puts_start();
    if (mpi_put_way)
        most_eager_bytes = mpi_put_way->least_bytes - 1;
    mpi_peers = aligned_alloc(sizeof *mpi_peers, nodes * sizeof *mpi_peers);
    narthex_check(mpi_peers, "rank %d has no memory left for %zu ranks of MPI", own_rank, nodes);
    for (size_t rank = 0; rank < nodes; rank++) {
        struct peer *peer = &mpi_peers[rank];
        *peer = (struct peer){.sent_key = UINT64_MAX,
                              .credits = (int)rank == own_rank ? 0 : ALL_CREDITS};
        peer->posted.end = &peer->posted.first;
        peer->arrived_end = &peer->arrived;
    }
    set_handler(HANDLER_MPI_MESSAGE, message_arrives, "MPI's, of messages");
    for (int handler = 0; handler < SHORT_NUMBERS / 256; handler++)
        set_handler(HANDLER_MPI_SHORT + handler, short_arrives, "MPI's, of short messages");
    set_handler(HANDLER_MPI_CONTROL, control_arrives, "MPI's, of grants and credits");
    set_handler(HANDLER_MPI_PIECE, piece_arrives, "MPI's, of pieces");
}
