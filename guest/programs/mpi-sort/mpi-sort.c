/* A bucket sort of integers in MPI. Every rank makes keys, all ranks exchange them so that each has
 * those of one range, and each sorts its own by counting.
 *
 *     mpi-sort [KEYS]
 *                        by default 2000 keys a rank
 *
 * At the end each rank compares with its neighbour, and all compare numbers and sums of keys with
 * those at the start. Compiles with any mpi.h. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST_KEY = 1 << 14 };

static int rank, ranks;

static void fail(const char *what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *allocate(int count) {
    void *memory = malloc((size_t)(count > 0 ? count : 1) * sizeof(int));
    if (!memory)
        fail("no memory left");
    return memory;
}

static int bucket_of(int key) {
    return (int)((int64_t)key * ranks / LARGEST_KEY);
}

static void make_keys(int *keys, int count) {
    uint32_t state = 12345u + 977u * (uint32_t)rank;
    for (int index = 0; index < count; index++) {
        state = state * 1664525u + 1013904223u;
        keys[index] = (int)(state >> 8) % LARGEST_KEY;
    }
}

/* Where each bucket begins; returns all keys. */
static int sum_before(const int counts[], int places[]) {
    int sum = 0;
    for (int other = 0; other < ranks; other++) {
        places[other] = sum;
        sum += counts[other];
    }
    return sum;
}

/* Exchanges the keys; returns those of this rank's range, and how many. */
static int *exchange(const int *keys, int count, int *received_count) {
    int *sent = calloc((size_t)ranks, sizeof(int)), *received = allocate(ranks);
    int *from = allocate(ranks), *to = allocate(ranks), *next = allocate(ranks);
    int *ordered = allocate(count);
    for (int index = 0; index < count; index++)
        sent[bucket_of(keys[index])] += 1;
    sum_before(sent, from);
    sum_before(sent, next);
    for (int index = 0; index < count; index++)
        ordered[next[bucket_of(keys[index])]++] = keys[index];
    MPI_Alltoall(sent, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
    *received_count = sum_before(received, to);
    int *own = allocate(*received_count);
    MPI_Alltoallv(ordered, sent, from, MPI_INT, own, received, to, MPI_INT, MPI_COMM_WORLD);
    free(sent);
    free(received);
    free(from);
    free(to);
    free(next);
    free(ordered);
    return own;
}

static void sort(int *keys, int count) {
    int *counts = calloc(LARGEST_KEY, sizeof(int)), place = 0;
    for (int index = 0; index < count; index++)
        counts[keys[index]] += 1;
    for (int key = 0; key < LARGEST_KEY; key++)
        for (int left = counts[key]; left > 0; left--)
            keys[place++] = key;
    free(counts);
}

static int64_t sum_of(const int *keys, int count) {
    int64_t sum = 0;
    for (int index = 0; index < count; index++)
        sum += keys[index];
    return sum;
}

/* The largest key of the ranks before must not be above the smallest of this one. */
static void check_order(const int *keys, int count) {
    int largest = count > 0 ? keys[count - 1] : -1, before = -1;
    MPI_Exscan(&largest, &before, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int index = 1; index < count; index++)
        if (keys[index - 1] > keys[index])
            fail("the keys are not in order");
    if (rank > 0 && count > 0 && before > keys[0])
        fail("a rank before has a larger key");
}

int main(int count, char **values) {
    MPI_Init(&count, &values);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int made = count > 1 ? atoi(values[1]) : 2000, owned;
    int *keys = allocate(made);
    make_keys(keys, made);
    int *own = exchange(keys, made, &owned);
    sort(own, owned);
    check_order(own, owned);
    int64_t numbers[4] = {made, sum_of(keys, made), owned, sum_of(own, owned)}, all[4];
    MPI_Reduce(numbers, all, 4, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        if (all[0] != all[2] || all[1] != all[3])
            fail("keys were lost");
        printf("%lld keys in order, sum %lld\n", (long long)all[2], (long long)all[3]);
    }
    free(keys);
    free(own);
    MPI_Finalize();
    return 0;
}
