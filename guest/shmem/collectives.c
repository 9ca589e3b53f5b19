/* Collectives of teams and active sets. Data go straight into the members' `dest`, by puts; then
 * each receiver is told that they are there (requests.h). */
#include <string.h>

#include "shmem/library.h"
#include "shmem/requests.h"

/* Begins a call: members count them. NULL for SHMEM_TEAM_INVALID. */
static struct shmem_team *begin(const char *function, shmem_team_t team) {
    struct shmem_team *valid = shmem_valid_team(function, team);
    if (valid)
        valid->sequence += 1;
    return valid;
}

static int other(const struct shmem_team *team, int distance) {
    int member = team->rank + distance;
    return member >= team->size ? member - team->size : member;
}

static void tell_all(const char *function, const struct shmem_team *team, unsigned round,
                     const void *data, size_t bytes) {
    for (int distance = 1; distance < team->size; distance++)
        shmem_tell(function, team, other(team, distance), round, data, bytes);
}

/* Hears what all members have to state alike, and that it is what this one states. */
static void hear_same(const char *function, const struct shmem_team *team, int member,
                      unsigned round, uint64_t number, const char *what) {
    uint64_t theirs;
    shmem_hear(function, team, member, round, &theirs, sizeof theirs);
    if (theirs != number)
        shmem_refuse(function, "with %llu %s, and PE %d with %llu: all PEs state the same",
                     (unsigned long long)number, what, shmem_world_pe(team, member),
                     (unsigned long long)theirs);
}

/* The end of an exchange: the data of each member, as much as of all others, are at all others. */
static void meet_all(const char *function, const struct shmem_team *team, unsigned round,
                     uint64_t bytes) {
    tell_all(function, team, round, &bytes, sizeof bytes);
    for (int distance = 1; distance < team->size; distance++)
        hear_same(function, team, other(team, distance), round, bytes, "bytes");
}

/* Barriers */

/* Dissemination: in round r a member tells the one 2^r further (as messaging/barrier.c). In the
 * first it tells its number, too, if there is one. */
static void synchronise(const char *function, const struct shmem_team *team, const uint64_t *number,
                        const char *what) {
    size_t bytes = number ? sizeof *number : 0;
    unsigned round = 0;
    for (int distance = 1; distance < team->size; distance *= 2, round++, bytes = 0) {
        int back = other(team, team->size - distance);
        shmem_tell(function, team, other(team, distance), round, number, bytes);
        if (bytes > 0)
            hear_same(function, team, back, round, *number, what);
        else
            shmem_hear(function, team, back, round, NULL, 0);
    }
}

void shmem_meet(const char *function, struct shmem_team *team, uint64_t number, const char *what) {
    synchronise(function, begin(function, team), &number, what);
}

void shmem_sync_all(void) {
    synchronise(__func__, begin(__func__, SHMEM_TEAM_WORLD), NULL, NULL);
}

void shmem_barrier_all(void) {
    shmem_check_running(__func__);
    shmem_requests_quiet();
    synchronise(__func__, begin(__func__, SHMEM_TEAM_WORLD), NULL, NULL);
}

int shmem_team_sync(shmem_team_t team) {
    const struct shmem_team *members = begin(__func__, team);
    if (!members)
        return -1;
    synchronise(__func__, members, NULL, NULL);
    return 0;
}

void(shmem_sync)(int PE_start, int logPE_stride, int PE_size, long *pSync) {
    (void)pSync;
    struct shmem_team *set = shmem_active_set(__func__, PE_start, logPE_stride, PE_size);
    synchronise(__func__, begin(__func__, set), NULL, NULL);
}

void shmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync) {
    (void)pSync;
    struct shmem_team *set = shmem_active_set(__func__, PE_start, logPE_stride, PE_size);
    shmem_requests_quiet();
    synchronise(__func__, begin(__func__, set), NULL, NULL);
}

/* Data */

