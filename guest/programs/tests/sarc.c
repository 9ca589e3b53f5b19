/* SARC's interface: what works beside the other programs, and how each mistake ends.
 *
 *     sarc [CASE]
 *
 * Without a case all that works. The cases of MISTAKES end the run with the hardware's error. */
#include <stdio.h>
#include <stdlib.h>

#include "../pattern.h"
#include "../sarc_work.h"

enum { TILES = 4, ROUNDS = 200 };

/* What works */

/* The words of a copy at any alignment arrive, and no byte beside them changes. */
static void test_alignments(unsigned tile, uint64_t *lines, uint64_t *command) {
    enum { BYTES = 200, ROOM = 256 };
    char *from = (char *)lines, *to = (char *)sarc_remote(lines + 2 * ROOM / 8, 1);
    uint64_t *done = sarc_remote(lines + 6 * ROOM / 8, 0), *counter = lines + 8 * ROOM / 8;
    if (tile != 0)
        return;
    for (unsigned offset = 0; offset < 9; offset++) {
        for (unsigned word = 0; word < 2 * ROOM / 8; word++) {
            sarc_store(&lines[word], pattern_word(offset, word));
            sarc_store((uint64_t *)to + word, 0);
        }
        sarc_make_counter(counter, -BYTES, -BYTES, 1, &done, 1);
        sarc_copy(command, to + offset, from + 8 - offset, BYTES, counter);
        sarc_await_flag(done);
        for (unsigned byte = 0; byte < ROOM; byte++) {
            bool is_inside = byte >= offset && byte < offset + BYTES;
            unsigned place = byte - offset + 8 - offset;
            uint64_t got = sarc_load((uint64_t *)to + byte / 8) >> byte % 8 * 8 & 0xff;
            uint64_t sent = pattern_word(offset, place / 8) >> place % 8 * 8 & 0xff;
            narthex_check(got == (is_inside ? sent : 0), "byte %u of a copy to %u is %#llx", byte,
                          offset, (unsigned long long)got);
        }
        sarc_mark(counter, SARC_ROLE_SCRATCHPAD);
    }
}

/* Items of several writers come whole, each writer's in order, and the count is right. */
static void test_queue(unsigned tile, uint64_t *queue, uint64_t *command) {
    enum { ITEMS = 16, WORDS = 4 };
    uint64_t words[WORDS], next[TILES] = {0};
    if (tile == 0)
        sarc_make_queue(queue, SARC_ROLE_SINGLE_READER, WORDS, ITEMS);
    sarc_rendezvous(tile);
    for (uint64_t item = 0; item < ITEMS / TILES; item++) {
        for (unsigned word = 0; word < WORDS; word++)
            words[word] = pattern_word(tile, item * WORDS + word);
        words[0] = tile << 16 | item;
        while (!sarc_command_is_free(command))
            ;
        sarc_message(command, sarc_remote(queue, 0), words, WORDS, NULL);
    }
    struct sarc_reader reader = {.queue = queue, .items = ITEMS, .item_words = WORDS};
    for (unsigned taken = 0; tile == 0 && taken < ITEMS; taken++) {
        const uint64_t *item;
        while (!(item = sarc_oldest(&reader)))
            ;
        uint64_t from = sarc_load(item) >> 16, number = sarc_load(item) & 0xffff;
        narthex_check(from < TILES && number == next[from]++, "item %llu of tile %llu comes early",
                      (unsigned long long)number, (unsigned long long)from);
        for (unsigned word = 1; word < WORDS; word++)
            narthex_check(sarc_load(&item[word]) == pattern_word(from, number * WORDS + word),
                          "word %u of an item is wrong", word);
        sarc_dequeue(&reader);
    }
}

/* A region with a counter in it is swapped out and in again, twice, while the others send words to
 * each other; the count goes on where it was. */
