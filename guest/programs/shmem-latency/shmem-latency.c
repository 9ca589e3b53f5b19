/* What OpenSHMEM's calls cost between two PEs: latencies of puts, gets and atomics, and the
 * bandwidth of puts.
 *
 *     shmem-latency [BYTES [COUNT [WARM-UP [WHERE]]]]
 *                        by default 8 bytes, 200 rounds, 150 to warm up, into the heap (0; 1: into
 *                        a static variable; 2: into the heap, from the heap)
 *
 * See README.md for what each number is. */
#include "../shmem_work.h"

enum where { INTO_HEAP, INTO_STATIC, FROM_HEAP };
enum { LARGEST_BYTES = 65536, LARGEST_PAUSE_CYCLES = 1023 };

static size_t bytes;
static long rounds, warm_up;
static char *here;   /* symmetric: what comes */
static char *source; /* what is put, and then what is got */
static char statics[2][LARGEST_BYTES];
static uint64_t *signal, *counter;

/* The time of calls after the warm-up, in ns. */
struct time {
    const char *name;
    uint64_t sum_ns, begin_ns;
};

static void begin(struct time *time) {
    time->begin_ns = narthex_time_ns();
}

static void end(struct time *time, long round) {
    if (round >= warm_up)
        time->sum_ns += narthex_time_ns() - time->begin_ns;
}

static void report(const struct time *time, double parts) {
    narthex_report(time->name, (double)time->sum_ns / (double)(rounds - warm_up) / parts, "ns");
}

/* So that the phases of the PEs' loops are met by chance. */
static void pause_randomly(void) {
    static uint64_t random;
    if (random == 0)
        random = random_start(narthex_seed(), 0);
    narthex_pause(random_next(&random) % (LARGEST_PAUSE_CYCLES + 1));
}

/* A doubleword is its own signal; more data come with one. */
static void send(int pe, long round) {
    if (bytes == sizeof *signal)
        shmem_uint64_p(signal, (uint64_t)round + 1, pe);
    else
        shmem_putmem_signal(here, source, bytes, signal, (uint64_t)round + 1, SHMEM_SIGNAL_SET, pe);
}

static void receive(long round) {
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, (uint64_t)round + 1);
}

static void check(const char *data, long round) {
    if (bytes != sizeof *signal)
        pattern_check(data, bytes, (uint64_t)round);
}

static void round_trips(int me) {
    struct time time = {"put, one way", 0, 0};
    for (long round = 0; round < rounds; round++) {
        pattern_fill(source, bytes, (uint64_t)round);
        if (me == 0) {
            pause_randomly();
            begin(&time);
            send(1, round);
            receive(round);
            end(&time, round);
        } else {
            receive(round);
            send(0, round);
        }
        check(here, round);
    }
    if (me == 0)
        report(&time, 2);
}

/* PE 1 does nothing but handle messages meanwhile. */
static void alone(void) {
    struct time put = {"put and quiet", 0, 0}, get = {"get", 0, 0};
    struct time atomic = {"atomic fetch and add", 0, 0};
    for (long round = 0; round < rounds; round++) {
        pattern_fill(source, bytes, (uint64_t)round);
        pause_randomly();
        begin(&put);
        shmem_putmem(here, source, bytes, 1);
        shmem_quiet();
        end(&put, round);
        memset(source, 0, bytes);
        begin(&get);
        shmem_getmem(source, here, bytes, 1);
        end(&get, round);
        pattern_check(source, bytes, (uint64_t)round);
        begin(&atomic);
        uint64_t before = shmem_uint64_atomic_fetch_add(counter, 3, 1);
        end(&atomic, round);
        narthex_check(before == 3 * (uint64_t)round, "the counter is %llu in round %ld",
                      (unsigned long long)before, round);
    }
    report(&put, 1);
    report(&get, 1);
    report(&atomic, 1);
}

static void stream(void) {
    struct time time = {"puts in a stream, each", 0, 0};
    for (long round = 0; round < rounds; round++) {
        if (round == warm_up) {
            shmem_quiet();
            begin(&time);
        }
        shmem_putmem_nbi(here, source, bytes, 1);
    }
    shmem_quiet();
    end(&time, warm_up);
    report(&time, 1);
    double per_put_ns = (double)time.sum_ns / (double)(rounds - warm_up);
    narthex_report("bandwidth of puts", (double)bytes / per_put_ns * 1e3, "MB/s");
}

static void measure(void) {
    static long is_over;
    int me = shmem_my_pe();
    if (me < 2)
        round_trips(me);
    if (me == 0) {
        narthex_region_begin("alone");
        alone();
        narthex_region_end("alone");
        stream();
        shmem_long_p(&is_over, 1, 1);
        shmem_quiet();
    } else if (me == 1) {
        shmem_long_wait_until(&is_over, SHMEM_CMP_EQ, 1);
    }
}

int main(int count, char **values) {
    bytes = (size_t)argument(count, values, 1, "bytes", 1, LARGEST_BYTES, 8);
    long measured = argument(count, values, 2, "count", 1, 1000000, 200);
    warm_up = argument(count, values, 3, "warm-up", 0, 1000000, 150);
    enum where where = (enum where)argument(count, values, 4, "where", 0, 2, INTO_HEAP);
    rounds = warm_up + measured;
    shmem_init();
    narthex_check(shmem_n_pes() >= 2, "%s needs two PEs, and this run has one: --nodes 2",
                  values[0]);
    signal = shmem_calloc(2, sizeof *signal);
    narthex_check(signal, "there is no heap for a signal");
    counter = signal + 1;
    here = where == INTO_STATIC ? statics[0] : shmem_malloc(bytes);
    source = where == FROM_HEAP ? shmem_malloc(bytes) : statics[1];
    narthex_check(here && source, "there is no heap for the data");
    measure();
    shmem_finalize();
    return 0;
}
