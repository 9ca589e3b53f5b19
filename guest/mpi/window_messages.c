/* The target's side: handlers of what origins send, and of answers. */
#include <stdlib.h>
#include <string.h>

#include "messaging/messages.h"
#include "mpi/transport.h"
#include "mpi/windows.h"
#include "runtime/marker.h"

enum { WINDOWS = 2048 };

/* In front of an answer. */
struct answer {
    uint16_t window;
    bool is_grant; /* of a lock */
    uint64_t origin;
};

static struct window **windows; /* by context */
static char *scratch;           /* a message that is put together */

void window_unregister(struct window *window) {
    windows[window->comm->context / 2] = NULL;
}

/* Sends what stands behind a header of the messages' own. */
static void send_behind(int rank, int handler, const void *header, size_t header_bytes,
                        const void *data, size_t bytes) {
    copy_block(scratch, header, header_bytes);
    if (bytes > 0)
        copy_block(scratch + header_bytes, data, bytes);
    send_message(rank, handler, scratch, header_bytes + bytes);
}

void send_to_window(struct window *window, int rank, struct window_header header, const void *data,
                    size_t bytes) {
    header.window = window->comm->context;
    window->pending[rank] += 1;
    window->all_pending += 1;
    send_behind(world_rank(window->comm, rank), HANDLER_MPI_WINDOW, &header, sizeof header, data,
                bytes);
}

static void answer(int source, const struct window *window, uint64_t origin, const void *data,
                   size_t bytes) {
    struct answer message = {window->comm->context, false, origin};
    send_behind(source, HANDLER_MPI_ANSWER, &message, sizeof message, data, bytes);
}

/* Where a message's data are, or go, in the window. */
static char *place_in(const struct window *window, int source, const struct window_header *header) {
    bool is_inside =
        header->place <= window->bytes && header->bytes <= window->bytes - header->place;
    narthex_check(is_inside,
                  "rank %d reaches for %u bytes at byte %llu of the window of rank %d on %s, which "
                  "has %zu (MPI_ERR_RMA_RANGE)",
                  rank_of(window->comm, source), header->bytes, (unsigned long long)header->place,
                  window->comm->rank, window->comm->name, window->bytes);
    return window->base + header->place;
}

/* Combines data with those of the window. */
static void accumulate(char *place, const struct window_header *header, const void *data) {
    MPI_Op op = (MPI_Op)(uintptr_t)header->op;
    struct datatype *type = find_datatype((MPI_Datatype)(uintptr_t)header->datatype);
    if (op == MPI_REPLACE)
        copy_block(place, data, header->bytes);
    else if (op != MPI_NO_OP)
        operate(find_operation(op), data, place, header->bytes / (size_t)type->extent, type);
}

void grant_locks(struct window *window) {
    while (window->wishes) {
        struct lock_wish *wish = window->wishes;
        if (wish->is_exclusive ? window->sharers != 0 : window->sharers < 0)
            return;
        window->sharers = wish->is_exclusive ? -1 : window->sharers + 1;
        window->wishes = wish->next;
        if (!window->wishes)
            window->wishes_end = &window->wishes;
        struct answer message = {window->comm->context, true, 0};
        send_behind(wish->source, HANDLER_MPI_ANSWER, &message, sizeof message, NULL, 0);
        free(wish);
    }
}

static void wish_for_lock(struct window *window, int source, bool is_exclusive) {
    struct lock_wish *wish = mpi_allocate(sizeof *wish);
    *wish = (struct lock_wish){NULL, source, is_exclusive};
    *window->wishes_end = wish;
    window->wishes_end = &wish->next;
    grant_locks(window);
}

/* Takes the old values for the answer first; they may be data of a message of the longest. */
static void fetch(int source, const struct window *window, const struct window_header *header,
                  const void *data) {
    static char *old;
    char *place = place_in(window, source, header);
    if (!old)
        old = mpi_allocate(PIECE_BYTES);
    copy_block(old, place, header->bytes);
    const char *compared = (const char *)data + header->bytes;
    if (header->kind == GET_ACCUMULATE)
        accumulate(place, header, data);
    else if (header->kind == COMPARE && memcmp(place, compared, header->bytes) == 0)
        copy_block(place, data, header->bytes);
    answer(source, window, header->origin, old, header->bytes);
}

static void window_message_arrives(int source, const void *payload, size_t bytes) {
    (void)bytes;
    ENTER(ACTIVITY_RECEIVE);
    const struct window_header *header = payload;
    const void *data = header + 1;
    struct window *window = windows[header->window / 2];
    switch ((enum window_message_kind)header->kind) {
    case PUT:
        copy_block(place_in(window, source, header), data, header->bytes);
        answer(source, window, 0, NULL, 0);
        break;
    case ACCUMULATE:
        accumulate(place_in(window, source, header), header, data);
        answer(source, window, 0, NULL, 0);
        break;
    case GET:
        answer(source, window, header->origin, place_in(window, source, header), header->bytes);
        break;
    case GET_ACCUMULATE:
    case COMPARE:
        fetch(source, window, header, data);
        break;
    case LOCK:
        wish_for_lock(window, source, header->is_exclusive);
        break;
    case UNLOCK:
        window->sharers = window->sharers < 0 ? 0 : window->sharers - 1;
        answer(source, window, 0, NULL, 0);
        grant_locks(window);
        break;
    }
    LEAVE();
}

static void answer_arrives(int source, const void *payload, size_t bytes) {
    ENTER(ACTIVITY_RECEIVE);
    const struct answer *message = payload;
    struct window *window = windows[message->window / 2];
    if (message->origin != 0)
        copy_block((void *)(uintptr_t)message->origin, message + 1, bytes - sizeof *message);
    if (message->is_grant)
        window->is_granted = true;
    window->pending[rank_of(window->comm, source)] -= 1;
    window->all_pending -= 1;
    LEAVE();
}

void window_register(struct window *window) {
    if (!windows) {
        windows = mpi_allocate(WINDOWS * sizeof *windows);
        scratch = mpi_allocate(sizeof(struct window_header) + PIECE_BYTES);
        set_handler(HANDLER_MPI_WINDOW, window_message_arrives, "MPI's, of windows");
        set_handler(HANDLER_MPI_ANSWER, answer_arrives, "MPI's, of windows' answers");
    }
    windows[window->comm->context / 2] = window;
}

void window_waits(struct window *window, int rank, const char *function) {
    window->awaited = (struct request){.mark = REQUEST_MARK,
                                       .peer = world_rank(window->comm, rank),
                                       .context = window->comm->context + 1,
                                       .comm = window->comm,
                                       .is = {.kind = RECEIVE_REQUEST}};
    awaits(&window->awaited, function);
}

void window_waited(void) {
    awaits(NULL, NULL);
}

void flush_window(struct window *window, int rank, const char *function) {
    if (window->pending[rank] == 0)
        return;
    window_waits(window, rank, function);
    while (window->pending[rank] > 0)
        progress();
    window_waited();
}

void flush_whole_window(struct window *window, const char *function) {
    for (int rank = 0; rank < window->comm->size && window->all_pending > 0; rank++)
        flush_window(window, rank, function);
}