static void test_swap(unsigned tile, uint64_t *lines, uint64_t *words) {
    enum { LINES = 2 };
    char *buffer = tile == 3 ? aligned_alloc(64, 4096) : NULL;
    uint64_t *flag = words;
    if (tile == 3) {
        sarc_make_counter(lines, -4, -4, 1, &flag, 1);
        sarc_store(&lines[SARC_LINE_WORDS + 3], 4711);
        for (int turn = 0; turn < 3; turn++) {
            sarc_add(lines, 1);
            narthex_check(sarc_value(lines) == turn - 3, "the counter is %lld",
                          (long long)sarc_value(lines));
            int error = sarc_swap_out(lines, LINES, buffer);
            narthex_check(error == 0, "swapping out: %s", strerror(error));
            narthex_pause(2000);
            error = sarc_swap_in(lines, LINES, buffer);
            narthex_check(error == 0, "swapping in: %s", strerror(error));
        }
        narthex_check(sarc_load(&lines[SARC_LINE_WORDS + 3]) == 4711, "a word is lost");
        sarc_add(lines, 1);
        sarc_await_flag(flag);
        narthex_check(sarc_value(lines) == -4, "the counter does not begin again");
    }
    unsigned next = (tile + 1) % 3;
    for (uint64_t round = 1; round <= ROUNDS && tile < 3; round++) {
        sarc_store(sarc_remote(words, next), round);
        while (sarc_load(words) < round)
            ;
    }
    free(buffer);
}

/* A read of a counter, and of a scratchpad, comes to the place that it names. */
static void test_reads(unsigned tile, uint64_t *lines, uint64_t *command) {
    if (tile == 1) {
        sarc_make_counter(lines, 17, 0, 0, NULL, 0);
        sarc_store(&lines[SARC_LINE_WORDS], 4712);
        sarc_fence();
    }
    sarc_rendezvous(tile);
    if (tile == 0) {
        uint64_t *place = lines + 2 * SARC_LINE_WORDS;
        for (unsigned line = 0; line < 2; line++) {
            sarc_read(command, place, sarc_remote(lines, 1) + line * SARC_LINE_WORDS, 8, NULL);
            while (sarc_load(place) == 0)
                ;
            narthex_check(sarc_load(place) == (line == 0 ? 17 : 4712), "a read brings %llu",
                          (unsigned long long)sarc_load(place));
            sarc_store(place, 0);
        }
    }
}

/* Tokens that were asked for before and after they came. */
static void test_tokens(unsigned tile, uint64_t *queue, uint64_t *command) {
    uint64_t *flag = take_lines(1);
    if (tile == 0)
        sarc_make_queue(queue, SARC_ROLE_MULTIPLE_READER, 1, 8);
    sarc_rendezvous(tile);
    uint64_t *home = sarc_remote(queue, 0);
    if (tile > 0)
        sarc_read(command, flag, home, 8, NULL);
    for (uint64_t token = 1; tile == 0 && token <= TILES; token++)
        sarc_store(home, token);
    if (tile == 0) {
        uint64_t got = sarc_load(home);
        narthex_check(got >= 1 && got <= TILES, "a load of the queue brings %llu",
                      (unsigned long long)got);
    } else {
        sarc_await_flag(flag);
    }
    sarc_rendezvous(tile);
    narthex_check(tile > 0 || sarc_load(&queue[1]) == 0, "the queue holds %lld",
                  (long long)sarc_load(&queue[1]));
}

