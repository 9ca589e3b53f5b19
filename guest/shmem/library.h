/* What OpenSHMEM's parts share: the PE, its symmetric memory, and the checks of every call. */
#ifndef NARTHEX_SHMEM_LIBRARY_H
#define NARTHEX_SHMEM_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shmem/include/shmem.h"

/* PEs start, start + stride, ... of the world. Two teams of the same PEs have different instances.
 * Its members count their collective calls, so that messages of one call are told from others'. */
struct shmem_team {
    struct shmem_team *next;
    int start, stride, size;
    int rank; /* the own one in it */
    uint16_t instance, sequence;
    bool is_valid;
    shmem_team_config_t config;
};

/* Operations of all contexts are ordered and completed together, which is more than is asked. */
struct shmem_context {
    struct shmem_context *next;
    struct shmem_team *team;
    bool is_valid;
};

/* Symmetric memory: parts of it that lie apart. An address travels as its place, the number of the
 * part and how far into it, since the parts need not begin at the same address everywhere. */
enum { GLOBALS, HEAP, SCRATCHPAD, REGIONS };
enum { PLACE_REGION_SHIFT = 62 };

struct shmem_region {
    uintptr_t begin;
    size_t bytes;
};

extern struct shmem_region shmem_regions[REGIONS];
extern int shmem_pe, shmem_pes; /* no PEs: before shmem_init, and after shmem_finalize */

/* Ends the run: "PE 1 calls FUNCTION " and then what is wrong. */
_Noreturn void shmem_refuse(const char *function, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The end of a call that names PE `pe` of `team`, before the beginning, or that PE does not exist.
 */
_Noreturn void shmem_refuse_pe(const char *function, const struct shmem_team *team, int pe);
_Noreturn void shmem_refuse_address(const char *function, const void *address, size_t bytes);
_Noreturn void shmem_refuse_context(const char *function);

void shmem_check_running(const char *function);

/* The place of symmetric memory at an address of this PE. */
static inline uint64_t shmem_place(const char *function, const void *address, size_t bytes) {
    for (uint64_t region = 0; region < REGIONS; region++) {
        size_t offset = (uintptr_t)address - shmem_regions[region].begin;
        if (offset < shmem_regions[region].bytes && bytes <= shmem_regions[region].bytes - offset)
            return region << PLACE_REGION_SHIFT | offset;
    }
    shmem_refuse_address(function, address, bytes);
}

static inline void *shmem_address(uint64_t place) {
    uintptr_t begin = shmem_regions[place >> PLACE_REGION_SHIFT].begin;
    return (void *)(begin + (place << (64 - PLACE_REGION_SHIFT) >> (64 - PLACE_REGION_SHIFT)));
}

static inline bool shmem_is_in_scratchpad(uint64_t place) {
    return place >> PLACE_REGION_SHIFT == SCRATCHPAD;
}

/* Member `pe` of a team among all PEs. */
static inline int shmem_world_pe(const struct shmem_team *team, int pe) {
    return team->start + pe * team->stride;
}

/* The PE that a call with a context is for. */
static inline int shmem_target(const char *function, shmem_ctx_t context, int pe) {
    if (context == SHMEM_CTX_DEFAULT) {
        if ((unsigned)pe >= (unsigned)shmem_pes)
            shmem_refuse_pe(function, SHMEM_TEAM_WORLD, pe);
        return pe;
    }
    shmem_check_running(function);
    if (!context || !context->is_valid)
        shmem_refuse_context(function);
    if ((unsigned)pe >= (unsigned)context->team->size)
        shmem_refuse_pe(function, context->team, pe);
    return shmem_world_pe(context->team, pe);
}

static inline size_t shmem_bytes(size_t count, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

/* Prepare the library's parts, in shmem_init. */
void shmem_start_heap(void);
void shmem_start_requests(void);
void shmem_start_teams(void);

/* Puts under another function's name, of its own PE too. Strides are elements. */
void shmem_put_block(const char *function, void *dest, const void *source, size_t bytes, int pe);
void shmem_put_strided(const char *function, void *dest, const void *source, ptrdiff_t dst,
                       ptrdiff_t sst, size_t width, size_t count, int pe);

/* Returns when all members have called it with the same number, which errors call `what`. */
void shmem_meet(const char *function, struct shmem_team *team, uint64_t number, const char *what);

/* An active set's team, made when it is first used. */
struct shmem_team *shmem_active_set(const char *function, int start, int log_stride, int size);

/* The team if it exists; NULL for SHMEM_TEAM_INVALID. Fails if it has been destroyed. */
struct shmem_team *shmem_valid_team(const char *function, shmem_team_t team);

/* What a message about the lock at `place` asks for, and the answer to it. */
enum { LOCK_SET, LOCK_TEST, LOCK_CLEAR };
void shmem_lock_asked(int source, unsigned operation, uint64_t place);
void shmem_lock_answered(bool is_taken);

#endif
