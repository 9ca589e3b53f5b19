/* What a PE does for others: carrying out their messages (protocol.h). */
#include <stdlib.h>

#include "messaging/narthex.h"
#include "shmem/long_transfers.h"
#include "shmem/protocol.h"
#include "shmem/rdma.h"

/* Packs elements that lie `step` bytes apart; returns behind the last. */
static const char *gather(char *to, const char *from, ptrdiff_t step, size_t width, size_t count) {
    for (; count > 0; count--, to += width, from += step)
        memcpy(to, from, width);
    return from;
}

size_t shmem_send_strided(int pe, struct header header, int64_t step, const char *from,
                          ptrdiff_t own_step, size_t count) {
    struct packet packet;
    struct strided head = {header, step};
    size_t width = header.width, most = (shmem_packet_bytes - sizeof head) / width;
    size_t part = count < most ? count : most;
    memcpy(packet.bytes, &head, sizeof head);
    gather(packet.bytes + sizeof head, from, own_step, width, part);
    send(pe, &packet, sizeof head + part * width);
    return part;
}

static void scatter(char *to, ptrdiff_t step, const char *from, size_t width, size_t count) {
    for (; count > 0; count--, to += step, from += width)
        memcpy(to, from, width);
}

uint64_t shmem_apply_atomic(void *address, const struct shmem_atomic *atomic) {
    bool is_long = atomic->width == sizeof(uint64_t);
    uint64_t before = is_long ? *(doubleword *)address : *(word *)address;
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
    if (is_long)
        *(doubleword *)address = after;
    else
        *(word *)address = (word)after;
    return before;
}

static void reply(int pe, uint64_t address, const void *data, size_t bytes, unsigned completion) {
    const char *from = data;
    const size_t room = shmem_packet_bytes - sizeof(struct header);
    while (bytes > 0) {
        size_t part = bytes < room ? bytes : room;
        struct header header = {.place = address, .kind = DATA, .operation = (uint8_t)completion};
        send_with_data(pe, &header, sizeof header, from, part);
        address += part;
        from += part;
        bytes -= part;
    }
}

#ifdef LONG_MESSAGES
void shmem_reply(int pe, uint64_t address, const void *data, size_t bytes, unsigned completion) {
    reply(pe, address, data, bytes, completion);
}
#endif

static void reply_strided(int pe, const struct get *get) {
    const char *from = shmem_address(get->header.place);
    uint64_t address = get->reply, left = get->count;
    while (left > 0) {
        struct header header = {.place = address,
                                .kind = DATA_STRIDED,
                                .operation = get->header.operation,
                                .width = get->header.width};
        size_t part = shmem_send_strided(pe, header, get->reply_step, from, get->step, left);
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

static struct kept *unused; /* records */

void shmem_keep(struct kept **list, int source, const struct header *header, size_t bytes) {
    struct kept *kept = unused;
    if (kept)
        unused = kept->next;
    else
        kept = malloc(sizeof *kept);
    narthex_check(kept, "PE %d has no memory left for others' messages", shmem_pe);
    *kept = (struct kept){*list, source, header, bytes};
    *list = kept;
}

void shmem_forget(struct kept *kept) {
    kept->next = unused;
    unused = kept;
}

/* Does what a message says that is no put, no data and no tell. */
static OUT_OF_LINE void carry_out_other(int source, const struct header *header, size_t bytes) {
    const struct strided *strided = (const struct strided *)header;
    const struct get *get = (const struct get *)header;
    size_t data_bytes = bytes - sizeof *strided;
    switch ((enum kind)header->kind) {
    case PUT:
    case DATA:
    case TELL:
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
        shmem_outstanding[header->operation] -= data_bytes;
        break;
    case FLUSH:
        send(source, &(struct header){.kind = CONFIRMED}, sizeof(struct header));
        break;
    case CONFIRMED:
        shmem_unconfirmed -= 1;
        break;
    case LOCK:
        shmem_lock_asked(source, header->operation, header->place);
        break;
    case LOCK_ANSWER:
        shmem_lock_answered(header->operation);
        break;
    case EXIT:
        exit(0);
#ifdef LONG_MESSAGES
    case PUT_OFFER:
        shmem_offer_arrived(source, header);
        break;
    case PUT_GRANT:
        shmem_grant_arrived(header);
        break;
    case GET_BLOCK:
        shmem_block_asked(source, header);
        break;
    case BLOCK_CAME:
        shmem_block_came(header);
        break;
    case BLOCK_REFUSED:
        shmem_block_refused(header);
        break;
#elif defined(RDMA)
    case KEY_ASKED:
        shmem_key_asked(source, header);
        break;
    case KEY_ANSWERED:
        shmem_key_answered(source, header);
        break;
#endif
    }
}

/* Does what a message says; its payload may then go, but that of a tell. */
static inline void carry_out(int source, const struct header *header, size_t bytes) {
    size_t data_bytes = bytes - sizeof *header;
    if (header->kind == PUT) {
        copy_data(shmem_address(header->place), header + 1, data_bytes);
    } else if (header->kind == DATA) {
        copy_data((void *)(uintptr_t)header->place, header + 1, data_bytes);
        shmem_outstanding[header->operation] -= data_bytes;
    } else if (header->kind == TELL) {
        shmem_tell_arrived(source, header, bytes);
    } else {
        carry_out_other(source, header, bytes);
    }
    if (header->flags & IS_COUNTED)
        shmem_peers[source].done += 1;
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
        shmem_forget(kept);
        link = &peer->early;
    }
}

void shmem_arrive(int source, const void *payload, size_t bytes) {
    const struct header *header = payload;
    struct peer *peer = &shmem_peers[source];
    if (is_early(peer, header)) {
        narthex_keep(payload);
        shmem_keep(&peer->early, source, header, bytes);
        return;
    }
    if (header->kind == TELL)
        narthex_keep(payload);
    carry_out(source, header, bytes);
    if (peer->early)
        carry_out_early(peer);
}