/* Stores, copies and counters by a region's addresses reach its place, which changes. */
static void test_regions(unsigned tile, uint64_t *lines, uint64_t *command) {
    enum { BYTES = 2 * SARC_LINE_BYTES };
    uint64_t *flag = lines + 2 * SARC_LINE_WORDS, *counter = flag + SARC_LINE_WORDS;
    for (unsigned owner = 1; owner < 3; owner++) {
        if (tile == 0) {
            uint64_t *there = sarc_define_region(SARC_REGIONS, sarc_remote(lines, owner), BYTES,
                                                 SARC_LOADS | SARC_STORES);
            uint64_t *own = sarc_define_region(SARC_REGIONS + 4 * SARC_REGION_BYTES, lines,
                                               4 * SARC_LINE_BYTES, SARC_LOADS | SARC_STORES);
            narthex_check(there && own, "no region: %s", strerror(errno));
            uint64_t *told = own + (flag - lines);
            for (unsigned word = 0; word < BYTES / 8; word++)
                sarc_store(&own[word], pattern_word(owner, word));
            sarc_make_counter(counter, -BYTES, -BYTES, 1, &told, 1);
            sarc_copy(command, there, own, BYTES, own + (counter - lines));
            sarc_await_flag(told);
            sarc_store(&there[1], owner);
            sarc_fence();
            narthex_check(sarc_load(&there[1]) == owner, "a load by a region is wrong");
            sarc_mark(counter, SARC_ROLE_SCRATCHPAD);
        }
        sarc_rendezvous(tile);
        for (unsigned word = 0; tile == owner && word < BYTES / 8; word++)
            narthex_check(
                sarc_load(&lines[word]) == (word == 1 ? owner : pattern_word(owner, word)),
                "word %u by a region is %#llx", word, (unsigned long long)sarc_load(&lines[word]));
    }
    if (tile == 0) {
        int error = sarc_remove_region(SARC_REGIONS);
        narthex_check(error == 0, "removing a region: %s", strerror(error));
        narthex_check(sarc_remove_region(SARC_REGIONS) == ENOENT, "a region is removed twice");
        narthex_check(!sarc_define_region(SARC_REGIONS + 8, lines, 8, SARC_LOADS) &&
                          errno == EINVAL,
                      "a region begins anywhere");
    }
}

static void work(unsigned tile) {
    uint64_t *lines = take_lines(64), *queue = take_lines(16), *command = take_command();
    uint64_t *swapped = take_lines(2), *words = take_lines(1), *tokens = take_lines(2);
    uint64_t *read = take_lines(3), *regions = take_lines(4);
    sarc_rendezvous(tile);
    narthex_check(sarc_tile_of(lines) == tile && sarc_is_local(lines), "tile %u is not itself",
                  tile);
    test_alignments(tile, lines, command);
    sarc_rendezvous(tile);
    test_queue(tile, queue, command);
    sarc_rendezvous(tile);
    test_swap(tile, swapped, words);
    sarc_rendezvous(tile);
    test_reads(tile, read, command);
    sarc_rendezvous(tile);
    test_tokens(tile, tokens, command);
    sarc_rendezvous(tile);
    test_regions(tile, regions, command);
}

/* Mistakes: each ends the run */

static void mark_as_nothing(void) {
    sarc_mark(take_lines(1), 9);
}

static void mark_the_caches_line(void) {
    sarc_mark(take_lines(1) + 2 * SARC_LINE_WORDS, SARC_ROLE_COUNTER);
}

static void load_the_caches_line(void) {
    sarc_load(take_lines(1) + 2 * SARC_LINE_WORDS);
}

static void make_odd_items(void) {
    uint64_t *queue = take_lines(4);
    sarc_make_queue(queue, SARC_ROLE_SINGLE_READER, 3, 4);
    sarc_store(queue, 1);
}

static void make_a_queue_of_too_few_lines(void) {
    uint64_t *queue = take_lines(2);
    sarc_make_queue(queue, SARC_ROLE_SINGLE_READER, 8, 16);
    sarc_store(queue, 1);
}

static void fill_a_queue(void) {
    uint64_t *queue = take_lines(2);
    sarc_make_queue(queue, SARC_ROLE_SINGLE_READER, 4, 2);
    for (int item = 0; item < 3; item++)
        sarc_store(queue, 1);
}

static void notify_nothing(void) {
    uint64_t *nowhere = (uint64_t *)UINT64_C(0x123456000);
    uint64_t *counter = take_lines(1);
    sarc_make_counter(counter, -1, -1, 1, &nowhere, 1);
    sarc_add(counter, 1);
    narthex_pause(1000);
}

