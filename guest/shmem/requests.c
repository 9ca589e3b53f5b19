/* The protocol of one-sided operations: each is a message that the target's library carries out.
 *
 *     put      header, data                        -> copied to its place
 *     get      header, reply address, bytes        -> data come back in packets
 *     update   header, operand                     -> an atomic; a fetch's value comes back
 *     flush    header                              -> "confirmed", once all before it is done
 *
 * Messages may overtake each other (messaging/narthex.h), so order is made here. A PE counts what
 * it sends to each other one, and the other counts what of that it has done. Every message says
 * after how many it may be done: those that were sent to this PE before the last fence. One that
 * comes too early is kept until the others have come. So a fence sends nothing and waits for
 * nothing; and a put with a signal is its data and then a message that comes after all of them.
 *
 * shmem_quiet asks each PE to which something has gone since it was last asked to say when all of
 * that is done: two messages a PE, however many puts there were. Where stores reach other PEs'
 * memory without messages, these do not wait for messages: a fence has to complete all, there. */
#include "shmem/requests.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/copy.h"
#include "messaging/messages.h"
#include "messaging/packet.h"
#include "runtime/information.h"
#include "runtime/marker.h"
#include "shmem/library.h"
#include "shmem/remote_stores.h"

/* Of the library's own handlers (messaging/messages.h). */
enum { HANDLER_SHMEM = 244 };

/* Every so many messages a PE that only sends looks for what has come. */
enum { MESSAGES_PER_POLL = 8 };

enum { SMALL_BYTES = 64 };

/* Every structure below and an element fit: with a smaller packet, a message is several. */
enum { SMALLEST_MESSAGE_BYTES = 64 };

enum kind {
    PUT,
    PUT_STRIDED,
    PUT_SIGNAL,
    GET,
    GET_STRIDED,
    UPDATE,
    FETCH,
    DATA,
    DATA_STRIDED,
    FLUSH,
    CONFIRMED,
    TELL,
    LOCK,
    LOCK_ANSWER,
    EXIT
};

enum { IS_ORDERED = 1, IS_COUNTED = 2 }; /* flags */

struct header {
    uint64_t place; /* of a reply: the address */
    uint32_t after; /* so many counted ones */
    uint8_t kind;
    uint8_t
        operation; /* of an atomic, a signal, a lock; of a reply: its completion; a tell's round */
    uint8_t width;
    uint8_t flags;
};

struct put_signal {
    struct header header;
    uint64_t place, value;
};

struct strided {
    struct header header;
    int64_t step;
};

struct get {
    struct header header;
    uint64_t reply;
    uint64_t count;
    int64_t step, reply_step;
};

struct atomic {
    struct header header;
    uint64_t operand, condition, reply;
};

/* The header's place has the team. */
struct tell {
    struct header header;
    uint16_t sequence, instance;
    uint32_t function; /* its name's address: the same in every PE's program */
};

/* A message on its way out: one of these structures, and data behind it. */
struct packet {
    _Alignas(uint64_t) char bytes[PACKET_PAYLOAD_LIMIT];
};

/* A message that waits for others, or a tell for its call. */
struct kept {
    struct kept *next;
    int source;
    const struct header *header;
    size_t bytes;
};

struct peer {
    uint32_t sent;   /* counted ones, to this PE */
    uint32_t after;  /* of them those before a fence */
    uint32_t fences; /* which one: the last if this is how many there were */
    uint32_t done;   /* counted ones from this PE */
    bool is_dirty;   /* something has gone since the last quiet */
    struct kept *early;
};

static struct peer *peers;
static int *dirty, dirty_count; /* PEs */
static uint32_t fences;
static size_t outstanding[COMPLETIONS]; /* bytes that have been asked for */
static int unconfirmed;                 /* PEs asked by a quiet */
static struct kept *tells;
static size_t packet_bytes;
static unsigned sends;

/* Copies as most data are: a few doublewords. Volatile, or the compiler calls memcpy for them. */
static inline void copy_data(void *to, const void *from, size_t bytes) {
    if (bytes > SMALL_BYTES ||
        ((uintptr_t)to | (uintptr_t)from | bytes) % sizeof(doubleword) != 0) {
        memcpy(to, from, bytes);
        return;
    }
    for (size_t place = 0; place < bytes / sizeof(doubleword); place++)
        ((volatile doubleword *)to)[place] = ((const doubleword *)from)[place];
}

/* Sending */

