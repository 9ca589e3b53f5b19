/* Receives that wait for messages, and messages that wait for receives. */
#ifndef NARTHEX_MPI_MATCHING_H
#define NARTHEX_MPI_MATCHING_H

#include "mpi/requests.h"

/* A message that has come. */
struct arrival {
    struct arrival *next;
    uint64_t envelope;
    int source;          /* rank of the world */
    const char *data;    /* of an eager one */
    size_t bytes;        /* of its data, or announced */
    uint64_t slot;       /* the sender's, of an announced one */
    const void *payload; /* to be released; NULL where it is the messaging library's */
};

/* Begins, before messages come. */
void matching_start(void);

/* Takes the receive that waits for such a message off its list; NULL if none does. */
struct request *take_posted(uint64_t envelope, int source);

/* The message finds its receive, or is kept. Called in handlers, in the order of sending. */
void match_arrival(const struct arrival *arrival);

/* The receive finds its message, or waits. */
void match_receive(struct request *request);

/* Takes a receive off the list that waits; whether it was there. */
bool unpost(struct request *request);

/* The message that such a receive would take, which stays where it is; NULL if none has come. */
const struct arrival *peek(int source, int tag, uint16_t context);

#endif
