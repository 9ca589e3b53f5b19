/* Bandwidth and message rate of MPI: senders send to rank 0, a window of messages at a
 * time, whose receives are posted before.
 *
 *     mpi-bandwidth [BYTES [WINDOW [COUNT [WARM-UP [SENDERS [TAGS]]]]]]
 *                        by default 8 bytes, 64 messages of each sender in a window, 20 windows,
 *                        5 to warm up, all other ranks send, 1 tag
 */
#include <mpi.h>

#include "../arguments.h"
#include "../pattern.h"

enum { READY_TAG = 1000, GO_TAG = 1001 };

static int bytes, window, tags; /* per message; messages; tags that they take in turn */
static int rank, senders;       /* ranks 1 to `senders` */
static char *payloads;          /* those of the window, of each sender in turn at the receiver */
static MPI_Request *requests;

static char *payload(int message) {
    return payloads + (size_t)message * (size_t)bytes;
}

/* A number of its own for each message of a run. */
static uint64_t key(long round, int sender, int message) {
    return ((uint64_t)round * (uint64_t)(senders + 1) + (uint64_t)sender) * (uint64_t)window +
           (uint64_t)message;
}

static void signal_rank(int to, int tag) {
    MPI_Send(NULL, 0, MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

static void await_signal(int from, int tag) {
    MPI_Recv(NULL, 0, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The time from the first sender's leave until the last message is there. */
static uint64_t receive_window_ns(void) {
    MPI_Request *next = requests;
    for (int sender = 1; sender <= senders; sender++)
        await_signal(sender, READY_TAG);
    for (int message = 0; message < window; message++)
        for (int sender = 1; sender <= senders; sender++)
            MPI_Irecv(payload((sender - 1) * window + message), bytes, MPI_CHAR, sender,
                      message % tags, MPI_COMM_WORLD, next++);
    uint64_t start_ns = narthex_time_ns();
    for (int sender = 1; sender <= senders; sender++)
        signal_rank(sender, GO_TAG);
    MPI_Waitall(senders * window, requests, MPI_STATUSES_IGNORE);
    return narthex_time_ns() - start_ns;
}

static void make_window(size_t messages) {
    payloads = calloc(messages, (size_t)bytes);
    requests = calloc(messages, sizeof *requests);
    narthex_check(payloads && requests, "rank %d has no memory for %zu messages of %d bytes", rank,
                  messages, bytes);
}

static void receive_all(long rounds, long warm_up) {
    make_window((size_t)senders * (size_t)window);
    double sum_ns = 0;
    for (long round = 0; round < rounds; round++) {
        if (round == warm_up)
            narthex_region_begin("windows");
        uint64_t window_ns = receive_window_ns();
        if (round >= warm_up)
            sum_ns += (double)window_ns;
        for (int sender = 1; sender <= senders; sender++)
            for (int message = 0; message < window; message++)
                pattern_check(payload((sender - 1) * window + message), (size_t)bytes,
                              key(round, sender, message));
    }
    narthex_region_end("windows");
    double messages = (double)(rounds - warm_up) * (double)window * (double)senders;
    narthex_report("MPI bandwidth", messages * bytes * 1e3 / sum_ns, "MB/s");
    narthex_report("MPI message rate", messages * 1e3 / sum_ns, "messages/us");
}

static void send_all(long rounds) {
    make_window((size_t)window);
    for (long round = 0; round < rounds; round++) {
        for (int message = 0; message < window; message++)
            pattern_fill(payload(message), (size_t)bytes, key(round, rank, message));
        signal_rank(0, READY_TAG);
        await_signal(0, GO_TAG);
        for (int message = 0; message < window; message++)
            MPI_Isend(payload(message), bytes, MPI_CHAR, 0, message % tags, MPI_COMM_WORLD,
                      &requests[message]);
        MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int count, char **values) {
    bytes = (int)argument(count, values, 1, "bytes", 1, 1 << 20, 8);
    window = (int)argument(count, values, 2, "window", 1, 1024, 64);
    long measured = argument(count, values, 3, "count", 1, 1000000, 20);
    long warm_up = argument(count, values, 4, "warm-up", 0, 1000000, 5);
    MPI_Init(&count, &values);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    narthex_check(size > 1, "mpi-bandwidth needs two ranks; this machine has one");
    senders = (int)argument(count, values, 5, "senders", 1, size - 1, size - 1);
    tags = (int)argument(count, values, 6, "tags", 1, READY_TAG, 1);
    if (rank == 0)
        receive_all(warm_up + measured, warm_up);
    else if (rank <= senders)
        send_all(warm_up + measured);
    MPI_Finalize();
    return 0;
}
