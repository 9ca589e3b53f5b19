/* How long a receive takes at which another message has come first and has to wait. */
#include <mpi.h>
#include <narthex.h>

/* Rank 1 receives the second of two messages first, so that the first has to wait. */
static double receive_second_ns(void) {
    int first, second;
    MPI_Barrier(MPI_COMM_WORLD);
    narthex_pause(30000);
    uint64_t start_ns = narthex_time_ns();
    MPI_Recv(&second, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    uint64_t end_ns = narthex_time_ns();
    MPI_Recv(&first, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (double)(end_ns - start_ns);
}

int main(int argc, char **argv) {
    int rank, value = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 6; round++) {
        if (rank == 1) {
            narthex_report("receive", receive_second_ns(), "ns");
            continue;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    MPI_Finalize();
}
