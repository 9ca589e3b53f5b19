/* OpenSHMEM over active messages, and over remote stores where the interface has them.
 *
 * The parts, from below: `heap.c` and this file know the PE's symmetric memory. `requests.c` is
 * the protocol: puts, gets and atomics as messages, and how they are ordered and completed.
 * `remote_stores.c` is the other way, of SARC. `transfers.c`, `atomics.c`, `waits.c` and
 * `reductions.c` make the functions of all types out of the table in `types.h`; `teams.c`,
 * `collectives.c` and `locks.c` are what they say. */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messaging/narthex.h"
#include "runtime/marker.h"
#include "shmem/library.h"
#include "shmem/remote_stores.h"
#include "shmem/requests.h"

struct shmem_region shmem_regions[REGIONS];
int shmem_pe, shmem_pes;

static bool has_ended;

/* Errors */

_Noreturn void shmem_refuse(const char *function, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    narthex_fail("PE %d calls %s %s", narthex_node(), function, text);
}

void shmem_check_running(const char *function) {
    if (has_ended)
        shmem_refuse(function, "after shmem_finalize");
    if (shmem_pes == 0)
        shmem_refuse(function, "before shmem_init");
}

_Noreturn void shmem_refuse_pe(const char *function, const struct shmem_team *team, int pe) {
    shmem_check_running(function);
    shmem_refuse(function, "for PE %d: the PEs of %s are 0 to %d", pe,
                 team == SHMEM_TEAM_WORLD ? "this run" : "the team", team->size - 1);
}

_Noreturn void shmem_refuse_context(const char *function) {
    shmem_refuse(function, "with a context that does not exist (SHMEM_CTX_INVALID, or destroyed)");
}

_Noreturn void shmem_refuse_address(const char *function, const void *address, size_t bytes) {
    static const char *const names[REGIONS] = {"global and static variables", "the symmetric heap",
                                               "the part of it in scratchpad"};
    char allowed[320];
    size_t used = 0;
    shmem_check_running(function);
    for (int region = 0; region < REGIONS; region++)
        if (shmem_regions[region].bytes > 0)
            used += (size_t)snprintf(
                allowed + used, sizeof allowed - used, "%s%s, %#zx to %#zx", used > 0 ? "; " : "",
                names[region], (size_t)shmem_regions[region].begin,
                (size_t)shmem_regions[region].begin + shmem_regions[region].bytes - 1);
    shmem_refuse(function, "for %zu bytes at %p, which are not in symmetric memory: %s", bytes,
                 address, allowed);
}

/* Beginning and end */

/* The program's own writable segment has its global and static variables. */
static int find_globals(struct dl_phdr_info *program, size_t bytes, void *unused) {
    (void)bytes, (void)unused;
    for (int index = 0; index < program->dlpi_phnum; index++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[index];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W))
            continue;
        uintptr_t begin = program->dlpi_addr + segment->p_vaddr;
        struct shmem_region *region = &shmem_regions[GLOBALS];
        if (region->bytes == 0)
            region->begin = begin;
        region->bytes = begin + segment->p_memsz - region->begin;
    }
    return 1; /* the program is the first */
}

int shmem_init_thread(int requested, int *provided) {
    static const char function[] = "shmem_init";
    if (shmem_pes > 0 || has_ended)
        shmem_refuse(function, "twice");
    dl_iterate_phdr(find_globals, NULL);
    shmem_pe = narthex_node();
    shmem_pes = narthex_nodes();
    shmem_start_teams();
    shmem_start_requests();
    shmem_start_heap();
    narthex_barrier(); /* from here on others' requests may come */
    shmem_meet(function, SHMEM_TEAM_WORLD, shmem_regions[HEAP].bytes,
               "bytes of symmetric heap (SHMEM_SYMMETRIC_SIZE)");
    shmem_meet(function, SHMEM_TEAM_WORLD, shmem_regions[SCRATCHPAD].bytes,
               "bytes of it in scratchpad (SHMEM_SCRATCHPAD_SIZE)");
    if (provided)
        *provided = requested < SHMEM_THREAD_FUNNELED ? requested : SHMEM_THREAD_FUNNELED;
    return 0;
}

void shmem_init(void) {
    shmem_init_thread(SHMEM_THREAD_SINGLE, NULL);
}

void shmem_query_thread(int *provided) {
    shmem_check_running(__func__);
    *provided = SHMEM_THREAD_FUNNELED;
}

void shmem_finalize(void) {
    shmem_check_running(__func__);
    shmem_requests_quiet();
    shmem_meet(__func__, SHMEM_TEAM_WORLD, 0, "arguments");
    shmem_pes = 0;
    has_ended = true;
}

_Noreturn void shmem_global_exit(int status) {
    shmem_check_running(__func__);
    if (status != 0)
        shmem_refuse(__func__, "with status %d", status);
    for (int pe = 0; pe < shmem_pes; pe++)
        if (pe != shmem_pe)
            shmem_request_exit(pe);
    exit(0);
}

/* Queries */

int shmem_my_pe(void) {
    shmem_check_running(__func__);
    return shmem_pe;
}

int shmem_n_pes(void) {
    shmem_check_running(__func__);
    return shmem_pes;
}

void shmem_info_get_version(int *major, int *minor) {
    *major = SHMEM_MAJOR_VERSION;
    *minor = SHMEM_MINOR_VERSION;
}

void shmem_info_get_name(char *name) {
    strcpy(name, SHMEM_VENDOR_STRING);
}

void shmem_pcontrol(int level, ...) {
    (void)level; /* for tools that stand between; there is none */
}

int shmem_pe_accessible(int pe) {
    shmem_check_running(__func__);
    return (unsigned)pe < (unsigned)shmem_pes;
}

static bool is_symmetric(const void *address) {
    for (int region = 0; region < REGIONS; region++)
        if ((uintptr_t)address - shmem_regions[region].begin < shmem_regions[region].bytes)
            return true;
    return false;
}

int shmem_addr_accessible(const void *addr, int pe) {
    return shmem_pe_accessible(pe) && is_symmetric(addr);
}

void *shmem_ptr(const void *dest, int pe) {
    int target = shmem_target(__func__, SHMEM_CTX_DEFAULT, pe);
    uint64_t place = shmem_place(__func__, dest, 1);
    if (target == shmem_pe)
        return (void *)(uintptr_t)dest;
    return shmem_is_in_scratchpad(place) ? remote_address(target, place) : NULL;
}

/* Order */

static bool is_context(const char *function, shmem_ctx_t context) {
    shmem_check_running(function);
    if (context && !context->is_valid)
        shmem_refuse_context(function);
    return context;
}

void shmem_ctx_fence(shmem_ctx_t ctx) {
    if (is_context(__func__, ctx))
        shmem_requests_fence();
}

void shmem_ctx_quiet(shmem_ctx_t ctx) {
    if (is_context(__func__, ctx))
        shmem_requests_quiet();
}

void shmem_fence(void) {
    shmem_check_running(__func__);
    shmem_requests_fence();
}

void shmem_quiet(void) {
    shmem_check_running(__func__);
    shmem_requests_quiet();
}
