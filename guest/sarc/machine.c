/* The machine as the library sees it, and the work of its tiles. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>

#include "messaging/narthex.h"
#include "sarc/agent.h"
#include "sarc/barriers.h"

uint64_t sarc_register(uint64_t offset) {
    return sarc_load((const uint64_t *)(SARC_REGISTERS + offset));
}

unsigned sarc_tile(void) {
    uint64_t chip = sarc_register(SARC_REGISTER_CHIP), tiles = sarc_register(SARC_REGISTER_TILES);
    return (unsigned)(chip * tiles + sarc_register(SARC_REGISTER_TILE));
}

unsigned sarc_tiles(void) {
    return (unsigned)(sarc_register(SARC_REGISTER_TILES) * sarc_register(SARC_REGISTER_CHIPS));
}

#ifdef __riscv
int sarc_request(unsigned long number, uint64_t *words) {
    static int file = -1;
    if (file < 0)
        file = open("/dev/sarc", O_RDWR);
    return file < 0 || ioctl(file, (int)number, words) < 0 ? errno : 0;
}
#endif

/* Work of tiles */

enum { MOST_TILES = 128 };

static unsigned working;
static void (*work_of_tile)(unsigned tile);
static struct sarc_counter_barrier meetings[MOST_TILES];

bool sarc_tiles_share_memory(void) {
    return sarc_register(SARC_REGISTER_TILES_OF_PROCESS) > 1;
}

static void work_on(unsigned tile) {
    sarc_emulate_tile(tile);
    uint64_t *lines = sarc_allocate(SARC_COUNTER_BARRIER_LINES);
    narthex_check(lines, "tile %u has no lines for a barrier: %s", tile, strerror(errno));
    sarc_make_counter_barrier(&meetings[tile], lines, tile, working);
    sarc_await_counter_barrier(lines, tile, working);
    work_of_tile(tile);
    sarc_rendezvous(tile);
}

static void *run_thread(void *tile) {
    work_on((unsigned)(uintptr_t)tile);
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[MOST_TILES];
    for (unsigned tile = 1; tile < working; tile++) {
        int error = pthread_create(&threads[tile], NULL, run_thread, (void *)(uintptr_t)tile);
        narthex_check(error == 0, "tile %u of %u has no thread: %s", tile, working,
                      strerror(error));
    }
    work_on(0);
    for (unsigned tile = 1; tile < working; tile++)
        pthread_join(threads[tile], NULL);
}

void sarc_run(unsigned tiles, void (*work)(unsigned tile)) {
    unsigned of_process = (unsigned)sarc_register(SARC_REGISTER_TILES_OF_PROCESS);
    unsigned most = of_process > 1 ? of_process : (unsigned)narthex_nodes();
    narthex_check(tiles >= 1 && tiles <= most && tiles <= MOST_TILES,
                  "%u tiles are to work; this machine has 1 to %u for them "
                  "(machine.processors_per_node, machine.processors_per_process)",
                  tiles, most);
    working = tiles;
    work_of_tile = work;
    if (of_process > 1)
        run_threads();
    else if (sarc_tile() < tiles)
        work_on(sarc_tile());
}

void sarc_rendezvous(unsigned tile) {
    sarc_counter_wait(&meetings[tile]);
}
