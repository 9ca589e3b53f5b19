/* Receives that wait for messages, and messages that wait for receives.
 *
 * What names a source stands in the lists of that source (struct peer), so that a search meets no
 * other's. A receive of any source stands in a list of its own, and knows how many such receives
 * were before it; one of a source knows it too. So a message that fits one of each kind finds the
 * older. A message that waits stands in a second list as well, which is that of all sources in the
 * order of arrival, for receives of any source. */
#ifndef NARTHEX_MPI_MATCHING_H
#define NARTHEX_MPI_MATCHING_H

#include "mpi/transport.h"

/* A message that has come. */
struct arrival {
    uint64_t envelope;
    int source;          /* rank of the world */
    const char *data;    /* of an eager one */
    size_t bytes;        /* of its data, or announced */
    uint64_t slot;       /* the sender's, of an announced one */
    const void *payload; /* the messaging library's, in which the data are */
    bool is_kept;        /* it is to be released */
};

/* A message that waits, for its receive or for its turn. */
struct waiting {
    struct waiting *next;                       /* of its source, or its place in a table */
    struct waiting *next_of_all, **link_of_all; /* in the order of arrival */
    struct arrival arrival;
};

/* Makes a message wait, whose data the messaging library keeps from now on; and ends that. */
struct waiting *new_waiting(const struct arrival *arrival);
void free_waiting(struct waiting *waiting);

/* Receives of any source that wait, and how many have ever waited. */
extern struct request_list mpi_any_source;
extern uint32_t mpi_any_source_before;

/* Begins, before messages come. */
void matching_start(void);

static inline void append_request(struct request_list *list, struct request *request) {
    request->next = NULL;
    *list->end = request;
    list->end = &request->next;
}

/* Takes the request off the list in which a link leads to it. */
static inline void unlink_request(struct request_list *list, struct request **link) {
    struct request *request = *link;
    *link = request->next;
    if (!*link)
        list->end = link;
}

/* Lets a receive of one source wait. */
static inline void post(struct request *request) {
    request->any_source_before = mpi_any_source_before;
    append_request(&mpi_peers[request->peer].posted, request);
}

/* The link to the first receive of any source that fits a message; to NULL if none does. */
struct request **find_any_source(uint16_t context, int tag);

/* Whether a receive of any source fits the message and is older than the receive. */
bool is_any_source_first(const struct request *request, uint64_t key);

/* Takes the receive that waits for a message off its list, if it is the first there, is plain, and
 * has room; NULL otherwise. The key is the message's envelope, but for its number. */
static inline struct request *take_plain(struct peer *peer, uint64_t key, size_t bytes) {
    struct request *request = peer->posted.first;
    if (!request || request->key != key || !request->is.is_plain || request->bytes < bytes)
        return NULL;
    if (__builtin_expect(mpi_any_source.first != NULL, 0) && is_any_source_first(request, key))
        return NULL;
    unlink_request(&peer->posted, &peer->posted.first);
    return request;
}

/* The message finds its receive, or is kept. Called in handlers, in the order of sending. */
void match_arrival(const struct arrival *arrival);

/* The receive finds its message, or waits. */
void match_receive(struct request *request);

/* Takes a receive off the list that waits; whether it was there. */
bool unpost(struct request *request);

/* The message that such a receive would take, which stays where it is; NULL if none has come. */
const struct arrival *peek(int source, int tag, uint16_t context);

#endif
