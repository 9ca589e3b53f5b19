/* Driver of messages over SARC's cache-integrated network interface (guest/sarc/sarc.h). Each tile
 * has a single-reader queue, to which all others send items of a line:
 *
 *     item:  | header | payload, if it is at most four words |
 *
 * A longer payload goes by a copy into a place that the receiver has granted the sender, and is
 * complete when the acknowledgements of its packets, which go to a counter at the receiver, add up
 * to its bytes. So nothing depends on what comes first.
 *
 * A sender has CREDITS places at a receiver in turn, each with a counter, and says in the header
 * which; the receiver stores how often it has emptied the place into the sender's scratchpad. A
 * packet whose place is not empty is parked, and there is no room for others until it has gone.
 *
 * This driver is in programs for this interface alone (EVERY_DRIVER does not name it). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "sarc/sarc.h"

enum { CREDITS = 4, PLACE_SHIFT = 14 }; /* of the place's number in the header's peer */
enum { ITEM_WORDS = SARC_LINE_WORDS, PLACE_WORDS = PACKET_PAYLOAD_LIMIT / 8 + 1 };
enum { SHORT_BYTES = 4 * sizeof(uint64_t) };

/* The own tile's lines, at the same offset in every tile's scratchpad. */
struct lines {
    uint64_t *commands;  /* of messages, of copies */
    uint64_t *credits;   /* for each rank CREDITS words: how often our place there was emptied */
    uint64_t *outgoing;  /* for each rank CREDITS payloads on their way */
    uint64_t *places;    /* for each rank CREDITS payloads that have come */
    uint64_t *completed; /* and a counter for each */
    uint64_t *queue;
};

/* Another process: where what we send goes, and how many packets have gone and come. */
struct peer {
    uint64_t *queue, *places, *completed; /* at the peer */
    uint64_t *credits;                    /* at the peer: of its places here */
    uint64_t sent, emptied[CREDITS];
    bool is_ready;
};

static struct lines own;
static struct peer *peers;
static struct sarc_reader reader;
static unsigned ranks, own_rank;

static struct {
    uint64_t header; /* 0: nothing is parked */
    _Alignas(uint64_t) char payload[PACKET_PAYLOAD_LIMIT];
} parked;

/* Start */

static unsigned lines_of(unsigned words) {
    return (words + SARC_LINE_WORDS - 1) / SARC_LINE_WORDS;
}

static unsigned items(void) {
    unsigned power = 1;
    while (power < ranks * CREDITS)
        power *= 2;
    return power;
}

static uint64_t *take(uint64_t **free, unsigned lines) {
    uint64_t *taken = *free;
    *free += lines * SARC_LINE_WORDS;
    return taken;
}

static void take_lines(void) {
    unsigned payloads = ranks * CREDITS * lines_of(PLACE_WORDS), words = lines_of(ranks * CREDITS);
    unsigned all =
        2 + words + 2 * payloads + ranks * CREDITS + sarc_queue_lines(ITEM_WORDS, items());
    uint64_t *free = sarc_allocate(all);
    unsigned first = (unsigned)sarc_register(SARC_REGISTER_TILE);
    unsigned tiles = (unsigned)sarc_register(SARC_REGISTER_TILES_OF_PROCESS);
    /* What the process's other tiles take later is then at the same offset as the first one's. */
    for (unsigned tile = first + 1; free && tile < first + tiles; tile++)
        narthex_check(sarc_allocate_at(tile, all), "tile %u has no %u lines of scratchpad", tile,
                      all);
    narthex_check(free,
                  "node %d has no %u lines of scratchpad for messages of %u ranks: %s; a larger "
                  "second_level_cache.size has more",
                  narthex_node(), all, ranks, strerror(errno));
    own.commands = take(&free, 2);
    own.credits = take(&free, words);
    own.outgoing = take(&free, payloads);
    own.places = take(&free, payloads);
    own.completed = take(&free, ranks * CREDITS);
    own.queue = free;
}

/* The tile of a process: its first one. */
static unsigned tile_of(unsigned rank, unsigned processes) {
    unsigned tiles = (unsigned)sarc_register(SARC_REGISTER_TILES);
    unsigned each = (unsigned)sarc_register(SARC_REGISTER_TILES_OF_PROCESS);
    return rank / processes * tiles + rank % processes * each;
}

