/* What the members of a team tell each other in a collective: each message names its team and the
 * call, so that one that comes early waits, and calls that do not match are found. */
#include "messaging/narthex.h"
#include "runtime/marker.h"
#include "shmem/protocol.h"
#include "shmem/remote_stores.h"

static struct kept *tells;

void shmem_tell_arrived(int source, const struct header *header, size_t bytes) {
    shmem_keep(&tells, source, header, bytes);
}

static uint64_t team_key(const struct shmem_team *team) {
    return (uint16_t)team->start | (uint64_t)(uint16_t)team->size << 16 |
           (uint64_t)(uint32_t)team->stride << 32;
}

void shmem_tell(const char *function, const struct shmem_team *team, int member, unsigned round,
                const void *data, size_t bytes) {
    int pe = shmem_world_pe(team, member);
    struct {
        struct tell tell;
        char data[SHMEM_TELL_BYTES];
    } message;
    remote_fence();
    message.tell = (struct tell){last(pe, TELL, team_key(team)), team->sequence, team->instance,
                                 (uint32_t)(uintptr_t)function};
    message.tell.header.operation = (uint8_t)round;
    if (bytes > 0)
        memcpy(message.data, data, bytes);
    send(pe, &message, sizeof message.tell + bytes);
}

/* The name of the function in a tell. */
static const char *function_of(const char *own, const struct tell *tell) {
    return (const char *)(((uintptr_t)own & ~(uintptr_t)UINT32_MAX) | tell->function);
}

static bool is_of_call(const struct kept *kept, const struct shmem_team *team) {
    const struct tell *tell = (const struct tell *)kept->header;
    return tell->sequence == team->sequence && tell->instance == team->instance &&
           kept->header->place == team_key(team);
}

/* Takes the tell off its list; NULL if it has not come. */
static struct kept *find_tell(const char *function, const struct shmem_team *team, int pe,
                              unsigned round) {
    for (struct kept **link = &tells; *link; link = &(*link)->next) {
        struct kept *kept = *link;
        if (!is_of_call(kept, team))
            continue;
        const char *theirs = function_of(function, (const struct tell *)kept->header);
        if (theirs != function)
            shmem_refuse(function,
                         "while PE %d calls %s: the PEs of a team make the same calls in the same "
                         "order",
                         kept->source, theirs);
        if (kept->source == pe && kept->header->operation == round) {
            *link = kept->next;
            return kept;
        }
    }
    return NULL;
}

void shmem_hear(const char *function, const struct shmem_team *team, int member, unsigned round,
                void *data, size_t bytes) {
    int pe = shmem_world_pe(team, member);
    struct kept *kept;
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (!(kept = find_tell(function, team, pe, round)))
        narthex_poll();
    LEAVE();
    if (kept->bytes - sizeof(struct tell) != bytes)
        shmem_refuse(function, "with %zu bytes in a message, and PE %d with %zu", bytes, pe,
                     kept->bytes - sizeof(struct tell));
    if (bytes > 0)
        memcpy(data, (const struct tell *)kept->header + 1, bytes);
    narthex_release(kept->header);
    shmem_forget(kept);
}
