/* What sends and receives have in common: their arguments, checked, as a request. */
#ifndef NARTHEX_MPI_MESSAGES_H
#define NARTHEX_MPI_MESSAGES_H

#include "mpi/requests.h"

/* The arguments of a send or a receive. */
struct message {
    void *buffer;
    int count;
    MPI_Datatype datatype;
    int peer, tag;
    MPI_Comm comm;
};

/* Sets a request up for a message; returns an error's class. Its peer is MPI_PROC_NULL, and it is
 * done, where the message's is. */
int set_up_send(struct request *request, const struct message *message, enum send_mode mode,
                const char *function);
int set_up_receive(struct request *request, const struct message *message, const char *function);

/* Begins a request that has been set up. */
void start_request(struct request *request);

/* Ends one that is done: enters its status, and returns its error as its communicator wants it. */
int end_request(struct request *request, MPI_Status *status, const char *function);

/* Reserves room of the attached buffer for a message, and gives it back. */
int buffer_reserve(struct communicator *comm, size_t bytes, const char *function);
void buffer_give_back(size_t bytes);

#endif