static void check_dest(const char *function, const void *dest, size_t bytes) {
    if (bytes > 0)
        shmem_place(function, dest, bytes);
}

static void put_to(const char *function, const struct shmem_team *team, int member, void *dest,
                   const void *source, size_t bytes) {
    shmem_put_block(function, dest, source, bytes, shmem_world_pe(team, member));
}

/* Down a binomial tree (messaging/collectives.c): a member hands on what has come to its `dest`. */
static int broadcast(const char *function, shmem_team_t given, void *dest, const void *source,
                     size_t bytes, int root) {
    const struct shmem_team *team = begin(function, given);
    if (!team)
        return -1;
    if (root < 0 || root >= team->size)
        shmem_refuse_pe(function, team, root);
    check_dest(function, dest, bytes);
    int size = team->size, place = (team->rank - root + size) % size, distance = 1;
    const void *data = place == 0 ? source : dest;
    while (distance < size && !(place & distance))
        distance *= 2;
    if (place > 0)
        hear_same(function, team, (place - distance + root) % size, 0, bytes, "bytes");
    while ((distance /= 2) > 0) {
        if (place + distance >= size)
            continue;
        int child = (place + distance + root) % size;
        put_to(function, team, child, dest, data, bytes);
        shmem_tell(function, team, child, 0, &(uint64_t){bytes}, sizeof(uint64_t));
    }
    return 0;
}

/* A team's: the root's `dest` gets them, too. */
static int team_broadcast(const char *function, shmem_team_t team, void *dest, const void *source,
                          size_t bytes, int root) {
    int result = broadcast(function, team, dest, source, bytes, root);
    if (result == 0 && team->rank == root && bytes > 0)
        memmove(dest, source, bytes);
    return result;
}

/* What each member has goes to all, at its offset. */
static void put_to_all(const char *function, const struct shmem_team *team, char *to,
                       const void *source, size_t bytes) {
    for (int distance = 0; distance < team->size; distance++)
        put_to(function, team, other(team, distance), to, source, bytes);
}

static int fcollect(const char *function, shmem_team_t given, void *dest, const void *source,
                    size_t bytes) {
    const struct shmem_team *team = begin(function, given);
    if (!team)
        return -1;
    check_dest(function, dest, shmem_bytes((size_t)team->size, bytes));
    put_to_all(function, team, (char *)dest + (size_t)team->rank * bytes, source, bytes);
    meet_all(function, team, 0, bytes);
    return 0;
}

/* First all tell how much they have. */
static int collect(const char *function, shmem_team_t given, void *dest, const void *source,
                   size_t bytes) {
    const struct shmem_team *team = begin(function, given);
    if (!team)
        return -1;
    size_t offset = 0, all = bytes;
    tell_all(function, team, 0, &bytes, sizeof bytes);
    for (int distance = 1; distance < team->size; distance++) {
        int member = other(team, distance);
        size_t theirs;
        shmem_hear(function, team, member, 0, &theirs, sizeof theirs);
        all += theirs;
        offset += member < team->rank ? theirs : 0;
    }
    check_dest(function, dest, all);
    put_to_all(function, team, (char *)dest + offset, source, bytes);
    meet_all(function, team, 1, all);
    return 0;
}

/* Elements of `width` bytes, `count` for each member, with strides between them. */
static int alltoalls(const char *function, shmem_team_t given, char *dest, const char *source,
                     ptrdiff_t dst, ptrdiff_t sst, size_t width, size_t count) {
    const struct shmem_team *team = begin(function, given);
    if (!team)
        return -1;
    char *to = dest + (size_t)team->rank * count * (size_t)dst * width;
    for (int distance = 0; distance < team->size; distance++) {
        int member = other(team, distance);
        const char *from = source + (size_t)member * count * (size_t)sst * width;
        shmem_put_strided(function, to, from, dst, sst, width, count, shmem_world_pe(team, member));
    }
    meet_all(function, team, 0, shmem_bytes(count, width));
    return 0;
}