static void copy_beyond_a_region(void) {
    uint64_t *command = take_command(), *lines = take_lines(4);
    sarc_copy(command, lines, lines + 2 * SARC_LINE_WORDS, 256, NULL);
    narthex_pause(1000);
}

static void copy_too_much(void) {
    uint64_t *command = take_command(), *lines = take_lines(4);
    sarc_copy(command, lines, lines + 2 * SARC_LINE_WORDS, SARC_COPY_BYTES + 8, NULL);
    narthex_pause(1000);
}

static void copy_to_nowhere(void) {
    uint64_t *command = take_command(), *lines = take_lines(4);
    sarc_copy(command, (void *)UINT64_C(0x123456000), lines, 64, NULL);
    narthex_pause(1000);
}

static void store_twice(void) {
    uint64_t *command = take_command();
    sarc_store(&command[1], (uintptr_t)command);
    sarc_store(&command[1], (uintptr_t)command);
}

static void run_an_unknown_operation(void) {
    uint64_t *command = take_command();
    for (unsigned word = 1; word < 4; word++)
        sarc_store(&command[word], (uintptr_t)command);
    sarc_store(command, sarc_operation(99, 8));
    narthex_pause(1000);
}

static void take_too_much(void) {
    take_lines((unsigned)(sarc_register(SARC_REGISTER_L2_BYTES) / SARC_LINE_BYTES));
}

static void use_after_free(void) {
    uint64_t *lines = take_lines(2);
    sarc_free(lines, 2);
    sarc_store(lines, 1);
}

static void use_swapped_lines(void) {
    uint64_t *lines = take_lines(2);
    char *buffer = aligned_alloc(64, 4096);
    sarc_swap_out(lines, 2, buffer);
    sarc_store(lines, 1);
}

static void move_a_head_too_far(void) {
    uint64_t *queue = take_lines(2);
    sarc_make_queue(queue, SARC_ROLE_SINGLE_READER, 4, 2);
    sarc_store(&queue[2], 1);
}

static void load_from_no_region(void) {
    sarc_load((uint64_t *)SARC_REGIONS);
}

static uint64_t *region_of(unsigned permissions) {
    return sarc_define_region(SARC_REGIONS, take_lines(1), SARC_LINE_BYTES, permissions);
}

static void store_to_what_is_loaded(void) {
    sarc_store(region_of(SARC_LOADS), 1);
    narthex_pause(1000);
}

static void copy_from_what_is_stored(void) {
    uint64_t *command = take_command(), *lines = take_lines(1);
    sarc_copy(command, lines, region_of(SARC_STORES), 64, NULL);
    narthex_pause(1000);
}

static const struct {
    const char *name;
    void (*make)(void);
} MISTAKES[] = {
    {"role", mark_as_nothing},
    {"cache-mark", mark_the_caches_line},
    {"cache-load", load_the_caches_line},
    {"items", make_odd_items},
    {"lines", make_a_queue_of_too_few_lines},
    {"full", fill_a_queue},
    {"notify", notify_nothing},
    {"beyond", copy_beyond_a_region},
    {"long", copy_too_much},
    {"nowhere", copy_to_nowhere},
    {"twice", store_twice},
    {"operation", run_an_unknown_operation},
    {"ways", take_too_much},
    {"freed", use_after_free},
    {"swapped", use_swapped_lines},
    {"head", move_a_head_too_far},
    {"uncovered", load_from_no_region},
    {"forbidden", store_to_what_is_loaded},
    {"source", copy_from_what_is_stored},
};

int main(int count, char **values) {
    if (count < 2) {
        sarc_run(TILES, work);
        return 0;
    }
    for (unsigned each = 0; each < sizeof MISTAKES / sizeof MISTAKES[0]; each++) {
        if (strcmp(values[1], MISTAKES[each].name) == 0 && narthex_node() == 0) {
            MISTAKES[each].make();
            printf("the mistake %s was not noticed\n", values[1]);
        }
    }
    return 0;
}
