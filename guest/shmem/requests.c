/* Sending requests, waiting for what they bring, order and completion (protocol.h). */
#include "shmem/requests.h"

#include <stdlib.h>

#include "runtime/information.h"
#include "runtime/marker.h"
#include "shmem/long_transfers.h"
#include "shmem/protocol.h"
#include "shmem/rdma.h"
#include "shmem/remote_stores.h"

/* After these a PE that only sends looks for what has come. */
enum { MESSAGES_PER_POLL = 8 };

struct peer *shmem_peers;
size_t shmem_outstanding[COMPLETIONS], shmem_packet_bytes;
int shmem_unconfirmed;

static int *dirty, dirty_count; /* PEs */
static uint32_t fences;
static unsigned sends;

/* Sending */

/* Not in a handler. */
static inline void poll_now_and_then(void) {
    if (++sends % MESSAGES_PER_POLL == 0)
        narthex_poll();
}

static inline struct header ordered(int pe, enum kind kind, uint64_t place) {
    struct peer *peer = &shmem_peers[pe];
    if (peer->fences != fences) {
        peer->fences = fences;
        peer->after = peer->sent;
    }
    return (struct header){.place = place, .after = peer->after, .kind = kind, .flags = IS_ORDERED};
}

/* The next quiet asks this PE. */
static inline void make_dirty(int pe) {
    struct peer *peer = &shmem_peers[pe];
    if (!peer->is_dirty) {
        peer->is_dirty = true;
        dirty[dirty_count++] = pe;
    }
}

static inline void count(int pe, struct header *header) {
    header->flags |= IS_COUNTED;
    shmem_peers[pe].sent += 1;
    make_dirty(pe);
}

static inline void put_packet(int pe, uint64_t place, const void *source, size_t bytes) {
    struct header header = ordered(pe, PUT, place);
    count(pe, &header);
    send_with_data(pe, &header, sizeof header, source, bytes);
    poll_now_and_then();
}

/* Whether the interface has transferred it. */
static inline bool put_as_block(int pe, uint64_t place, const void *source, size_t bytes) {
#ifdef LONG_MESSAGES
    struct long_grant grant;
    if (bytes < LONG_BYTES || !long_may_leave(source, bytes) ||
        !shmem_offer_put(pe, ordered(pe, PUT_OFFER, place), bytes, &grant))
        return false;
    count(pe, &(struct header){0});
    long_put(pe, &grant, source, bytes);
    return true;
#elif defined(RDMA)
    if (bytes < RDMA_PUT_BYTES || !shmem_rdma_put(pe, ordered(pe, KEY_ASKED, place), source, bytes))
        return false;
    make_dirty(pe);
    return true;
#else
    (void)pe, (void)place, (void)source, (void)bytes;
    return false;
#endif
}

void shmem_request_put(int pe, uint64_t place, const void *source, size_t bytes) {
    if (put_as_block(pe, place, source, bytes))
        return;
    const char *from = source;
    const size_t room = shmem_packet_bytes - sizeof(struct header);
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
    const size_t room = shmem_packet_bytes - sizeof(struct put_signal);
    size_t before = bytes > room ? bytes - room : 0;
    shmem_request_put(pe, place, source, before);
    struct put_signal message = {last(pe, PUT_SIGNAL, place + before), signal_place, signal};
    message.header.operation = (uint8_t)operation;
    count(pe, &message.header);
    send_with_data(pe, &message, sizeof message, (const char *)source + before, bytes - before);
    poll_now_and_then();
}

void shmem_request_put_strided(int pe, uint64_t place, ptrdiff_t step, const void *source,
                               ptrdiff_t own_step, size_t width, size_t elements) {
    const char *from = source;
    while (elements > 0) {
        struct header header = ordered(pe, PUT_STRIDED, place);
        header.width = (uint8_t)width;
        count(pe, &header);
        size_t part = shmem_send_strided(pe, header, step, from, own_step, elements);
        poll_now_and_then();
        place += (uint64_t)((ptrdiff_t)part * step);
        from += (ptrdiff_t)part * own_step;
        elements -= part;
    }
}