static inline void send(int pe, const void *message, size_t bytes) {
    send_message(pe, HANDLER_SHMEM, message, bytes);
}

/* Not in a handler. */
static inline void poll_now_and_then(void) {
    if (++sends % MESSAGES_PER_POLL == 0)
        narthex_poll();
}

static inline struct header ordered(int pe, enum kind kind, uint64_t place) {
    struct peer *peer = &peers[pe];
    if (peer->fences != fences) {
        peer->fences = fences;
        peer->after = peer->sent;
    }
    return (struct header){.place = place, .after = peer->after, .kind = kind, .flags = IS_ORDERED};
}

/* One that comes after all before it. */
static struct header last(int pe, enum kind kind, uint64_t place) {
    return (struct header){
        .place = place, .after = peers[pe].sent, .kind = kind, .flags = IS_ORDERED};
}

static inline void count(int pe, struct header *header) {
    struct peer *peer = &peers[pe];
    header->flags |= IS_COUNTED;
    peer->sent += 1;
    if (!peer->is_dirty) {
        peer->is_dirty = true;
        dirty[dirty_count++] = pe;
    }
}

/* Puts the message, its header as `head` of `head_bytes`, and data together, and sends them. */
static inline void send_with_data(int pe, const void *head, size_t head_bytes, const void *data,
                                  size_t bytes) {
    struct packet packet;
    memcpy(packet.bytes, head, head_bytes);
    copy_data(packet.bytes + head_bytes, data, bytes);
    send(pe, &packet, head_bytes + bytes);
}

static inline void put_packet(int pe, uint64_t place, const void *source, size_t bytes) {
    struct header header = ordered(pe, PUT, place);
    count(pe, &header);
    send_with_data(pe, &header, sizeof header, source, bytes);
    poll_now_and_then();
}

void shmem_request_put(int pe, uint64_t place, const void *source, size_t bytes) {
    const char *from = source;
    const size_t room = packet_bytes - sizeof(struct header);
    while (bytes > 0) {
        size_t part = bytes < room ? bytes : room;
        put_packet(pe, place, from, part);
        place += part;
        from += part;
        bytes -= part;
    }
}

void shmem_request_put_signal(int pe, uint64_t place, const void *source, size_t bytes,
                              uint64_t signal_place, uint64_t signal, int operation) {
    const size_t room = packet_bytes - sizeof(struct put_signal);
    size_t before = bytes > room ? bytes - room : 0;
    shmem_request_put(pe, place, source, before);
    struct put_signal message = {last(pe, PUT_SIGNAL, place + before), signal_place, signal};
    message.header.operation = (uint8_t)operation;
    count(pe, &message.header);
    send_with_data(pe, &message, sizeof message, (const char *)source + before, bytes - before);
    poll_now_and_then();
}

/* Packs elements that lie `step` bytes apart; returns behind the last. */
static const char *gather(char *to, const char *from, ptrdiff_t step, size_t width, size_t count) {
    for (; count > 0; count--, to += width, from += step)
        memcpy(to, from, width);
    return from;
}

static void scatter(char *to, ptrdiff_t step, const char *from, size_t width, size_t count) {
    for (; count > 0; count--, to += step, from += width)
        memcpy(to, from, width);
}

/* As many elements as a packet takes, of `count`. Returns how many. */
static size_t send_strided(int pe, struct header header, int64_t step, const char *from,
                           ptrdiff_t own_step, size_t count) {
    struct packet packet;
    struct strided head = {header, step};
    size_t width = header.width, most = (packet_bytes - sizeof head) / width;
    size_t part = count < most ? count : most;
    memcpy(packet.bytes, &head, sizeof head);
    gather(packet.bytes + sizeof head, from, own_step, width, part);
    send(pe, &packet, sizeof head + part * width);
    return part;
}

void shmem_request_put_strided(int pe, uint64_t place, ptrdiff_t step, const void *source,
                               ptrdiff_t own_step, size_t width, size_t elements) {
    const char *from = source;
    while (elements > 0) {
        struct header header = ordered(pe, PUT_STRIDED, place);
        header.width = (uint8_t)width;
        count(pe, &header);
        size_t part = send_strided(pe, header, step, from, own_step, elements);
        poll_now_and_then();
        place += (uint64_t)((ptrdiff_t)part * step);
        from += (ptrdiff_t)part * own_step;
        elements -= part;
    }
}

/* Waiting */

static void await_data(enum shmem_completion completion) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (outstanding[completion] > 0)
        narthex_poll();
    LEAVE();
}