static int alltoall(const char *function, shmem_team_t given, char *dest, const char *source,
                    size_t bytes) {
    const struct shmem_team *team = begin(function, given);
    if (!team)
        return -1;
    check_dest(function, dest, shmem_bytes((size_t)team->size, bytes));
    for (int distance = 0; distance < team->size; distance++) {
        int member = other(team, distance);
        put_to(function, team, member, dest + (size_t)team->rank * bytes,
               source + (size_t)member * bytes, bytes);
    }
    meet_all(function, team, 0, bytes);
    return 0;
}

/* The functions */

#define OF_TEAM(BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, T, WIDTH)                       \
    int shmem_##BROADCAST(shmem_team_t team, T *dest, const T *source, size_t nelems,              \
                          int PE_root) {                                                           \
        return team_broadcast(__func__, team, dest, source, shmem_bytes(nelems, WIDTH), PE_root);  \
    }                                                                                              \
    int shmem_##COLLECT(shmem_team_t team, T *dest, const T *source, size_t nelems) {              \
        return collect(__func__, team, dest, source, shmem_bytes(nelems, WIDTH));                  \
    }                                                                                              \
    int shmem_##FCOLLECT(shmem_team_t team, T *dest, const T *source, size_t nelems) {             \
        return fcollect(__func__, team, dest, source, shmem_bytes(nelems, WIDTH));                 \
    }                                                                                              \
    int shmem_##ALLTOALL(shmem_team_t team, T *dest, const T *source, size_t nelems) {             \
        return alltoall(__func__, team, (char *)dest, (const char *)source,                        \
                        shmem_bytes(nelems, WIDTH));                                               \
    }                                                                                              \
    int shmem_##ALLTOALLS(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst,              \
                          ptrdiff_t sst, size_t nelems) {                                          \
        return alltoalls(__func__, team, (char *)dest, (const char *)source, dst, sst, WIDTH,      \
                         nelems);                                                                  \
    }

#define TYPED(FAMILY, T, NAME, ...)                                                                \
    OF_TEAM(NAME##_broadcast, NAME##_collect, NAME##_fcollect, NAME##_alltoall, NAME##_alltoalls,  \
            T, sizeof(T))

SHMEM_TYPES(TYPED, )
OF_TEAM(broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem, void, 1)

#define SET_PARAMETERS int PE_start, int logPE_stride, int PE_size, long *pSync
#define SET ((void)pSync, shmem_active_set(__func__, PE_start, logPE_stride, PE_size))

#define OF_ACTIVE_SET(BITS, WIDTH)                                                                 \
    void shmem_broadcast##BITS(void *dest, const void *source, size_t nelems, int PE_root,         \
                               SET_PARAMETERS) {                                                   \
        broadcast(__func__, SET, dest, source, shmem_bytes(nelems, WIDTH), PE_root);               \
    }                                                                                              \
    void shmem_collect##BITS(void *dest, const void *source, size_t nelems, SET_PARAMETERS) {      \
        collect(__func__, SET, dest, source, shmem_bytes(nelems, WIDTH));                          \
    }                                                                                              \
    void shmem_fcollect##BITS(void *dest, const void *source, size_t nelems, SET_PARAMETERS) {     \
        fcollect(__func__, SET, dest, source, shmem_bytes(nelems, WIDTH));                         \
    }                                                                                              \
    void shmem_alltoall##BITS(void *dest, const void *source, size_t nelems, SET_PARAMETERS) {     \
        alltoall(__func__, SET, dest, source, shmem_bytes(nelems, WIDTH));                         \
    }                                                                                              \
    void shmem_alltoalls##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,       \
                               size_t nelems, SET_PARAMETERS) {                                    \
        alltoalls(__func__, SET, dest, source, dst, sst, WIDTH, nelems);                           \
    }

OF_ACTIVE_SET(32, 4)
OF_ACTIVE_SET(64, 8)
