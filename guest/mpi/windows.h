/* One-sided communication: windows, and what travels for them.
 *
 *     put, accumulate   header, data       ──►      the target's handler copies or combines them
 *     get               header             ──►      the target's handler answers with the data
 *     answer            the origin's place ◄──      with data where they are wanted
 *     lock              header             ──►      answered when the lock is the origin's
 *     unlock            header             ──►      no answer: all before it has been answered
 *
 * The target's handler does it all, so a target takes part by calls that wait or test, of whichever
 * kind. Each message changes memory at once: accumulations are atomic by that. An origin knows that
 * what it has begun is done, here and there, when as many answers have come as messages have left;
 * so a flush is local, and a fence is a flush and a barrier.
 *
 * A target's datatype is known to the origin alone: it sends a message for each block. */
#ifndef NARTHEX_MPI_WINDOWS_H
#define NARTHEX_MPI_WINDOWS_H

#include "mpi/errors.h"
#include "mpi/operations.h"
#include "mpi/requests.h"

/* A rank that waits for a lock of a window here. */
struct lock_wish {
    struct lock_wish *next;
    int source; /* rank of the world */
    bool is_exclusive;
};

struct window {
    uint64_t mark;             /* WINDOW_MARK while it is one */
    struct communicator *comm; /* its own */
    char *base;
    size_t bytes;
    int unit;        /* bytes of a displacement */
    void *allocated; /* what to free at the end */
    int *pending;    /* messages that have not been answered, by rank */
    int all_pending;
    bool is_granted;        /* the lock that this rank waits for */
    struct request awaited; /* what this rank waits for, for the explanation of hangs */
    int sharers;            /* that have a lock here; -1 for one that is exclusive */
    struct lock_wish *wishes, **wishes_end;
    struct epoch {
        int *ranks; /* of the communicator; NULL outside of an epoch */
        int count;
        MPI_Request *requests;
    } exposure, access; /* Win_post to Win_wait; Win_start to Win_complete */
};

enum { WINDOW_MARK = 0x77696e64 };

/* The window of a handle; NULL if it is none. */
struct window *find_window(MPI_Win handle);

#define FIND_WINDOW_IN(function, window, handle)                                                   \
    struct window *window = find_window(handle);                                                   \
    struct communicator *comm = window ? window->comm : NULL;                                      \
    CHECK_ACTIVE_IN(function);                                                                     \
    CHECK_IN(function, window, MPI_ERR_WIN, "the window is %s",                                    \
             (handle) == MPI_WIN_NULL ? "MPI_WIN_NULL" : "none: it has been freed, or never set")
#define FIND_WINDOW(window, handle) FIND_WINDOW_IN(FUNCTION, window, handle)

enum window_message_kind { PUT, GET, ACCUMULATE, GET_ACCUMULATE, COMPARE, LOCK, UNLOCK };

/* In front of every message to a target. */
struct window_header {
    uint16_t window; /* its communicator's context */
    uint8_t kind;
    bool is_exclusive; /* of a lock */
    uint32_t bytes;    /* of data, or wanted */
    uint64_t place;    /* in the window, in bytes */
    uint64_t origin;   /* address there that the data go to */
    uint64_t op;       /* handles of an operation and a basic type */
    uint64_t datatype;
};

/* Sends a message to a rank of a window's communicator, which will be answered. */
void send_to_window(struct window *window, int rank, struct window_header header, const void *data,
                    size_t bytes);

/* Waits until nothing is pending at a rank, or at any. */
void flush_window(struct window *window, int rank, const char *function);
void flush_whole_window(struct window *window, const char *function);

/* Waits, with words for a run that hangs. */
void window_waits(struct window *window, int rank, const char *function);
void window_waited(void);

/* Makes windows known, and begins; called when one is made. */
void window_register(struct window *window);
void window_unregister(struct window *window);

/* Gives a lock to those that wait, as far as can be. */
void grant_locks(struct window *window);

#endif
