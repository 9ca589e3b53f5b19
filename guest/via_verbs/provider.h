/* VIPL over queue pairs (guest/verbs): what the library keeps of its objects.
 *
 *     VIPL                        verbs
 *     protection tag              protection domain
 *     registered memory, handle   memory region; its key, which local and remote ends share
 *     VI                          queue pair of a reliable connection, made anew for each
 *                                 connection, since one that has failed does not come back
 *     descriptor                  work request: a gathered or inline send, an RDMA write, a read
 *     queue without a CQ          completion queue of the VI's own
 *     CQ                          completion queue, and a ring of what was told of it
 *     connections, their end      datagrams between well-known queue pairs (control.c)
 *
 * The interface tells of the requests of a queue in their order. The library then writes length and
 * status into the queue's oldest descriptor, as an interface with VIA does. A descriptor that the
 * library itself finds wrong waits for its turn: its status is in CS.Reserved until then.
 *
 * A VI that fails loses its queue pair at once: what the interface has not ended by then the
 * library completes as flushed, and the other end is told. */
#ifndef NARTHEX_VIA_VERBS_PROVIDER_H
#define NARTHEX_VIA_VERBS_PROVIDER_H

#define VIPL_PREFIX verbs_

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

#include "messaging/narthex.h"
#include "runtime/information.h"
#include "via/vipl.h"

enum {
    PTAGS_LIMIT = 64,
    CQ_ENTRIES_LIMIT = 4096,
    EVENTS = 64,
    FETCHES = 16,     /* RDMA reads of a VI under way */
    MOST_INLINE = 220 /* bytes of a send, beside the address of an RDMA write */
};

/* Where requests end, and how many have still to. */
struct completions {
    struct ibv_cq *queue;
    uint32_t under_way;
};

/* A registration, as the library has to know it where it copies by itself. */
struct via_registration {
    struct ibv_mr *region; /* NULL: none */
    VIP_PROTECTION_HANDLE ptag;
};

/* Descriptors posted to one queue of a VI, oldest first. The first `done` of them are done, and the
 * interface has the next `under_way`. */
struct via_queue {
    struct via_vi *vi;
    struct completions *completions;
    struct via_cq *cq; /* that is told as well; NULL: none */
    bool receives;
    bool is_stopped; /* by a wrong descriptor: what is posted behind it is flushed */
    uint32_t first, count, done, under_way;
    VIP_DESCRIPTOR *posted[VIA_DESCRIPTORS_LIMIT];
};

struct via_vi {
    struct via_nic *nic;
    struct via_vi *next;
    struct ibv_qp *pair; /* NULL: the VI has failed */
    VIP_VI_ATTRIBUTES attributes;
    VIP_VI_STATE state;
    uint16_t peer;        /* process at the other end, */
    uint32_t peer_pair;   /* and its queue pair */
    bool is_acknowledged; /* the other end knows that its request was accepted */
    struct completions own;
    struct via_queue send, receive;
};

/* What a CQ tells of. */
struct via_entry {
    struct via_vi *vi; /* NULL: destroyed */
    bool receives;
};

struct via_cq {
    struct via_nic *nic;
    struct completions completions;
    uint32_t size, first, count, users;
    struct via_entry *entries;
};

/* A request to connect that VipConnectWait has taken. */
struct via_connection {
    struct via_nic *nic;
    struct via_connection *next;
    uint16_t peer;
    uint32_t peer_pair;
    uint64_t discriminator, attributes;
    bool is_withdrawn;
};

struct via_event {
    struct via_vi *vi;
    VIP_ERROR_CODE code;
};

/* How VipConnectRequest stands. */
enum request { NOT_ANSWERED, NOBODY_WAITS, IS_PENDING, IS_REJECTED, IS_ACCEPTED };

struct via_nic {
    int users; /* how often it is open */
    struct ibv_context *context;
    struct ibv_pd *domains[PTAGS_LIMIT]; /* by protection tag less one */
    int most_regions;
    struct via_registration *registrations; /* by the upper 24 bits of their keys */
    struct via_vi *vis;
    struct control *control;

    /* Connecting: whom a VipConnectWait waits for, whom a VipConnectRequest asks. */
    bool waits;
    uint64_t awaited; /* discriminator */
    struct via_connection *found, *connections;
    struct via_vi *asking;
    uint32_t asked; /* how often */
    enum request answer;
    uint64_t answered_attributes;

    VIP_ERROR_HANDLER *handler;
    VIP_PVOID handler_context;
    uint32_t events_first, events_count;
    struct via_event events[EVENTS];
};

/* Which levels of reliability a VI may have. */
#define VIA_LOWER_LEVEL VIP_SERVICE_RELIABLE_DELIVERY
#define VIA_HIGHER_LEVEL VIP_SERVICE_RELIABLE_RECEPTION
#include "via/common.h"

/* nic.c */

/* An error that belongs to no call is told later, by verbs_tell_events. */
void verbs_event(struct via_vi *vi, VIP_ERROR_CODE code);
void verbs_tell_events(struct via_nic *nic);

/* registration.c */

/* Whether memory is registered under this handle, with this tag. */
bool verbs_is_registered(const struct via_nic *nic, VIP_PROTECTION_HANDLE ptag,
                         VIP_MEM_HANDLE handle, const void *start, size_t bytes);

/* vis.c */

/* Makes the queue pair of a VI that has none. */
VIP_RETURN verbs_open_pair(struct via_vi *vi);
/* Connects it to the other end's. */
VIP_RETURN verbs_connect_pair(struct via_vi *vi, uint16_t peer, uint32_t peer_pair);
/* Ends the connection of a VI with an error; the other end is told `code`. */
void verbs_break(struct via_vi *vi, VIP_ERROR_CODE code);
/* The same when the other end has said so. */
void verbs_is_broken(struct via_vi *vi, VIP_ERROR_CODE code);

/* work_queues.c */

/* Takes a completion, and completes a descriptor; whether there was one. */
bool verbs_take_completion(struct completions *completions);
/* Completes all descriptors that have not ended, as flushed. */
void verbs_flush(struct via_queue *queue);

/* completion_queue.c */

void verbs_enter(struct via_cq *cq, struct via_vi *vi, bool receives);
void verbs_forget(struct via_cq *cq, const struct via_vi *vi);

/* control.c */

enum kind { REQUEST, NO_MATCH, PENDING, REJECT, ACCEPT, ACKNOWLEDGE, WITHDRAW, LOST };

struct message {
    uint32_t kind;
    uint32_t code;     /* of LOST: a VIP_ERROR_CODE; of REQUEST and NO_MATCH: which one */
    uint32_t from, to; /* queue pairs of the VIs; 0: none */
    uint64_t discriminator, attributes;
};

/* Opens the channel between VIPLs; NULL: that cannot be. */
struct control *verbs_open_control(struct ibv_context *context);
void verbs_close_control(struct control *control);
void verbs_say(struct via_nic *nic, uint16_t process, const struct message *message);
/* Handles a message, and tells of events; called where nothing else is done. */
void verbs_listen(struct via_nic *nic);

/* connection.c */

void verbs_handle(struct via_nic *nic, uint16_t process, const struct message *message);

#endif
