/* The collectives of MPI: what every library must print. Values are such that sums are exact in
 * any order. */
#include <complex.h>

#include "mpi_test.h"

enum { MOST = 8192 };

static int out[MOST * 16], in[MOST * 16];

static void result(const char *what, int variant, size_t count) {
    say("%s %d: %u", what, variant, digest(in, count * sizeof(int)));
    memset(in, 0, sizeof in);
}

/* Composition of x -> a x + b modulo a prime: it does not commute. */
static void compose(void *first, void *second, int *count, MPI_Datatype *type) {
    const int *one = first;
    int *other = second;
    (void)type;
    for (int index = 0; index < *count; index++, one += 2, other += 2) {
        int factor = one[0] * other[0] % 9973, term = (one[1] * other[0] + other[1]) % 9973;
        other[0] = factor;
        other[1] = term;
    }
}

static void test_moving(int count) {
    int counts[64], places[64];
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        fill(in, count, rank);
        MPI_Bcast(in, count, MPI_INT, root, MPI_COMM_WORLD);
        result("bcast", root, count);
        fill(out, count * size, rank);
        MPI_Gather(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD);
        result("gather", root, count * size);
        MPI_Scatter(out, count, MPI_INT, in, count, MPI_INT, root, MPI_COMM_WORLD);
        result("scatter", root, count);
        memcpy(in, out, (size_t)(count * size) * sizeof(int));
        MPI_Gather(rank == root ? MPI_IN_PLACE : out, count, MPI_INT, in, count, MPI_INT, root,
                   MPI_COMM_WORLD);
        result("gather in place", root, rank == root ? count * size : 0);
        for (int other = 0; other < size; other++) {
            counts[other] = (other * 7 + count) % (count + 1);
            places[other] = other * count;
        }
        MPI_Gatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD);
        result("gatherv", root, count * size);
        MPI_Scatterv(out, counts, places, MPI_INT, in, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
        result("scatterv", root, count);
    }
    MPI_Allgather(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    result("allgather", count, count * size);
    memcpy(in + rank * count, out, (size_t)count * sizeof(int));
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    result("allgather in place", count, count * size);
    MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    result("allgatherv", count, count * size);
    MPI_Alltoall(out, count, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    result("alltoall", count, count * size);
    memcpy(in, out, (size_t)(count * size) * sizeof(int));
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, in, count, MPI_INT, MPI_COMM_WORLD);
    result("alltoall in place", count, count * size);
    int received[64];
    for (int other = 0; other < size; other++) {
        counts[other] = (rank + 2 * other) % (count + 1);
        received[other] = (other + 2 * rank) % (count + 1);
    }
    MPI_Alltoallv(out, counts, places, MPI_INT, in, received, places, MPI_INT, MPI_COMM_WORLD);
    result("alltoallv", count, count * size);
    MPI_Datatype types[64];
    int bytes[64];
    for (int other = 0; other < size; other++) {
        types[other] = (rank + other) % 2 ? MPI_INT : MPI_UNSIGNED;
        bytes[other] = places[other] * (int)sizeof(int);
    }
    MPI_Alltoallw(out, counts, bytes, types, in, received, bytes, types, MPI_COMM_WORLD);
    result("alltoallw", count, count * size);
}

