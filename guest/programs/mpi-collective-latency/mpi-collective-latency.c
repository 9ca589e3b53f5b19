/* Time of MPI's collectives, from a moment at which all ranks call until the last one returns.
 *
 *     mpi-collective-latency [COLLECTIVE [BYTES [RANKS [COUNT [WARM-UP]]]]]
 *                        by default barrier, 8 bytes, all ranks, 20 calls, 50 to warm up
 *
 * COLLECTIVE is barrier, bcast, allreduce or alltoall. */
#include <mpi.h>

#include "../arguments.h"
#include "../pattern.h"

/* The common start is this long after the latest rank's clock, and up to a pause more. It is put
 * off further where a rank has learned of it too late. */
static uint64_t slack_ns = 100000;
enum { LARGEST_PAUSE_NS = 255, LONGEST_SLACK_NS = 100000000 };

static MPI_Comm comm;
static int rank, size;
static size_t bytes; /* of the message; of a block of all-to-all */
static char *out, *in;

static void fill_nothing(long round) {
    (void)round;
}

static void call_barrier(void) {
    MPI_Barrier(comm);
}

static void fill_bcast(long round) {
    if (rank == 0)
        pattern_fill(in, bytes, (uint64_t)round);
}

static void call_bcast(void) {
    MPI_Bcast(in, (int)bytes, MPI_CHAR, 0, comm);
}

static void check_bcast(long round) {
    pattern_check(in, bytes, (uint64_t)round);
}

/* Small whole numbers, whose sum is the same in any order. */
static double addend(long round, size_t index, int of) {
    return (double)((unsigned long)round * 7 + index % 1000 + (unsigned long)of * 3);
}

static void fill_allreduce(long round) {
    for (size_t index = 0; index < bytes / sizeof(double); index++)
        ((double *)out)[index] = addend(round, index, rank);
}

static void call_allreduce(void) {
    MPI_Allreduce(out, in, (int)(bytes / sizeof(double)), MPI_DOUBLE, MPI_SUM, comm);
}

static void check_allreduce(long round) {
    for (size_t index = 0; index < bytes / sizeof(double); index++) {
        double sum = 0;
        for (int of = 0; of < size; of++)
            sum += addend(round, index, of);
        narthex_check(((double *)in)[index] == sum, "rank %d: sum %zu is %g instead of %g", rank,
                      index, ((double *)in)[index], sum);
    }
}

static uint64_t block_key(long round, int from, int to) {
    return ((uint64_t)round * (uint64_t)size + (uint64_t)from) * (uint64_t)size + (uint64_t)to;
}

static void fill_alltoall(long round) {
    for (int to = 0; to < size; to++)
        pattern_fill(out + (size_t)to * bytes, bytes, block_key(round, rank, to));
}

static void call_alltoall(void) {
    MPI_Alltoall(out, (int)bytes, MPI_CHAR, in, (int)bytes, MPI_CHAR, comm);
}

static void check_alltoall(long round) {
    for (int from = 0; from < size; from++)
        pattern_check(in + (size_t)from * bytes, bytes, block_key(round, from, rank));
}

static const struct collective {
    const char *name;
    void (*fill)(long round);
    void (*call)(void);
    void (*check)(long round);
} collectives[] = {
    {"barrier", fill_nothing, call_barrier, fill_nothing},
    {"bcast", fill_bcast, call_bcast, check_bcast},
    {"allreduce", fill_allreduce, call_allreduce, check_allreduce},
    {"alltoall", fill_alltoall, call_alltoall, check_alltoall},
};

static const struct collective *collective_called(const char *name) {
    for (size_t index = 0; index < sizeof collectives / sizeof *collectives; index++)
        if (strcmp(collectives[index].name, name) == 0)
            return &collectives[index];
    narthex_fail(
        "mpi-collective-latency: argument 1 (collective) is \"%s\"; allowed are barrier, bcast, "
        "allreduce, alltoall",
        name);
}

/* The latest of all ranks' times. */
static uint64_t latest(uint64_t time_ns) {
    uint64_t last_ns;
    MPI_Allreduce(&time_ns, &last_ns, 1, MPI_UINT64_T, MPI_MAX, comm);
    return last_ns;
}

/* One call, from the common start to the last return; TOO_LATE if a rank came after the start. */
#define TOO_LATE UINT64_MAX
static uint64_t try_ns(const struct collective *collective, uint64_t pause_ns) {
    uint64_t start_ns = latest(narthex_time_ns()) + slack_ns + pause_ns;
    int is_late = narthex_time_ns() >= start_ns;
    while (narthex_time_ns() < start_ns)
        ;
    collective->call();
    uint64_t end_ns = latest(is_late ? TOO_LATE : narthex_time_ns());
    return end_ns == TOO_LATE ? TOO_LATE : end_ns - start_ns;
}

static uint64_t call_ns(const struct collective *collective, uint64_t pause_ns) {
    uint64_t taken_ns;
    while ((taken_ns = try_ns(collective, pause_ns)) == TOO_LATE) {
        slack_ns *= 2;
        narthex_check(slack_ns <= LONGEST_SLACK_NS,
                      "rank %d: ranks still come too late for a common start after %llu ns", rank,
                      (unsigned long long)slack_ns / 2);
    }
    return taken_ns;
}

static void measure(const struct collective *collective, long rounds, long warm_up) {
    uint64_t random = random_start(narthex_seed(), 0);
    double sum_ns = 0;
    for (long round = 0; round < rounds; round++) {
        collective->fill(round);
        uint64_t taken_ns = call_ns(collective, random_next(&random) % (LARGEST_PAUSE_NS + 1));
        if (round >= warm_up)
            sum_ns += (double)taken_ns;
        collective->check(round);
    }
    if (rank == 0)
        narthex_report("MPI collective", sum_ns / (double)(rounds - warm_up), "ns");
}

int main(int count, char **values) {
    const struct collective *collective = collective_called(count > 1 ? values[1] : "barrier");
    bytes = (size_t)argument(count, values, 2, "bytes", 1, 1 << 20, 8);
    narthex_check(
        collective->call != call_allreduce || bytes % sizeof(double) == 0,
        "mpi-collective-latency: argument 2 (bytes) is %zu; allreduce adds up numbers of 8 bytes",
        bytes);
    MPI_Init(&count, &values);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int ranks = (int)argument(count, values, 3, "ranks", 1, size, size);
    long measured = argument(count, values, 4, "count", 1, 1000000, 20);
    long warm_up = argument(count, values, 5, "warm-up", 0, 1000000, 50);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm != MPI_COMM_NULL) {
        size = ranks;
        out = calloc((size_t)size, bytes);
        in = calloc((size_t)size, bytes);
        narthex_check(out && in, "rank %d has no memory for %d blocks of %zu bytes", rank, size,
                      bytes);
        measure(collective, warm_up + measured, warm_up);
        free(out);
        free(in);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
