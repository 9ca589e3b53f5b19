/* Teams and contexts. Every team, also one split off another, is PEs of the world from a start in
 * steps of a stride; so its members need not talk to each other to make it, and a message names it
 * by these. */
#include <stdlib.h>

#include "messaging/narthex.h"
#include "shmem/library.h"
#include "shmem/requests.h"

enum { ACTIVE_SET = UINT16_MAX }; /* instance of a team that a deprecated function implies */

struct shmem_team shmem_team_of_world, shmem_team_that_shares;
struct shmem_context shmem_context_by_default;

static struct shmem_team
    *teams; /* also those that have been destroyed, in the order of instances */

void shmem_start_teams(void) {
    shmem_team_that_shares =
        (struct shmem_team){.start = shmem_pe, .stride = 1, .size = 1, .is_valid = true};
    shmem_team_of_world = (struct shmem_team){.next = &shmem_team_that_shares,
                                              .stride = 1,
                                              .size = shmem_pes,
                                              .rank = shmem_pe,
                                              .is_valid = true};
    shmem_context_by_default =
        (struct shmem_context){.team = &shmem_team_of_world, .is_valid = true};
    teams = &shmem_team_of_world;
}

struct shmem_team *shmem_valid_team(const char *function, shmem_team_t team) {
    shmem_check_running(function);
    if (team && !team->is_valid)
        shmem_refuse(function, "for a team that has been destroyed");
    return team;
}

/* Making teams */

static bool is_same(const struct shmem_team *team, int start, int stride, int size) {
    return team->start == start && team->stride == stride && team->size == size;
}

static struct shmem_team *new_team(int start, int stride, int size, unsigned instance) {
    struct shmem_team *team = calloc(1, sizeof *team), **end = &teams;
    narthex_check(team, "PE %d has no memory left for a team", shmem_pe);
    *team = (struct shmem_team){.start = start,
                                .stride = stride,
                                .size = size,
                                .rank = (shmem_pe - start) / stride,
                                .instance = (uint16_t)instance};
    while (*end)
        end = &(*end)->next;
    return *end = team;
}

/* A team of these PEs that is not in use. All of its members have made and destroyed the same ones
 * of these PEs, so they get the same instance. */
static struct shmem_team *unused_team(const char *function, int start, int stride, int size) {
    unsigned instances = 0;
    for (struct shmem_team *team = teams; team; team = team->next) {
        if (!is_same(team, start, stride, size) || team->instance == ACTIVE_SET)
            continue;
        if (!team->is_valid)
            return team;
        instances += 1;
    }
    if (instances == ACTIVE_SET)
        shmem_refuse(function, "for one more team of the same PEs, of which there are %u",
                     instances);
    return new_team(start, stride, size, instances);
}

struct shmem_team *shmem_active_set(const char *function, int start, int log_stride, int size) {
    shmem_check_running(function);
    long stride = log_stride >= 0 && log_stride < 31 ? 1L << log_stride : 0;
    long last = start + (size - 1) * stride;
    if (start < 0 || stride == 0 || size < 1 || last >= shmem_pes)
        shmem_refuse(function,
                     "for PE_start %d, logPE_stride %d and PE_size %d: the PEs of this run are 0 "
                     "to %d",
                     start, log_stride, size, shmem_pes - 1);
    if (shmem_pe < start || shmem_pe > last || (shmem_pe - start) % stride != 0)
        shmem_refuse(function,
                     "for PE_start %d, logPE_stride %d and PE_size %d, to which it does "
                     "not belong",
                     start, log_stride, size);
    for (struct shmem_team *team = teams; team; team = team->next)
        if (team->instance == ACTIVE_SET && is_same(team, start, (int)stride, size))
            return team;
    struct shmem_team *team = new_team(start, (int)stride, size, ACTIVE_SET);
    team->is_valid = true;
    return team;
}

static shmem_team_t split(const char *function, const struct shmem_team *parent, int start,
                          int stride, int size, const shmem_team_config_t *config, long mask) {
    long last = start + (long)(size - 1) * stride;
    if (size < 1 || start < 0 || start >= parent->size || last < 0 || last >= parent->size ||
        (stride == 0 && size > 1))
        shmem_refuse(function,
                     "for start %d, stride %d and size %d: the PEs of the parent team are 0 to %d",
                     start, stride, size, parent->size - 1);
    if (size == 1)
        stride = 1;
    int steps = (parent->rank - start) / stride;
    if (steps < 0 || steps >= size || start + steps * stride != parent->rank)
        return SHMEM_TEAM_INVALID;
    struct shmem_team *team = unused_team(function, shmem_world_pe(parent, start),
                                          size == 1 ? 1 : stride * parent->stride, size);
    team->is_valid = true;
    team->config = (shmem_team_config_t){0};
    if (config && mask & SHMEM_TEAM_NUM_CONTEXTS)
        team->config = *config;
    return team;
}

