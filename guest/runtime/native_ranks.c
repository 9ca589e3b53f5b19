#ifndef __riscv
#include "runtime/native_ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "messaging/narthex.h"

int native_ranks(void) {
    const char *given = getenv("NARTHEX_RANKS");
    if (!given)
        return 1;
    char *end;
    long ranks = strtol(given, &end, 10);
    if (*given == '\0' || *end != '\0' || ranks < 1 || ranks > NATIVE_RANKS_LIMIT) {
        fprintf(stderr, "failed: NARTHEX_RANKS is '%s'; expected a number from 1 to %d\n", given,
                NATIVE_RANKS_LIMIT);
        exit(2);
    }
    return (int)ranks;
}

/* The rank of a process that has ended; -1 if it is none. */
static int rank_of(pid_t process, const pid_t *processes, int ranks) {
    for (int rank = 0; rank < ranks; rank++)
        if (processes[rank] == process)
            return rank;
    return -1;
}

/* Waits for all ranks, or for the first that fails, which ends the others. Returns the exit code.
 */
static int wait_for(const pid_t *processes, int ranks) {
    for (int running = ranks; running > 0; running--) {
        int status;
        pid_t ended = wait(&status);
        if (ended < 0)
            return 1;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        fprintf(stderr, "rank %d of %d has ended with %s %d; the others are ended too\n",
                rank_of(ended, processes, ranks), ranks, WIFEXITED(status) ? "exit code" : "signal",
                WIFEXITED(status) ? code : WTERMSIG(status));
        for (int rank = 0; rank < ranks; rank++)
            if (processes[rank] != ended)
                kill(processes[rank], SIGKILL);
        while (wait(NULL) > 0)
            ;
        return code;
    }
    return 0;
}

int start_native_ranks(int ranks, size_t bytes, void **shared) {
    static pid_t processes[NATIVE_RANKS_LIMIT];
    *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (*shared == MAP_FAILED) {
        fprintf(stderr, "failed: there are no %zu bytes of memory for %d ranks\n", bytes, ranks);
        exit(1);
    }
    for (int rank = 0; rank < ranks; rank++) {
        processes[rank] = fork();
        if (processes[rank] == 0) {
#ifdef __linux__
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* it ends with the process that waits */
#endif
            setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* lines of several ranks stay whole */
            return rank;
        }
        if (processes[rank] < 0) {
            fprintf(stderr, "failed: rank %d of %d cannot be started\n", rank, ranks);
            while (--rank >= 0)
                kill(processes[rank], SIGKILL);
            _exit(1);
        }
    }
    _exit(wait_for(processes, ranks));
}
#endif
