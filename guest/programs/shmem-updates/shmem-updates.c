/* Random updates of a table that is spread over all PEs, each an atomic of a word of some PE (the
 * pattern of GUPS).
 *
 *     shmem-updates [WORDS [UPDATES]]    of all PEs together; by default 4096 and as many
 *
 * See README.md. */
#include "../shmem_work.h"

static size_t words, updates;
static uint64_t *table; /* symmetric: the own part of it, every pes-th word */
static int me, pes;

static uint64_t word_at_first(size_t word) {
    return word * 3;
}

/* Update `index` is of a random word by a random value. A PE makes every pes-th. */
static void update_all(void) {
    for (size_t index = (size_t)me; index < updates; index += (size_t)pes) {
        uint64_t value = pattern_word(9, index);
        size_t word = value % words;
        shmem_uint64_atomic_xor(&table[word / (size_t)pes], value, (int)(word % (size_t)pes));
    }
}

static uint64_t checksum(void) {
    uint64_t sum = 0;
    for (size_t word = (size_t)me; word < words; word += (size_t)pes)
        sum += pattern_word(table[word / (size_t)pes], word);
    return sum_of_all(sum);
}

/* The same updates once more take each other back, if none was lost. */
static void check(void) {
    update_all();
    shmem_barrier_all();
    for (size_t word = (size_t)me; word < words; word += (size_t)pes)
        narthex_check(table[word / (size_t)pes] == word_at_first(word), "word %zu is wrong", word);
}

int main(int count, char **values) {
    words = (size_t)argument(count, values, 1, "words", 1, 1000000000, 4096);
    updates = (size_t)argument(count, values, 2, "updates", 1, 1000000000, (long)words);
    shmem_init();
    me = shmem_my_pe();
    pes = shmem_n_pes();
    table = shmem_calloc(words / (size_t)pes + 1, sizeof *table);
    narthex_check(table, "PE %d has no heap for its part of %zu words", me, words);
    for (size_t word = (size_t)me; word < words; word += (size_t)pes)
        table[word / (size_t)pes] = word_at_first(word);
    shmem_measure_begin();
    uint64_t begin_ns = narthex_time_ns();
    update_all();
    shmem_measure_end();
    if (me == 0)
        narthex_report("updates", (double)updates / (double)(narthex_time_ns() - begin_ns) * 1e3,
                       "million a second");
    uint64_t sum = checksum();
    check();
    if (me == 0)
        narthex_report("checksum", as_report(sum), "");
    shmem_finalize();
    return 0;
}