static void test_reducing(int count) {
    int counts[64];
    MPI_Op composed;
    MPI_Datatype pair;
    MPI_Op_create(compose, 0, &composed);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    fill(out, count * size, rank + 1);
    MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR, MPI_LAND};
    for (int index = 0; index < 5; index++) {
        int root = index % size;
        MPI_Reduce(out, in, count, MPI_INT, ops[index], root, MPI_COMM_WORLD);
        result("reduce", index, rank == root ? count : 0);
        MPI_Allreduce(out, in, count, MPI_INT, ops[index], MPI_COMM_WORLD);
        result("allreduce", index, count);
    }
    memcpy(in, out, (size_t)count * sizeof(int));
    MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    result("allreduce in place", count, count);
    memcpy(in, out, (size_t)count * sizeof(int));
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : in, rank == 0 ? in : NULL, count, MPI_INT, MPI_SUM, 0,
               MPI_COMM_WORLD);
    result("reduce in place", count, rank == 0 ? count : 0);
    for (int index = 0; index < 2 * count; index++)
        out[index] = (rank * 31 + index * 7 + 3) % 9973;
    MPI_Reduce(out, in, count / 2, pair, composed, size - 1, MPI_COMM_WORLD);
    result("reduce in order", count, rank == size - 1 ? count / 2 * 2 : 0);
    MPI_Allreduce(out, in, count / 2, pair, composed, MPI_COMM_WORLD);
    result("allreduce in order", count, count / 2 * 2);
    MPI_Scan(out, in, count / 2, pair, composed, MPI_COMM_WORLD);
    result("scan in order", count, count / 2 * 2);
    MPI_Exscan(out, in, count / 2, pair, composed, MPI_COMM_WORLD);
    result("exscan in order", count, rank > 0 ? count / 2 * 2 : 0);
    MPI_Scan(out, in, count, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    result("scan", count, count);
    for (int other = 0; other < size; other++)
        counts[other] = other % 2 == 0 ? count / 2 : count / 3;
    MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    result("reduce_scatter", count, counts[rank]);
    MPI_Reduce_scatter_block(out, in, count / 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    result("reduce_scatter_block", count, count / 2);
    for (int other = 0; other < size; other++)
        counts[other] = (count / 4) & ~1;
    MPI_Type_free(&pair);
    MPI_Op_free(&composed);
}

/* Types of elements other than int. */
static void test_elements(void) {
    struct {
        double value;
        int index;
    } place = {rank % 3 == 1 ? 9.5 : rank, rank}, found;
    struct {
        int value, index;
    } pair = {-(rank / 2), rank}, least;
    double complex factor = 1 + (rank + 1) * I, product;
    float sum, quarter = rank / 4.0f;
    unsigned char bits = (unsigned char)(1 << rank % 8), all;
    long double large = rank, largest;
    long long many = 1LL << 40, total;
    MPI_Allreduce(&place, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    MPI_Allreduce(&pair, &least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Allreduce(&factor, &product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    MPI_Allreduce(&quarter, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&bits, &all, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    MPI_Allreduce(&large, &largest, 1, MPI_LONG_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&many, &total, 1, MPI_LONG_LONG_INT, MPI_SUM, MPI_COMM_WORLD);
    say("elements: %g at %d, %d at %d, %g %g, %g, %d, %g, %lld", found.value, found.index,
        least.value, least.index, creal(product), cimag(product), sum, all, (double)largest, total);
}

/* Several at once, on two communicators, in between messages. */
static void test_nonblocking(int count) {
    enum { MANY = 9 };
    MPI_Comm other;
    MPI_Request requests[MANY];
    int *parts[MANY];
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int index = 0; index < MANY; index++)
        parts[index] = calloc((size_t)(count * size), sizeof(int));
    fill(out, count * size, rank + 5);
    fill(parts[0], count, rank);
    MPI_Ibcast(parts[0], count, MPI_INT, size - 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(out, parts[1], count, MPI_INT, MPI_SUM, other, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    MPI_Ialltoall(out, count, MPI_INT, parts[3], count, MPI_INT, other, &requests[3]);
    MPI_Iallgather(out, count, MPI_INT, parts[4], count, MPI_INT, MPI_COMM_WORLD, &requests[4]);
    MPI_Ireduce(out, parts[5], count, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD, &requests[5]);
    MPI_Iscan(out, parts[6], count, MPI_INT, MPI_SUM, other, &requests[6]);
    MPI_Igather(out, count, MPI_INT, parts[7], count, MPI_INT, 0, other, &requests[7]);
    MPI_Iscatter(out, count, MPI_INT, parts[8], count, MPI_INT, 0, MPI_COMM_WORLD, &requests[8]);
    int token = rank, got;
    MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT,
                 (rank - 1 + size) % size, 5, other, MPI_STATUS_IGNORE);
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int index = 0; index < MANY; index++) {
        int is_roots = index == 5 || index == 7;
        size_t bytes = (size_t)(count * size) * sizeof(int);
        say("nonblocking %d: %u", index, digest(parts[index], is_roots && rank ? 0 : bytes));
        free(parts[index]);
    }
    say("between: %d", got);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int largest = argc > 1 ? atoi(argv[1]) : MOST;
    for (int count = 6; count <= largest; count = count * 30 + 12) {
        test_moving(count);
        test_reducing(count);
        test_nonblocking(count);
    }
    test_elements();
    MPI_Finalize();
}
