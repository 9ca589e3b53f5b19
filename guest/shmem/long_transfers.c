#ifdef LONG_MESSAGES

#include "shmem/long_transfers.h"
#include "runtime/marker.h"
#include "voyager/voyager.h"

struct offer {
    struct header header;
    uint64_t bytes;
};

struct answer {
    struct header header;
    struct long_grant grant;
};

static bool is_answered;
static struct long_grant answered;

bool shmem_offer_put(int pe, struct header header, uint64_t bytes, struct long_grant *grant) {
    struct offer offer = {header, bytes};
    is_answered = false;
    send(pe, &offer, sizeof offer);
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (!is_answered)
        narthex_poll();
    LEAVE();
    *grant = answered;
    return grant->address != 0;
}

/* Once all data have come, the handler takes an empty put, which counts. */
void shmem_offer_arrived(int source, const struct header *header) {
    const struct offer *offer = (const struct offer *)header;
    struct header done = {.place = header->place, .kind = PUT, .flags = IS_COUNTED};
    struct answer answer = {.header = {.kind = PUT_GRANT}};
    if (!long_offer(source, HANDLER_SHMEM, &done, sizeof done, shmem_address(header->place),
                    offer->bytes, &answer.grant))
        answer.grant.address = 0;
    send(source, &answer, sizeof answer);
}

struct block_request {
    struct offer offer;
    uint64_t reply;
    struct long_grant grant;
};

bool shmem_request_block(int pe, struct header header, void *dest, uint64_t bytes) {
    struct offer came = {{.kind = BLOCK_CAME, .operation = header.operation}, bytes};
    struct block_request request = {{header, bytes}, (uintptr_t)dest, {0}};
    if (!long_offer(pe, HANDLER_SHMEM, &came, sizeof came, dest, bytes, &request.grant))
        return false;
    shmem_outstanding[header.operation] += bytes;
    send(pe, &request, sizeof request);
    return true;
}

void shmem_block_asked(int source, const struct header *header) {
    const struct block_request *request = (const struct block_request *)header;
    const void *data = shmem_address(header->place);
    size_t bytes = request->offer.bytes;
    if (long_may_leave(data, bytes)) {
        long_put(source, &request->grant, data, bytes);
        return;
    }
    struct answer refusal = {{.kind = BLOCK_REFUSED}, request->grant};
    send(source, &refusal, sizeof refusal);
    shmem_reply(source, request->reply, data, bytes, header->operation);
}

/* The offer ends, as if all had come and its message had been handled. */
void shmem_block_refused(const struct header *header) {
    unsigned channel = (unsigned)((const struct answer *)header)->grant.channel;
    struct long_message *offered = long_granted[channel];
    int error = voyager_clear_channel(channel);
    narthex_check(error == 0, "PE %d cannot clear channel %u: %s", shmem_pe, channel,
                  strerror(error));
    long_granted[channel] = NULL;
    buffer_give(offered->buffer);
    long_release(offered);
}

void shmem_block_came(const struct header *header) {
    shmem_outstanding[header->operation] -= ((const struct offer *)header)->bytes;
}

void shmem_grant_arrived(const struct header *header) {
    answered = ((const struct answer *)header)->grant;
    is_answered = true;
}

#else

typedef int no_long_transfers;

#endif
