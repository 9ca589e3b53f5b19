#include "mpi/matching.h"

#include <stdlib.h>
#include <string.h>

#include "messaging/buffers.h"
#include "messaging/narthex.h"
#include "mpi/collectives.h"

struct request_list mpi_any_source;
uint32_t mpi_any_source_before;

/* Messages of all sources that wait, of all contexts that fall on the same place of a table. A
 * context has its place to itself while there are few. */
enum { CONTEXT_LISTS = 64 };
static struct waiting_list {
    struct waiting *first, **end;
} of_all[CONTEXT_LISTS];

static struct waiting *unused;

static struct waiting_list *list_of(uint16_t context) {
    return &of_all[context % CONTEXT_LISTS];
}

/* Receives */

static inline bool fits_tag(int wanted, int tag) {
    return wanted == tag || wanted == MPI_ANY_TAG;
}

/* The link to the first receive of a list that fits; to NULL if none does. */
static inline struct request **find_posted(struct request_list *list, uint16_t context, int tag) {
    struct request **link = &list->first;
    while (*link && !((*link)->context == context && fits_tag((*link)->tag, tag)))
        link = &(*link)->next;
    return link;
}

struct request **find_any_source(uint16_t context, int tag) {
    return find_posted(&mpi_any_source, context, tag);
}

/* The numbers are of 32 bits and wrap. */
static bool is_older(const struct request *any_source, const struct request *request) {
    return (int32_t)(any_source->any_source_before - request->any_source_before) < 0;
}

bool is_any_source_first(const struct request *request, uint64_t key) {
    const struct request *other = *find_any_source(envelope_context(key), envelope_tag(key));
    return other && is_older(other, request);
}

/* Takes the oldest receive that fits a message. */
static struct request *take_posted(uint64_t envelope, int source) {
    uint16_t context = envelope_context(envelope);
    int tag = envelope_tag(envelope);
    struct request_list *list = &mpi_peers[source].posted;
    struct request **link = find_posted(list, context, tag);
    if (mpi_any_source.first) {
        struct request **other = find_any_source(context, tag);
        if (*other && (!*link || is_older(*other, *link))) {
            list = &mpi_any_source;
            link = other;
        }
    }
    struct request *request = *link;
    if (request)
        unlink_request(list, link);
    return request;
}

static void post_any_source(struct request *request) {
    request->any_source_before = mpi_any_source_before++;
    append_request(&mpi_any_source, request);
}

bool unpost(struct request *request) {
    struct request_list *list =
        request->peer == MPI_ANY_SOURCE ? &mpi_any_source : &mpi_peers[request->peer].posted;
    for (struct request **link = &list->first; *link; link = &(*link)->next)
        if (*link == request) {
            unlink_request(list, link);
            return true;
        }
    return false;
}

/* Messages */

struct waiting *new_waiting(const struct arrival *arrival) {
    struct waiting *waiting = unused;
    if (waiting)
        unused = waiting->next;
    else
        waiting = mpi_allocate(sizeof *waiting);
    waiting->arrival = *arrival;
    if (!arrival->is_kept && envelope_kind(arrival->envelope) != ANNOUNCEMENT) {
        narthex_keep(arrival->payload);
        waiting->arrival.is_kept = true;
    }
    return waiting;
}

void free_waiting(struct waiting *waiting) {
    waiting->next = unused;
    unused = waiting;
}

/* Memory for the first messages that wait. Without it each of them is the first use of memory that
 * the caches do not have, in the midst of what its receiver is in: up to 2 us of a collective. */
static void reserve(void) {
    enum { RESERVED = 16, PAYLOAD_BYTES = 256 };
    size_t buffers_bytes = RESERVED * (sizeof(struct buffer) + PAYLOAD_BYTES);
    narthex_reserve(mpi_allocate(buffers_bytes), buffers_bytes, PAYLOAD_BYTES);
    struct waiting *waiting = mpi_allocate(RESERVED * sizeof *waiting);
    for (int index = 0; index < RESERVED; index++)
        free_waiting(&waiting[index]);
}

void matching_start(void) {
    mpi_any_source.end = &mpi_any_source.first;
    for (struct waiting_list *list = of_all; list != of_all + CONTEXT_LISTS; list++)
        list->end = &list->first;
    reserve();
}

static inline bool takes(const struct waiting *waiting, int tag, uint16_t context) {
    uint64_t envelope = waiting->arrival.envelope;
    return envelope_context(envelope) == context && fits_tag(tag, envelope_tag(envelope));
}