/* After a request for data. */
static void asked_for(enum shmem_completion completion) {
    if (completion == BLOCKING)
        await_data(BLOCKING);
    else
        poll_now_and_then();
}

void shmem_request_get(int pe, uint64_t place, void *dest, size_t bytes,
                       enum shmem_completion completion) {
    struct get message = {ordered(pe, GET, place), (uintptr_t)dest, bytes, 0, 0};
    message.header.operation = (uint8_t)completion;
    outstanding[completion] += bytes;
    send(pe, &message, offsetof(struct get, step));
    asked_for(completion);
}

void shmem_request_get_strided(int pe, uint64_t place, ptrdiff_t step, void *dest,
                               ptrdiff_t own_step, size_t width, size_t count) {
    struct get message = {ordered(pe, GET_STRIDED, place), (uintptr_t)dest, count, step, own_step};
    message.header.operation = BLOCKING;
    message.header.width = (uint8_t)width;
    outstanding[BLOCKING] += width * count;
    send(pe, &message, sizeof message);
    await_data(BLOCKING);
}

void shmem_request_update(int pe, uint64_t place, const struct shmem_atomic *atomic) {
    struct atomic message = {ordered(pe, UPDATE, place), atomic->operand, 0, 0};
    message.header.operation = (uint8_t)atomic->operation;
    message.header.width = (uint8_t)atomic->width;
    count(pe, &message.header);
    send(pe, &message, offsetof(struct atomic, condition));
    poll_now_and_then();
}

/* The header's operation is the atomic's, so its condition of completion goes with the width. */
enum { WIDTH_MASK = 0x7f, IS_NONBLOCKING = 0x80 };

void shmem_request_fetch(int pe, uint64_t place, const struct shmem_atomic *atomic, void *fetched,
                         enum shmem_completion completion) {
    struct atomic message = {ordered(pe, FETCH, place), atomic->operand, atomic->condition,
                             (uintptr_t)fetched};
    message.header.operation = (uint8_t)atomic->operation;
    message.header.width =
        (uint8_t)(atomic->width | (completion == NONBLOCKING ? IS_NONBLOCKING : 0));
    if (completion == NONBLOCKING)
        count(pe, &message.header); /* a later fence is for it, too */
    outstanding[completion] += atomic->width;
    send(pe, &message, sizeof message);
    asked_for(completion);
}

void shmem_requests_quiet(void) {
    remote_fence();
    narthex_poll();
    ENTER(ACTIVITY_SYNCHRONISATION);
    for (; dirty_count > 0; dirty_count--) {
        int pe = dirty[dirty_count - 1];
        struct header header = last(pe, FLUSH, peers[pe].sent);
        peers[pe].is_dirty = false;
        unconfirmed += 1;
        send(pe, &header, sizeof header);
    }
    while (unconfirmed > 0)
        narthex_poll();
    LEAVE();
    await_data(NONBLOCKING);
}

void shmem_requests_fence(void) {
    if (shmem_regions[SCRATCHPAD].bytes > 0)
        shmem_requests_quiet();
    else
        fences += 1;
}

void shmem_request_exit(int pe) {
    struct header header = {.kind = EXIT};
    send(pe, &header, sizeof header);
}

void shmem_request_lock(int pe, unsigned operation, uint64_t place) {
    struct header header = {.place = place, .kind = LOCK, .operation = (uint8_t)operation};
    send(pe, &header, sizeof header);
}

void shmem_answer_lock(int pe, bool is_taken) {
    struct header header = {.kind = LOCK_ANSWER, .operation = is_taken};
    send(pe, &header, sizeof header);
}

/* Tells */

static uint64_t team_key(const struct shmem_team *team) {
    return (uint16_t)team->start | (uint64_t)(uint16_t)team->size << 16 |
           (uint64_t)(uint32_t)team->stride << 32;
}

void shmem_tell(const char *function, const struct shmem_team *team, int member, unsigned round,
                const void *data, size_t bytes) {
    int pe = shmem_world_pe(team, member);
    struct {
        struct tell tell;
        char data[SHMEM_TELL_BYTES];
    } message;
    remote_fence();
    message.tell = (struct tell){last(pe, TELL, team_key(team)), team->sequence, team->instance,
                                 (uint32_t)(uintptr_t)function};
    message.tell.header.operation = (uint8_t)round;
    if (bytes > 0)
        memcpy(message.data, data, bytes);
    send(pe, &message, sizeof message.tell + bytes);
}

