/* Bitonic sort of words in scratchpads (Figure 9).
 *
 *     sarc-bitonic [KEYS [TILES [METHOD [ROUNDS]]]]
 *
 * KEYS and TILES are powers of two. METHOD is stores (each key is stored into the partner's
 * scratchpad) or dma (a copy of all). By default 64 keys, two tiles, stores, 5 rounds, of which the
 * first is not measured. The result is checked. See README.md. */
#include "../pattern.h"
#include "../sarc_work.h"

enum { STORES, DMA, METHODS };
enum { MOST_TILES = 128, MOST_EXCHANGES = 28, MOST_KEYS = 1 << 16 };

static const char *const NAMES[METHODS] = {"stores", "dma"};

static unsigned method, tiles;
static uint64_t keys, share, rounds; /* keys of all, and of a tile */

/* One exchange with a partner: where its keys come to, and what tells that a copy is complete. */
struct exchange {
    uint64_t *arrived, *flag;                        /* of the own tile */
    uint64_t *partners_arrived, *partners_completed; /* of the partner */
};

struct state {
    uint64_t *keys, *command;
    struct exchange exchanges[MOST_EXCHANGES];
    uint64_t communicated; /* cycles */
};

static unsigned lines_of(uint64_t words) {
    return (unsigned)((words + SARC_LINE_WORDS - 1) / SARC_LINE_WORDS);
}

static void prepare(struct state *own, unsigned tile) {
    unsigned number = 0;
    int64_t bytes = (int64_t)(share * sizeof(uint64_t));
    own->keys = take_lines(lines_of(share));
    own->command = take_command();
    for (unsigned size = 2; size <= tiles; size *= 2)
        for (unsigned distance = size / 2; distance > 0; distance /= 2) {
            struct exchange *exchange = &own->exchanges[number++];
            unsigned partner = tile ^ distance;
            exchange->arrived = take_lines(lines_of(share));
            exchange->flag = take_lines(1);
            uint64_t *completed = take_lines(1);
            sarc_make_counter(completed, -bytes, -bytes, 1, &exchange->flag, 1);
            exchange->partners_arrived = sarc_remote(exchange->arrived, partner);
            exchange->partners_completed = sarc_remote(completed, partner);
        }
}

/* Keys are below NOT_YET. */
static uint64_t key_at(uint64_t round, uint64_t place) {
    return pattern_word(round, place) >> 1;
}

static void begin_round(struct state *own, unsigned tile, uint64_t round) {
    for (uint64_t place = 0; place < share; place++)
        sarc_store(&own->keys[place], key_at(round, tile * share + place));
    for (unsigned each = 0; each < MOST_EXCHANGES && own->exchanges[each].arrived; each++)
        for (uint64_t place = 0; place < share; place++)
            sarc_store(&own->exchanges[each].arrived[place], NOT_YET);
    sarc_fence();
}

static void exchange_keys(struct state *own, const struct exchange *exchange) {
    if (method == DMA) {
        sarc_copy(own->command, exchange->partners_arrived, own->keys, share * sizeof(uint64_t),
                  exchange->partners_completed);
        sarc_await_flag(exchange->flag);
        while (!sarc_command_is_free(own->command))
            ;
    } else {
        for (uint64_t place = 0; place < share; place++)
            sarc_store(&exchange->partners_arrived[place], sarc_load(&own->keys[place]));
        for (uint64_t place = 0; place < share; place++)
            await_word(&exchange->arrived[place]);
    }
}

/* Keeps the smaller or the larger key of each pair. */
static void select_keys(struct state *own, const struct exchange *exchange, bool keeps_smaller) {
    for (uint64_t place = 0; place < share; place++) {
        uint64_t mine = sarc_load(&own->keys[place]), other = sarc_load(&exchange->arrived[place]);
        if ((other < mine) == keeps_smaller)
            sarc_store(&own->keys[place], other);
    }
}

static void compare(uint64_t *one, uint64_t *other, bool ascends) {
    uint64_t first = sarc_load(one), second = sarc_load(other);
    if ((first > second) == ascends) {
        sarc_store(one, second);
        sarc_store(other, first);
    }
}