static uint64_t *payload_at(uint64_t *payloads, unsigned rank, unsigned place) {
    return payloads + (rank * CREDITS + place) * lines_of(PLACE_WORDS) * SARC_LINE_WORDS;
}

static uint64_t *counter_at(uint64_t *counters, unsigned rank, unsigned place) {
    return counters + (rank * CREDITS + place) * SARC_LINE_WORDS;
}

static void find_peers(const struct narthex_information *machine) {
    peers = calloc(ranks, sizeof *peers);
    narthex_check(peers, "there is no memory for %u ranks", ranks);
    for (unsigned rank = 0; rank < ranks; rank++) {
        unsigned tile = tile_of(rank, (unsigned)machine->processes);
        peers[rank] = (struct peer){.queue = sarc_remote(own.queue, tile),
                                    .places = sarc_remote(own.places, tile),
                                    .completed = sarc_remote(own.completed, tile),
                                    .credits = sarc_remote(own.credits, tile) + own_rank * CREDITS};
    }
}

/* Both halves of the driver start at once; the queue comes last, as others wait for it. */
static void start(const struct narthex_information *machine) {
    if (peers)
        return;
    /* No tile can ask a tile of another chip whether its queue is there already. */
    narthex_check(
        machine->nodes == 1,
        "messages over SARC go between the tiles of one chip, and this run has %d chips: "
        "take --nodes 1; scratchpads of other chips (interfaces.sarc.chips) are reached by "
        "stores and copies",
        (int)machine->nodes);
    ranks = (unsigned)(machine->nodes * machine->processes);
    narthex_check(ranks <= 1 << PLACE_SHIFT, "messages of %u ranks: allowed are %d", ranks,
                  1 << PLACE_SHIFT);
    own_rank = (unsigned)(machine->node * machine->processes + machine->process);
    take_lines();
    find_peers(machine);
    sarc_mark(own.commands, SARC_ROLE_COMMAND);
    sarc_mark(own.commands + SARC_LINE_WORDS, SARC_ROLE_COMMAND);
    for (unsigned counter = 0; counter < ranks * CREDITS; counter++)
        sarc_make_counter(own.completed + counter * SARC_LINE_WORDS, 0, 0, 0, NULL, 0);
    sarc_make_queue(own.queue, SARC_ROLE_SINGLE_READER, ITEM_WORDS, items());
    reader = (struct sarc_reader){.queue = own.queue, .items = items(), .item_words = ITEM_WORDS};
}

/* A process may send to another one that has not begun yet. */
static void await_peer(struct peer *peer) {
    while (!sarc_is_marked(peer->queue, SARC_ROLE_SINGLE_READER))
        ;
    peer->is_ready = true;
}

/* Send */

/* The payload's words, of four bytes in memory, as the scratchpad's of eight. */
static inline void copy_to_words(uint64_t *to, const void *payload, size_t bytes) {
    const char *from = payload;
    size_t place = 0;
    for (; place + sizeof(uint64_t) <= bytes; place += sizeof(uint64_t)) {
        const word *pair = (const word *)(from + place);
        sarc_store(&to[place / sizeof(uint64_t)], pair[0] | (uint64_t)pair[1] << 32);
    }
    if (place < bytes) {
        uint64_t last = 0;
        memcpy(&last, from + place, bytes - place);
        sarc_store(&to[place / sizeof(uint64_t)], last);
    }
}

static inline uint64_t *free_command(unsigned number) {
    uint64_t *command = own.commands + number * SARC_LINE_WORDS;
    while (!sarc_command_is_free(command))
        ;
    return command;
}