/* The name of the function in a tell. */
static const char *function_of(const char *own, const struct tell *tell) {
    return (const char *)(((uintptr_t)own & ~(uintptr_t)UINT32_MAX) | tell->function);
}

static bool is_of_call(const struct kept *kept, const struct shmem_team *team) {
    const struct tell *tell = (const struct tell *)kept->header;
    return tell->sequence == team->sequence && tell->instance == team->instance &&
           kept->header->place == team_key(team);
}

/* Takes the tell off its list; NULL if it has not come. */
static struct kept *find_tell(const char *function, const struct shmem_team *team, int pe,
                              unsigned round) {
    for (struct kept **link = &tells; *link; link = &(*link)->next) {
        struct kept *kept = *link;
        if (!is_of_call(kept, team))
            continue;
        const char *theirs = function_of(function, (const struct tell *)kept->header);
        if (theirs != function)
            shmem_refuse(function,
                         "while PE %d calls %s: the PEs of a team make the same calls in the same "
                         "order",
                         kept->source, theirs);
        if (kept->source == pe && kept->header->operation == round) {
            *link = kept->next;
            return kept;
        }
    }
    return NULL;
}

void shmem_hear(const char *function, const struct shmem_team *team, int member, unsigned round,
                void *data, size_t bytes) {
    int pe = shmem_world_pe(team, member);
    struct kept *kept;
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (!(kept = find_tell(function, team, pe, round)))
        narthex_poll();
    LEAVE();
    if (kept->bytes - sizeof(struct tell) != bytes)
        shmem_refuse(function, "with %zu bytes in a message, and PE %d with %zu", bytes, pe,
                     kept->bytes - sizeof(struct tell));
    if (bytes > 0)
        memcpy(data, (const struct tell *)kept->header + 1, bytes);
    narthex_release(kept->header);
    free(kept);
}

/* Handling */

uint64_t shmem_apply_atomic(void *address, const struct shmem_atomic *atomic) {
    uint64_t before = 0;
    memcpy(&before, address, atomic->width); /* the lower bytes: little-endian */
    uint64_t after = before, operand = atomic->operand;
    switch (atomic->operation) {
    case ATOMIC_FETCH:
        return before;
    case ATOMIC_SET:
        after = operand;
        break;
    case ATOMIC_ADD:
        after += operand;
        break;
    case ATOMIC_AND:
        after &= operand;
        break;
    case ATOMIC_OR:
        after |= operand;
        break;
    case ATOMIC_XOR:
        after ^= operand;
        break;
    case ATOMIC_COMPARE_SWAP:
        after = before == atomic->condition ? operand : before;
        break;
    }
    memcpy(address, &after, atomic->width);
    return before;
}

static void reply(int pe, uint64_t address, const void *data, size_t bytes, unsigned completion) {
    const char *from = data;
    const size_t room = packet_bytes - sizeof(struct header);
    while (bytes > 0) {
        size_t part = bytes < room ? bytes : room;
        struct header header = {.place = address, .kind = DATA, .operation = (uint8_t)completion};
        send_with_data(pe, &header, sizeof header, from, part);
        address += part;
        from += part;
        bytes -= part;
    }
}

static void reply_strided(int pe, const struct get *get) {
    const char *from = shmem_address(get->header.place);
    uint64_t address = get->reply, left = get->count;
    while (left > 0) {
        struct header header = {.place = address,
                                .kind = DATA_STRIDED,
                                .operation = get->header.operation,
                                .width = get->header.width};
        size_t part = send_strided(pe, header, get->reply_step, from, get->step, left);
        address += (uint64_t)((int64_t)part * get->reply_step);
        from += (int64_t)part * get->step;
        left -= part;
    }
}

static void fetch(int pe, const struct atomic *message) {
    unsigned width = message->header.width & WIDTH_MASK;
    struct shmem_atomic atomic = {message->header.operation, width, message->operand,
                                  message->condition};
    uint64_t before = shmem_apply_atomic(shmem_address(message->header.place), &atomic);
    reply(pe, message->reply, &before, width,
          message->header.width & IS_NONBLOCKING ? NONBLOCKING : BLOCKING);
}

static void update(uint64_t place, unsigned operation, size_t width, uint64_t operand) {
    struct shmem_atomic atomic = {operation, width, operand, 0};
    shmem_apply_atomic(shmem_address(place), &atomic);
}

static void put_signal(const struct put_signal *message, size_t bytes) {
    memcpy(shmem_address(message->header.place), message + 1, bytes - sizeof *message);
    update(message->place, message->header.operation, sizeof(uint64_t), message->value);
}