/* The link to the first message of a source that fits; to NULL if none does. */
static inline struct waiting **find_arrived(struct peer *peer, int tag, uint16_t context) {
    struct waiting **link = &peer->arrived;
    while (*link && !takes(*link, tag, context))
        link = &(*link)->next;
    return link;
}

/* The first message of any source that fits; NULL if none does. */
static const struct waiting *find_of_all(int tag, uint16_t context) {
    const struct waiting *waiting = list_of(context)->first;
    while (waiting && !takes(waiting, tag, context))
        waiting = waiting->next_of_all;
    return waiting;
}

/* Takes the message to which a link of its source's list leads off both lists. */
static void unlink_waiting(struct waiting **link) {
    struct waiting *waiting = *link;
    struct peer *peer = &mpi_peers[waiting->arrival.source];
    *link = waiting->next;
    if (!*link)
        peer->arrived_end = link;
    *waiting->link_of_all = waiting->next_of_all;
    if (waiting->next_of_all)
        waiting->next_of_all->link_of_all = waiting->link_of_all;
    else
        list_of(envelope_context(waiting->arrival.envelope))->end = waiting->link_of_all;
}

/* Takes the oldest message that fits a receive. */
static struct waiting *take_arrived(const struct request *request) {
    int tag = request->tag, source = request->peer;
    if (source == MPI_ANY_SOURCE) {
        const struct waiting *first = find_of_all(tag, request->context);
        if (!first)
            return NULL;
        source = first->arrival.source; /* it is the first of its source as well */
    }
    struct waiting **link = find_arrived(&mpi_peers[source], tag, request->context);
    struct waiting *waiting = *link;
    if (waiting)
        unlink_waiting(link);
    return waiting;
}

/* A message that came for no receive. */
static void keep(const struct arrival *arrival) {
    struct peer *peer = &mpi_peers[arrival->source];
    struct waiting_list *list = list_of(envelope_context(arrival->envelope));
    struct waiting *waiting = new_waiting(arrival);
    waiting->next = NULL;
    *peer->arrived_end = waiting;
    peer->arrived_end = &waiting->next;
    waiting->next_of_all = NULL;
    waiting->link_of_all = list->end;
    *list->end = waiting;
    list->end = &waiting->next_of_all;
}

/* Matching */

/* Gives the message to its receive; frees its memory. */
static void hand_over(struct request *request, const struct arrival *arrival) {
    int source = arrival->source, tag = envelope_tag(arrival->envelope);
    if (envelope_kind(arrival->envelope) == EAGER) {
        receive_now(request, source, tag, arrival->data, arrival->bytes);
        give_credit(source, arrival->bytes);
    } else {
        grant(request, source, tag, arrival->bytes, arrival->slot);
    }
    if (arrival->is_kept)
        narthex_release(arrival->payload);
}

void match_arrival(const struct arrival *arrival) {
    struct request *request = take_posted(arrival->envelope, arrival->source);
    if (request) {
        hand_over(request, arrival);
        return;
    }
    uint16_t context = envelope_context(arrival->envelope);
    if (is_collective(context))
        check_running_collectives(context, arrival->source, envelope_tag(arrival->envelope));
    keep(arrival);
}

/* A collective waits for a message that has not come: those that have may be of another one. */
static void check_waiting_messages(const struct request *request) {
    for (const struct waiting *waiting = list_of(request->context)->first; waiting;
         waiting = waiting->next_of_all)
        if (envelope_context(waiting->arrival.envelope) == request->context)
            check_same_collective(request->comm, request->tag, waiting->arrival.source,
                                  envelope_tag(waiting->arrival.envelope));
}

void match_receive(struct request *request) {
    struct waiting *waiting = take_arrived(request);
    if (waiting) {
        hand_over(request, &waiting->arrival);
        free_waiting(waiting);
        return;
    }
    if (is_collective(request->context))
        check_waiting_messages(request);
    if (request->peer == MPI_ANY_SOURCE)
        post_any_source(request);
    else
        post(request);
}

const struct arrival *peek(int source, int tag, uint16_t context) {
    const struct waiting *waiting = source == MPI_ANY_SOURCE
                                        ? find_of_all(tag, context)
                                        : *find_arrived(&mpi_peers[source], tag, context);
    return waiting ? &waiting->arrival : NULL;
}
