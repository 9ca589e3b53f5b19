/* Requests: what is under way. */
#ifndef NARTHEX_MPI_REQUESTS_H
#define NARTHEX_MPI_REQUESTS_H

#include "messaging/messages.h"
#include "mpi/communicators.h"
#include "mpi/datatypes.h"
#include "mpi/puts.h"
#include "runtime/marker.h"

struct schedule;

enum request_kind { SEND_REQUEST, RECEIVE_REQUEST, COLLECTIVE_REQUEST };

/* How a send may begin. */
enum send_mode { STANDARD, SYNCHRONOUS, READY, BUFFERED };

/* What is said of a request in bits. */
struct request_flags {
    uint8_t kind, mode;
    bool is_done;
    bool is_cancelled;
    bool is_plain; /* a receive of one block, which nothing but its end is to be done for */
    bool is_persistent;
    bool is_active; /* begun, if it is persistent */
    bool is_orphan; /* freed by its program: freed when it is done */
};

/* The explanation of a run that hangs reads the first fields (machine/src/node/mpi.rs). */
struct request {
    uint32_t mark; /* REQUEST_MARK while it is one */
    int32_t peer;  /* rank of the world; MPI_ANY_SOURCE */
    int32_t tag;   /* MPI_ANY_TAG */
    uint16_t context;
    bool owns_packed; /* frees `packed` at its end */
    struct communicator *comm;
    const char *function; /* that began it */
    struct request_flags is;

    uint64_t key; /* a plain receive's: the envelope of its message, but for the number */
    int error;    /* MPI_ERR_TRUNCATE */
    int source, source_tag;
    uint32_t any_source_before; /* how many receives of any source were posted before it */
    void *buffer;
    size_t count;
    struct datatype *type;
    size_t bytes;     /* to send; that fit, to receive; at its end, those that came */
    size_t came;      /* if they did not fit */
    size_t moved;     /* bytes of a rendezvous so far */
    char *packed;     /* a rendezvous' data, if they do not stand in one block */
    uint64_t partner; /* a sender's: the receiver's slot; a receiver's: all bytes to come */
    struct schedule *schedule; /* of a collective */
    struct put_place place;    /* of a send that has been granted: where it is put; 0: in pieces */
    struct request *next;      /* in the list that it waits in */
};

enum { REQUEST_MARK = 0x72657175 };

/* Requests that wait, in their order. */
struct request_list {
    struct request *first, **end;
};

/* A request that is to be filled; one that is empty. */
struct request *take_request(void);
struct request *new_request(enum request_kind kind, struct communicator *comm);
void give_back_request(struct request *request); /* that has never begun */
void free_request(struct request *request);

/* A send that is done: what a nonblocking call returns whose message has left. */
extern struct request sent_request;

/* Ends a request. Called in handlers as well. What few need is done out of line. */
void complete_with_care(struct request *request);
static inline void complete(struct request *request) {
    if (request->is.is_plain)
        request->is.is_done = true;
    else
        complete_with_care(request);
}

/* How many are under way that go on in progress(): sends that have pieces to send, puts that are
 * looked for, and nonblocking collectives. */
extern int mpi_under_way;
void go_on(void);

/* Takes the packet that has arrived first, if one has (mpi/transport.c). */
void take_next_packet(void);

/* Takes the packet that has arrived first, if one has, and lets what is under way go on. A call
 * that waits must not look for what comes behind the message that it waits for: a look costs an
 * access to the interface. */
static inline void progress(void) {
    ENTER(ACTIVITY_POLL);
    take_next_packet();
    LEAVE();
    if (__builtin_expect(mpi_under_way > 0, 0))
        go_on();
}

/* What this rank waits for, and in which function. The explanation of a run that hangs reads it by
 * its name (machine/src/node/mpi.rs). */
extern struct awaited {
    const struct request *request;
    const char *function;
} mpi_awaited;

static inline void awaits(const struct request *request, const char *function) {
    mpi_awaited = (struct awaited){request, function};
}

/* Waits until it is done, for a call of this name. */
static inline void wait_until_done(struct request *request, const char *function) {
    if (request->is.is_done)
        return;
    awaits(request, function);
    do
        progress();
    while (!request->is.is_done);
    awaits(NULL, NULL);
}

/* Enters what came into a status, which may be MPI_STATUS_IGNORE. */
void set_status(MPI_Status *status, int source, int tag, size_t bytes);
void set_empty_status(MPI_Status *status);
size_t status_bytes(const MPI_Status *status);

#endif
