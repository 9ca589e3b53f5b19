/* Signals and what goes with them, as programs use them: what this prints, it prints on Linux too.
 *
 * Faults that a handler repairs, skips or leaves by a jump; signals that are raised, blocked and
 * waited for; threads that are cancelled or interrupted in their sleep; code that is written while
 * the program runs. It needs two processors a process. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int seen[65];

static void count(int signal) {
    seen[signal]++;
}

static void handle(int signal, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(signal, &action, 0);
}

static char *volatile page;

static void unprotect(int signal, siginfo_t *information, void *context) {
    (void)context;
    seen[signal]++;
    if (information->si_addr != page + 8 || information->si_code != SEGV_ACCERR)
        _exit(90);
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void skip(int signal, siginfo_t *information, void *context) {
    ucontext_t *at = context;
    (void)information;
    seen[signal]++;
    const unsigned short *instruction = (const unsigned short *)at->uc_mcontext.__gregs[0];
    at->uc_mcontext.__gregs[0] += (*instruction & 3) == 3 ? 4 : 2;
}

static sigjmp_buf out;

static void leave(int signal, siginfo_t *information, void *context) {
    (void)information, (void)context;
    stack_t now;
    seen[signal]++;
    sigaltstack(0, &now);
    if (!(now.ss_flags & SS_ONSTACK))
        _exit(91);
    siglongjmp(out, 1);
}

static int deep(int level) {
    volatile char large[4096];
    large[level % 4096] = 1;
    return level == 0 ? 0 : deep(level + 1) + large[0];
}

static void fault(void) {
    page = mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGSEGV, unprotect, 0);
    page[8] = 5;
    printf("repaired %d, faults %d\n", page[8], seen[SIGSEGV]);
    handle(SIGILL, skip, 0);
    handle(SIGTRAP, skip, 0);
    __asm__ volatile("unimp\n ebreak\n" ::: "memory");
    printf("skipped %d and %d\n", seen[SIGILL], seen[SIGTRAP]);
    enum { BYTES = 32768 };
    stack_t stack = {.ss_sp = malloc(BYTES), .ss_size = BYTES};
    sigaltstack(&stack, 0);
    handle(SIGSEGV, leave, SA_ONSTACK);
    if (sigsetjmp(out, 1) == 0)
        deep(1);
    if (sigsetjmp(out, 1) == 0)
        *(volatile int *)16 = 1;
    printf("left %d\n", seen[SIGSEGV] - 1);
}

static void raise_signals(void) {
    sigset_t set, former, pending;
    signal(SIGUSR1, count);
    raise(SIGUSR1);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, &former);
    raise(SIGUSR1);
    kill(getpid(), SIGUSR1);
    sigpending(&pending);
    printf("raised %d, pending %d\n", seen[SIGUSR1], sigismember(&pending, SIGUSR1));
    sigemptyset(&set);
    int result = sigsuspend(&set);
    printf("suspended %d, %s, %d\n", result, strerror(errno), seen[SIGUSR1]);
    sigprocmask(SIG_SETMASK, &former, 0);
    printf("unblocked %d\n", seen[SIGUSR1]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile int started, cleaned, left;

static void clean(void *held) {
    cleaned++;
    pthread_mutex_unlock(held);
}

static void *wait_for_ever(void *argument) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean, &lock);
    started = 1;
    while (1)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(1);
    return argument;
}

static void *sleep_for_a_second(void *argument) {
    struct timespec time = {1, 0}, rest = {0, 0};
    started = 1;
    if (nanosleep(&time, &rest) < 0 && errno == EINTR)
        left = rest.tv_sec == 0 && rest.tv_nsec > 0;
    return argument;
}

static void *start(void *(*run)(void *), void (*then)(pthread_t)) {
    pthread_t thread;
    void *result;
    started = 0;
    pthread_create(&thread, 0, run, 0);
    while (!started)
        sched_yield();
    usleep(10);
    then(thread);
    pthread_join(thread, &result);
    return result;
}

static void cancel(pthread_t thread) {
    pthread_cancel(thread);
}

static void interrupt(pthread_t thread) {
    pthread_kill(thread, SIGUSR1);
}

static void threads(void) {
    printf("cancelled %d, ", start(wait_for_ever, cancel) == PTHREAD_CANCELED);
    printf("cleaned %d\n", cleaned);
    printf("cancelled %d\n", start(sleep_for_a_second, cancel) == PTHREAD_CANCELED);
    start(sleep_for_a_second, interrupt);
    printf("interrupted %d, %d\n", left, seen[SIGUSR1]);
    pthread_mutexattr_t attributes;
    pthread_mutex_t inheriting;
    pthread_mutexattr_init(&attributes);
    printf("inherits %d", pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    pthread_mutex_init(&inheriting, &attributes);
    printf(" %d", pthread_mutex_lock(&inheriting));
    printf(" %d\n", pthread_mutex_unlock(&inheriting));
}

static void write_code(void) {
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    unsigned *code = mmap(0, 4096, all, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*function)(void) = (int (*)(void))code;
    /* li a0, 42; ret */
    code[0] = 0x02a00513, code[1] = 0x00008067;
    syscall(SYS_riscv_flush_icache, code, code + 2, 0);
    int first = function();
    code[0] = 0x02b00513;
    syscall(SYS_riscv_flush_icache, code, code + 2, 0);
    int second = function();
    code[0] = 0x02c00513;
    __asm__ volatile("fence.i" ::: "memory");
    printf("code %d %d %d\n", first, second, function());
}

int main(void) {
    fault();
    raise_signals();
    threads();
    write_code();
    char *grown = mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    grown[100] = 7;
    grown = mremap(grown, 1 << 16, 1 << 20, MREMAP_MAYMOVE);
    printf("grown %d %d, processor %d\n", grown[100], grown[(1 << 20) - 1], sched_getcpu());
    return 0;
}