SENDING_CODE static void transmit(struct peer *peer, uint64_t header, const void *payload,
                                  size_t bytes) {
    uint64_t *command = free_command(0);
    size_t words = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    unsigned rank = (unsigned)header_peer(header), place = peer->sent % CREDITS;
    if (bytes > SHORT_BYTES) {
        uint64_t *outgoing = payload_at(own.outgoing, rank, place);
        copy_to_words(outgoing, payload, bytes);
        sarc_copy(free_command(1), payload_at(peer->places, own_rank, place), outgoing,
                  words * sizeof(uint64_t), counter_at(peer->completed, own_rank, place));
        words = 0;
    } else {
        copy_to_words(&command[4], payload, bytes);
    }
    sarc_store(&command[1], (uintptr_t)peer->queue);
    sarc_store(&command[2], 0);
    sarc_store(&command[3], header - rank + (own_rank | place << PLACE_SHIFT));
    sarc_store(&command[0], sarc_operation(SARC_OPERATION_MESSAGE, (1 + words) * sizeof header));
    peer->sent += 1;
}

static inline bool has_credit(struct peer *peer) {
    const uint64_t *emptied = &own.credits[(peer - peers) * CREDITS + peer->sent % CREDITS];
    return sarc_load(emptied) == peer->sent / CREDITS;
}

static bool is_parked(void) {
    if (parked.header == 0)
        return false;
    struct peer *peer = &peers[header_peer(parked.header)];
    if (!has_credit(peer))
        return true;
    transmit(peer, parked.header, parked.payload, header_bytes(parked.header));
    parked.header = 0;
    return false;
}

static bool has_room(void) {
    return !is_parked();
}

SENDING_CODE static void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    (void)extra;
    struct peer *peer = &peers[header_peer(header)];
    if (!peer->is_ready)
        await_peer(peer);
    if (has_credit(peer)) {
        transmit(peer, header, payload, bytes);
    } else {
        parked.header = header;
        memcpy(parked.payload, payload, bytes);
    }
}

/* A process that ends has sent what it said. */
static void send_parked(void) {
    while (is_parked())
        ;
}

static void start_sending(const struct narthex_information *machine) {
    start(machine);
    atexit(send_parked);
}

/* Receive */

static inline void copy_from_words(void *payload, const uint64_t *from, size_t bytes) {
    char *to = payload;
    size_t place = 0;
    for (; place + sizeof(uint64_t) <= bytes; place += sizeof(uint64_t)) {
        uint64_t pair = sarc_load(&from[place / sizeof(uint64_t)]);
        *(word *)(to + place) = (word)pair;
        *(word *)(to + place + sizeof(word)) = (word)(pair >> 32);
    }
    if (place < bytes) {
        uint64_t last = sarc_load(&from[place / sizeof(uint64_t)]);
        memcpy(to + place, &last, bytes - place);
    }
}

static inline int64_t copied_bytes(size_t bytes) {
    return (int64_t)((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t));
}

/* The oldest item: its header, as the library has it, and its sender's place. */
static struct {
    const uint64_t *item;
    uint64_t header;
    unsigned place;
} oldest;

static uint64_t arrived(size_t extra) {
    (void)extra;
    is_parked();
    if (!oldest.item) {
        oldest.item = sarc_oldest(&reader);
        if (!oldest.item)
            return 0;
        uint64_t header = sarc_load(oldest.item);
        oldest.place = header >> PLACE_SHIFT & (CREDITS - 1);
        oldest.header = header - ((uint64_t)oldest.place << PLACE_SHIFT);
    }
    size_t bytes = header_bytes(oldest.header);
    unsigned rank = (unsigned)header_peer(oldest.header);
    bool is_whole =
        bytes <= SHORT_BYTES ||
        sarc_value(counter_at(own.completed, rank, oldest.place)) == copied_bytes(bytes);
    return is_whole ? oldest.header : 0;
}

static void receive(void *payload, size_t bytes, size_t extra) {
    (void)extra;
    unsigned rank = (unsigned)header_peer(oldest.header), place = oldest.place;
    struct peer *peer = &peers[rank];
    if (bytes > SHORT_BYTES) {
        copy_from_words(payload, payload_at(own.places, rank, place), bytes);
        sarc_add(counter_at(own.completed, rank, place), -copied_bytes(bytes));
    } else {
        copy_from_words(payload, oldest.item + 1, bytes);
    }
    sarc_dequeue(&reader);
    oldest.item = NULL;
    sarc_store(&peer->credits[place], ++peer->emptied[place]);
}

SEND_DRIVER(send_sarc, start_sending, has_room, send);
RECEIVE_DRIVER(receive_sarc, start, arrived, receive, NULL);