static struct kept *keep(struct kept **list, int source, const struct header *header,
                         size_t bytes) {
    struct kept *kept = malloc(sizeof *kept);
    narthex_check(kept, "PE %d has no memory left for others' messages", shmem_pe);
    *kept = (struct kept){*list, source, header, bytes};
    *list = kept;
    return kept;
}

/* Does what a message says that is neither a put nor data. */
static OUT_OF_LINE void carry_out_other(int source, const struct header *header, size_t bytes) {
    const struct strided *strided = (const struct strided *)header;
    const struct get *get = (const struct get *)header;
    size_t data_bytes = bytes - sizeof *strided;
    switch ((enum kind)header->kind) {
    case PUT:
    case DATA:
        break;
    case PUT_STRIDED:
        scatter(shmem_address(header->place), strided->step, (const char *)(strided + 1),
                header->width, data_bytes / header->width);
        break;
    case PUT_SIGNAL:
        put_signal((const struct put_signal *)header, bytes);
        break;
    case GET:
        reply(source, get->reply, shmem_address(header->place), get->count, header->operation);
        break;
    case GET_STRIDED:
        reply_strided(source, get);
        break;
    case UPDATE:
        update(header->place, header->operation, header->width,
               ((const struct atomic *)header)->operand);
        break;
    case FETCH:
        fetch(source, (const struct atomic *)header);
        break;
    case DATA_STRIDED:
        scatter((char *)(uintptr_t)header->place, strided->step, (const char *)(strided + 1),
                header->width, data_bytes / header->width);
        outstanding[header->operation] -= data_bytes;
        break;
    case FLUSH:
        send(source, &(struct header){.kind = CONFIRMED}, sizeof(struct header));
        break;
    case CONFIRMED:
        unconfirmed -= 1;
        break;
    case TELL:
        keep(&tells, source, header, bytes);
        break;
    case LOCK:
        shmem_lock_asked(source, header->operation, header->place);
        break;
    case LOCK_ANSWER:
        shmem_lock_answered(header->operation);
        break;
    case EXIT:
        exit(0);
    }
}

/* Does what a message says; its payload may then go, but that of a tell. */
static inline void carry_out(int source, const struct header *header, size_t bytes) {
    size_t data_bytes = bytes - sizeof *header;
    if (header->kind == PUT) {
        copy_data(shmem_address(header->place), header + 1, data_bytes);
    } else if (header->kind == DATA) {
        copy_data((void *)(uintptr_t)header->place, header + 1, data_bytes);
        outstanding[header->operation] -= data_bytes;
    } else {
        carry_out_other(source, header, bytes);
    }
    if (header->flags & IS_COUNTED)
        peers[source].done += 1;
}

static bool is_early(const struct peer *peer, const struct header *header) {
    return header->flags & IS_ORDERED && (int32_t)(peer->done - header->after) < 0;
}

/* What had to wait for the message that has just been carried out, and for those it lets go. */
static OUT_OF_LINE void carry_out_early(struct peer *peer) {
    struct kept **link = &peer->early;
    while (*link) {
        struct kept *kept = *link;
        if (is_early(peer, kept->header)) {
            link = &kept->next;
            continue;
        }
        *link = kept->next;
        carry_out(kept->source, kept->header, kept->bytes);
        if (kept->header->kind != TELL)
            narthex_release(kept->header);
        free(kept);
        link = &peer->early;
    }
}

static void arrive(int source, const void *payload, size_t bytes) {
    const struct header *header = payload;
    struct peer *peer = &peers[source];
    if (is_early(peer, header)) {
        narthex_keep(payload);
        keep(&peer->early, source, header, bytes);
        return;
    }
    if (header->kind == TELL)
        narthex_keep(payload);
    carry_out(source, header, bytes);
    if (peer->early)
        carry_out_early(peer);
}

void shmem_start_requests(void) {
    packet_bytes = narthex_information()->payload_bytes;
    if (packet_bytes < SMALLEST_MESSAGE_BYTES)
        packet_bytes = SMALLEST_MESSAGE_BYTES;
    peers = calloc((size_t)shmem_pes, sizeof *peers);
    dirty = calloc((size_t)shmem_pes, sizeof *dirty);
    narthex_check(peers && dirty, "PE %d has no memory for %d PEs", shmem_pe, shmem_pes);
    set_handler(HANDLER_SHMEM, arrive, "OpenSHMEM's");
}
