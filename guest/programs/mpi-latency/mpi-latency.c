/* Latency of MPI between two ranks. Rank 0 sends a message, rank 1 sends one of as many bytes back,
 * in rounds that are those of roundtrip, which sends the same without MPI.
 *
 *     mpi-latency [BYTES [COUNT [WARM-UP]]]
 *                        by default 8 bytes, 200 rounds, 150 to warm up
 */
#include <mpi.h>

#include "../arguments.h"
#include "../pattern.h"

enum { TAG = 1, LARGEST_PAUSE_CYCLES = 1023 };

/* One round of rank 0, in nanoseconds. */
static double round_trip_ns(char *buffer, int bytes) {
    uint64_t start_ns = narthex_time_ns();
    MPI_Send(buffer, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (double)(narthex_time_ns() - start_ns);
}

static void measure(char *buffer, int bytes, long rounds, long warm_up) {
    uint64_t random = random_start(narthex_seed(), 0);
    double sum_ns = 0;
    for (long round = 0; round < rounds; round++) {
        pattern_fill(buffer, (size_t)bytes, (uint64_t)round);
        narthex_pause(random_next(&random) % (LARGEST_PAUSE_CYCLES + 1));
        if (round == warm_up)
            narthex_region_begin("round trips");
        double latency_ns = round_trip_ns(buffer, bytes);
        if (round >= warm_up)
            sum_ns += latency_ns;
        pattern_check(buffer, (size_t)bytes, (uint64_t)round);
    }
    narthex_region_end("round trips");
    narthex_report("MPI round-trip latency", sum_ns / (double)(rounds - warm_up), "ns");
}

static void answer(char *buffer, int bytes, long rounds) {
    for (long round = 0; round < rounds; round++) {
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD);
    }
}

int main(int count, char **values) {
    int rank, size;
    long bytes = argument(count, values, 1, "bytes", 1, 1 << 26, 8);
    long measured = argument(count, values, 2, "count", 1, 1000000000, 200);
    long warm_up = argument(count, values, 3, "warm-up", 0, 1000000000, 150);
    MPI_Init(&count, &values);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    narthex_check(size > 1, "mpi-latency needs two ranks; this machine has one");
    char *buffer = malloc((size_t)bytes + 8);
    narthex_check(buffer, "rank %d has no memory for %ld bytes", rank, bytes);
    if (rank == 0)
        measure(buffer, (int)bytes, warm_up + measured, warm_up);
    else if (rank == 1)
        answer(buffer, (int)bytes, warm_up + measured);
    MPI_Finalize();
    free(buffer);
    return 0;
}
