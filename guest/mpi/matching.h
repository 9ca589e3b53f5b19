/* Receives that wait for messages, and messages that wait for receives. */
#ifndef NARTHEX_MPI_MATCHING_H
#define NARTHEX_MPI_MATCHING_H

#include "mpi/transport.h"

/* A message that has come. */
struct arrival {
    struct arrival *next;
    uint64_t envelope;
    int source;          /* rank of the world */
    const char *data;    /* of an eager one */
    size_t bytes;        /* of its data, or announced */
    uint64_t slot;       /* the sender's, of an announced one */
    const void *payload; /* the messaging library's, in which the data are */
    bool is_kept;        /* it is to be released */
};

/* Begins, before messages come. */
void matching_start(void);

/* The two lists, of all contexts that fall on the same place of a table. A context has its place to
 * itself while there are few. */
struct queue {
    struct request *posted, **posted_end;
    struct arrival *arrived, **arrived_end;
};

enum { QUEUES = 64 };

extern struct queue mpi_queues[QUEUES];

static inline struct queue *queue_of(uint16_t context) {
    return &mpi_queues[context % QUEUES];
}

static inline void post(struct queue *queue, struct request *request) {
    request->next = NULL;
    *queue->posted_end = request;
    queue->posted_end = &request->next;
}

/* Takes the receive that waits for a message off its list, if it is the first there, is plain, and
 * has room; NULL otherwise. The key is the message's envelope, but for its number. */
static inline struct request *take_plain(uint64_t key, int source, size_t bytes) {
    struct queue *queue = queue_of(envelope_context(key));
    struct request *request = queue->posted;
    if (!request || request->key != key || request->peer != source || !request->is.is_plain ||
        request->bytes < bytes)
        return NULL;
    queue->posted = request->next;
    if (!queue->posted)
        queue->posted_end = &queue->posted;
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