/* Waiting */

static void await_data(enum shmem_completion completion) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (shmem_outstanding[completion] > 0)
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

/* Whether the data come as a transfer, or have come. */
static inline bool get_as_block(int pe, const struct get *message, size_t bytes) {
#ifdef LONG_MESSAGES
    struct header header = message->header;
    header.kind = GET_BLOCK;
    return bytes >= LONG_BYTES && bytes <= narthex_payload_limit() &&
           shmem_request_block(pe, header, (void *)(uintptr_t)message->reply, bytes);
#elif defined(RDMA)
    struct header header = message->header;
    header.kind = KEY_ASKED;
    if (bytes < RDMA_GET_BYTES)
        return false;
    shmem_progress(); /* the get may be in a loop that waits */
    return shmem_rdma_get(pe, header, (void *)(uintptr_t)message->reply, bytes);
#else
    (void)pe, (void)message, (void)bytes;
    return false;
#endif
}

void shmem_request_get(int pe, uint64_t place, void *dest, size_t bytes,
                       enum shmem_completion completion) {
    struct get message = {ordered(pe, GET, place), (uintptr_t)dest, bytes, 0, 0};
    message.header.operation = (uint8_t)completion;
    if (get_as_block(pe, &message, bytes)) {
        asked_for(completion);
        return;
    }
    shmem_outstanding[completion] += bytes;
    send(pe, &message, offsetof(struct get, step));
    asked_for(completion);
}

void shmem_request_get_strided(int pe, uint64_t place, ptrdiff_t step, void *dest,
                               ptrdiff_t own_step, size_t width, size_t count) {
    struct get message = {ordered(pe, GET_STRIDED, place), (uintptr_t)dest, count, step, own_step};
    message.header.operation = BLOCKING;
    message.header.width = (uint8_t)width;
    shmem_outstanding[BLOCKING] += width * count;
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

void shmem_request_fetch(int pe, uint64_t place, const struct shmem_atomic *atomic, void *fetched,
                         enum shmem_completion completion) {
    struct atomic message = {ordered(pe, FETCH, place), atomic->operand, atomic->condition,
                             (uintptr_t)fetched};
    message.header.operation = (uint8_t)atomic->operation;
    message.header.width =
        (uint8_t)(atomic->width | (completion == NONBLOCKING ? IS_NONBLOCKING : 0));
    if (completion == NONBLOCKING)
        count(pe, &message.header); /* a later fence is for it, too */
    shmem_outstanding[completion] += atomic->width;
    send(pe, &message, sizeof message);
    asked_for(completion);
}

void shmem_requests_quiet(void) {
    remote_fence();
    narthex_poll();
    ENTER(ACTIVITY_SYNCHRONISATION);
    for (; dirty_count > 0; dirty_count--) {
        int pe = dirty[dirty_count - 1];
        struct header header = last(pe, FLUSH, 0);
        shmem_peers[pe].is_dirty = false;
        shmem_unconfirmed += 1;
        send(pe, &header, sizeof header);
    }
    while (shmem_unconfirmed > 0)
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

void shmem_start_requests(void) {
    shmem_packet_bytes = narthex_information()->payload_bytes;
    if (shmem_packet_bytes < SMALLEST_MESSAGE_BYTES)
        shmem_packet_bytes = SMALLEST_MESSAGE_BYTES;
    shmem_peers = calloc((size_t)shmem_pes, sizeof *shmem_peers);
    dirty = calloc((size_t)shmem_pes, sizeof *dirty);
    narthex_check(shmem_peers && dirty, "PE %d has no memory for %d PEs", shmem_pe, shmem_pes);
    set_handler(HANDLER_SHMEM, shmem_arrive, "OpenSHMEM's");
#ifdef RDMA
    shmem_rdma_start();
#endif
}
