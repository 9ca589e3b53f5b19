/* Sorts integers that are spread over all PEs, by buckets (the pattern of ISx): each PE sends every
 * other one the keys of its range, to places that it reserves there by an atomic.
 *
 *     shmem-sort [KEYS [TIMES]]    KEYS of 32 bits on all PEs together (4096), sorted TIMES (1)
 *
 * See README.md. */
#include <stdlib.h>

#include "../shmem_work.h"

enum { BATCH = 32 }; /* keys that leave together */

static size_t keys;       /* of all PEs */
static uint32_t *bucket;  /* symmetric: the keys of the own range */
static uint64_t received; /* of them so far */
static int me, pes;

/* Keys sent and waiting to be sent to a PE. */
struct batch {
    uint32_t keys[BATCH];
    size_t count;
};

static uint32_t key_at(uint64_t seed, size_t index) {
    return (uint32_t)(pattern_word(seed, index) >> 20);
}

/* Ranges are as even as the keys are. */
static int pe_of(uint32_t key) {
    return (int)((uint64_t)key * (uint64_t)pes >> 32);
}

/* The first key's index of a PE. */
static size_t first_of(int pe) {
    return keys * (size_t)pe / (size_t)pes;
}

static size_t room(void) {
    return keys / (size_t)pes * 2 + 64 < keys ? keys / (size_t)pes * 2 + 64 : keys;
}

static void send(struct batch *batch, int pe) {
    if (batch->count == 0)
        return;
    size_t place = shmem_uint64_atomic_fetch_add(&received, batch->count, pe);
    narthex_check(place + batch->count <= room(), "PE %d gets more than %zu keys", pe, room());
    shmem_uint32_put_nbi(bucket + place, batch->keys, batch->count, pe);
    batch->count = 0;
}

static void distribute(uint64_t seed, struct batch *batches) {
    for (size_t index = first_of(me); index < first_of(me + 1); index++) {
        uint32_t key = key_at(seed, index);
        int pe = pe_of(key);
        batches[pe].keys[batches[pe].count++] = key;
        if (batches[pe].count == BATCH)
            send(&batches[pe], pe);
    }
    for (int distance = 1; distance <= pes; distance++)
        send(&batches[(me + distance) % pes], (me + distance) % pes);
    shmem_barrier_all();
}

/* By bytes from the lowest on, each time without changing the order of equal ones. */
static void sort(uint32_t *from, size_t count) {
    uint32_t *to = malloc(count * sizeof *to + 1), *scratch = to;
    narthex_check(to, "PE %d has no memory to sort %zu keys", me, count);
    for (int shift = 0; shift < 32; shift += 8) {
        size_t places[257] = {0};
        for (size_t index = 0; index < count; index++)
            places[(from[index] >> shift & 255) + 1] += 1;
        for (int digit = 0; digit < 256; digit++)
            places[digit + 1] += places[digit];
        for (size_t index = 0; index < count; index++)
            to[places[from[index] >> shift & 255]++] = from[index];
        uint32_t *sorted = to;
        to = from;
        from = sorted;
    }
    free(scratch);
}

/* Every key is in its PE's range, behind smaller ones; and their number and sum are those of the
 * keys as they were made. Returns a checksum of each key and its place among all. */
static uint64_t check(uint64_t seed) {
    static uint64_t counts[1024];
    uint64_t count = received, made = 0, sum = 0, checksum = 0, place = 0;
    shmem_uint64_fcollect(SHMEM_TEAM_WORLD, counts, &count, 1);
    for (int pe = 0; pe < me; pe++)
        place += counts[pe];
    for (size_t index = first_of(me); index < first_of(me + 1); index++)
        made += key_at(seed, index);
    for (size_t index = 0; index < count; index++) {
        narthex_check(pe_of(bucket[index]) == me &&
                          (index == 0 || bucket[index - 1] <= bucket[index]),
                      "PE %d: key %zu, %u, is at a wrong place", me, index, bucket[index]);
        sum += bucket[index];
        checksum += pattern_word(bucket[index], place + index);
    }
    narthex_check(sum_of_all(count) == keys, "some keys are lost");
    narthex_check(sum_of_all(sum) == sum_of_all(made), "some keys are others than were made");
    return sum_of_all(checksum);
}

int main(int count, char **values) {
    keys = (size_t)argument(count, values, 1, "keys", 1, 100000000, 4096);
    long times = argument(count, values, 2, "times", 1, 1000, 1);
    uint64_t checksum = 0;
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    narthex_check(pes <= 1024, "%d PEs: %s is for up to 1024", pes, values[0]);
    bucket = shmem_malloc(room() * sizeof *bucket);
    struct batch *batches = calloc((size_t)pes, sizeof *batches);
    narthex_check(bucket && batches, "PE %d has no memory for %zu keys", me, room());
    shmem_measure_begin();
    for (long time = 0; time < times; time++) {
        received = 0;
        shmem_barrier_all();
        distribute((uint64_t)time + 1, batches);
        sort(bucket, received);
        checksum += check((uint64_t)time + 1);
    }
    shmem_measure_end();
    if (me == 0)
        narthex_report("checksum", as_report(checksum), "");
    shmem_finalize();
    return 0;
}