/* Merges runs of `size` of a tile's own keys, up and down in turn; the last in one direction. */
static void merge(uint64_t *own, uint64_t size, bool ascends) {
    for (uint64_t distance = size / 2; distance > 0; distance /= 2)
        for (uint64_t first = 0; first < share; first += 2 * distance) {
            bool up = size < share ? !(first & size) : ascends;
            for (uint64_t place = first; place < first + distance; place++)
                compare(&own[place], &own[place + distance], up);
        }
}

static void sort(struct state *own, unsigned tile) {
    const struct exchange *exchange = own->exchanges;
    for (uint64_t size = 2; size <= share; size *= 2)
        merge(own->keys, size, !(tile & 1));
    for (unsigned size = 2; size <= tiles; size *= 2) {
        bool ascends = !(tile & size);
        for (unsigned distance = size / 2; distance > 0; distance /= 2, exchange++) {
            uint64_t begin = cycles_now();
            exchange_keys(own, exchange);
            own->communicated += cycles_now() - begin;
            select_keys(own, exchange, ascends == !(tile & distance));
        }
        merge(own->keys, share, ascends);
    }
}

/* Each tile's keys ascend, from the largest of the tile before, and none is lost. */
static void check(const struct state *own, uint64_t *table, unsigned tile, uint64_t round) {
    uint64_t sum = 0, before = 0;
    for (uint64_t place = 0; place < share; place++) {
        uint64_t key = sarc_load(&own->keys[place]);
        narthex_check(key >= before,
                      "round %llu: key %llu of tile %u is smaller than the one before",
                      (unsigned long long)round, (unsigned long long)place, tile);
        before = key;
        sum += key * (key ^ 0x5a5a);
    }
    if (tile > 0)
        narthex_check(sarc_load(&sarc_remote(own->keys, tile - 1)[share - 1]) <=
                          sarc_load(&own->keys[0]),
                      "round %llu: the first key of tile %u is smaller than the last one before it",
                      (unsigned long long)round, tile);
    struct of_tiles all = of_tiles(table, tile, tiles, sum);
    for (uint64_t place = 0; tile == 0 && place < keys; place++)
        all.sum -= key_at(round, place) * (key_at(round, place) ^ 0x5a5a);
    narthex_check(tile > 0 || all.sum == 0, "round %llu: keys are lost", (unsigned long long)round);
}

static void work(unsigned tile) {
    struct state own = {0};
    uint64_t *table = take_table(tiles), elapsed = 0;
    prepare(&own, tile);
    for (uint64_t round = 0; round < rounds; round++) {
        begin_round(&own, tile, round);
        sarc_rendezvous(tile);
        uint64_t begin = cycles_now();
        sort(&own, tile);
        sarc_fence();
        elapsed += cycles_now() - begin;
        if (round == 0)
            own.communicated = elapsed = 0;
        sarc_rendezvous(tile);
        check(&own, table, tile, round);
    }
    struct of_tiles time = of_tiles(table, tile, tiles, elapsed);
    struct of_tiles communication = of_tiles(table, tile, tiles, own.communicated);
    if (tile > 0)
        return;
    narthex_report("execution time", (double)time.largest / (double)(rounds - 1), "cycles");
    narthex_report("communication time", (double)communication.sum / ((double)(rounds - 1) * tiles),
                   "cycles");
}

static bool is_power_of_two(uint64_t number) {
    return (number & (number - 1)) == 0;
}

int main(int arguments, char **values) {
    keys = (uint64_t)argument(arguments, values, 1, "keys", 1, MOST_KEYS, 64);
    tiles = (unsigned)argument(arguments, values, 2, "tiles", 1, MOST_TILES, 2);
    method = choice(arguments, values, 3, "method", NAMES, METHODS);
    rounds = (uint64_t)argument(arguments, values, 4, "rounds", 2, 1000, 5);
    narthex_check(is_power_of_two(keys) && is_power_of_two(tiles) && tiles <= keys,
                  "%llu keys are to be sorted by %u tiles; both are powers of two, and each tile "
                  "has a key",
                  (unsigned long long)keys, tiles);
    share = keys / tiles;
    sarc_run(tiles, work);
    return 0;
}