int shmem_team_split_strided(shmem_team_t parent_team, int start, int stride, int size,
                             const shmem_team_config_t *config, long config_mask,
                             shmem_team_t *new_team) {
    *new_team = SHMEM_TEAM_INVALID;
    if (!shmem_valid_team(__func__, parent_team))
        return -1;
    *new_team = split(__func__, parent_team, start, stride, size, config, config_mask);
    return 0;
}

/* Rows of `xrange` PEs, of which the last may be shorter. */
int shmem_team_split_2d(shmem_team_t parent_team, int xrange,
                        const shmem_team_config_t *xaxis_config, long xaxis_mask,
                        shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config,
                        long yaxis_mask, shmem_team_t *yaxis_team) {
    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    const struct shmem_team *parent = shmem_valid_team(__func__, parent_team);
    if (!parent)
        return -1;
    if (xrange < 1)
        shmem_refuse(__func__, "with an xrange of %d; it is 1 or more", xrange);
    if (xrange > parent->size)
        xrange = parent->size;
    int column = parent->rank % xrange, row = parent->rank - column, left = parent->size - row;
    *xaxis_team =
        split(__func__, parent, row, 1, left < xrange ? left : xrange, xaxis_config, xaxis_mask);
    *yaxis_team = split(__func__, parent, column, xrange, (parent->size - column - 1) / xrange + 1,
                        yaxis_config, yaxis_mask);
    return 0;
}

void shmem_team_destroy(shmem_team_t team) {
    if (!shmem_valid_team(__func__, team))
        return;
    if (team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED)
        shmem_refuse(__func__, "for a team that OpenSHMEM has made");
    team->is_valid = false;
}

/* Asking */

int shmem_team_my_pe(shmem_team_t team) {
    return shmem_valid_team(__func__, team) ? team->rank : -1;
}

int shmem_team_n_pes(shmem_team_t team) {
    return shmem_valid_team(__func__, team) ? team->size : -1;
}

int shmem_team_get_config(shmem_team_t team, long config_mask, shmem_team_config_t *config) {
    if (!shmem_valid_team(__func__, team))
        return -1;
    if (config_mask & SHMEM_TEAM_NUM_CONTEXTS)
        *config = team->config;
    return 0;
}

int shmem_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team) {
    if (!shmem_valid_team(__func__, src_team) || !shmem_valid_team(__func__, dest_team))
        return -1;
    if (src_pe < 0 || src_pe >= src_team->size)
        shmem_refuse_pe(__func__, src_team, src_pe);
    int distance = shmem_world_pe(src_team, src_pe) - dest_team->start;
    int member = distance / dest_team->stride;
    bool is_member = distance % dest_team->stride == 0 && member >= 0 && member < dest_team->size;
    return is_member ? member : -1;
}

/* Contexts */

static struct shmem_context *spare_contexts; /* destroyed: a call that names one finds it so */

int shmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx) {
    const long known = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;
    *ctx = SHMEM_CTX_INVALID;
    if (!shmem_valid_team(__func__, team))
        return -1;
    if (options & ~known)
        shmem_refuse(__func__, "with options %#lx, of which %#lx are known", options, known);
    struct shmem_context *context = spare_contexts;
    if (context)
        spare_contexts = context->next;
    else
        context = malloc(sizeof *context);
    narthex_check(context, "PE %d has no memory left for a context", shmem_pe);
    *context = (struct shmem_context){.team = team, .is_valid = true};
    *ctx = context;
    return 0;
}

int shmem_ctx_create(long options, shmem_ctx_t *ctx) {
    return shmem_team_create_ctx(SHMEM_TEAM_WORLD, options, ctx);
}

void shmem_ctx_destroy(shmem_ctx_t ctx) {
    shmem_check_running(__func__);
    if (!ctx)
        return;
    if (ctx == SHMEM_CTX_DEFAULT)
        shmem_refuse(__func__, "for SHMEM_CTX_DEFAULT");
    shmem_ctx_quiet(ctx);
    ctx->is_valid = false;
    ctx->next = spare_contexts;
    spare_contexts = ctx;
}

int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team) {
    shmem_check_running(__func__);
    *team = ctx ? ctx->team : SHMEM_TEAM_INVALID;
    return ctx ? 0 : -1;
}
