/* Sort of elements in scratchpads (Figure 9).
 *
 *     sarc-bitonic [KEYS [TILES [METHOD [ROUNDS [ALGORITHM]]]]]
 *
 * KEYS and TILES are powers of two. METHOD is stores (each key is stored into the partner's
 * scratchpad) or dma (a copy of all). ALGORITHM is network (bitonic: partners exchange all keys,
 * and each keeps one of each pair) or merge (each tile sorts its keys by merging, then half of the
 * tiles send theirs to the other half, which merge, until tile 0 has all). By default 64 keys, two
 * tiles, stores, 5 rounds, of which the first is not measured, network. The result is checked. See
 * README.md. */
#include "../pattern.h"
#include "../sarc_work.h"

enum { STORES, DMA, METHODS };
enum { NETWORK, MERGE, ALGORITHMS };
enum { MOST_TILES = 128, MOST_EXCHANGES = 28, MOST_KEYS = 1 << 16 };

static const char *const NAMES[METHODS] = {"stores", "dma"};
static const char *const ALGORITHM_NAMES[ALGORITHMS] = {"network", "merge"};

static unsigned method, algorithm, tiles;
static uint64_t keys, share, rounds; /* keys of all, and of a tile */

/* One exchange with a partner: where its keys come to, and what tells that a copy is complete. */
struct exchange {
    uint64_t count;             /* of keys */
    uint32_t *arrived;          /* of the own tile */
    uint64_t *flag;             /* of the own tile */
    uint32_t *partners_arrived; /* of the partner */
    uint64_t *partners_completed;
};

struct state {
    uint32_t *keys, *spare; /* as many of each as a tile has at the end */
    uint64_t *command;
    struct exchange exchanges[MOST_EXCHANGES];
    uint64_t communicated; /* cycles */
};

static void prepare_exchange(struct exchange *exchange, unsigned partner, uint64_t count) {
    int64_t bytes = (int64_t)(count * sizeof(uint32_t));
    exchange->count = count;
    exchange->arrived = take_elements(count);
    exchange->flag = take_lines(1);
    uint64_t *completed = take_lines(1);
    sarc_make_counter(completed, -bytes, -bytes, 1, &exchange->flag, 1);
    exchange->partners_arrived = elements_of(exchange->arrived, partner);
    exchange->partners_completed = sarc_remote(completed, partner);
}

static void prepare(struct state *own, unsigned tile) {
    struct exchange *exchange = own->exchanges;
    uint64_t most = algorithm == MERGE ? keys : share;
    own->keys = take_elements(most);
    own->spare = algorithm == MERGE ? take_elements(most) : NULL;
    own->command = take_command();
    for (unsigned size = 2; size <= tiles; size *= 2)
        if (algorithm == MERGE)
            prepare_exchange(exchange++, tile ^ size / 2, share * size / 2);
        else
            for (unsigned distance = size / 2; distance > 0; distance /= 2)
                prepare_exchange(exchange++, tile ^ distance, share);
}

/* Keys are below NOT_YET. */
static uint32_t key_at(uint64_t round, uint64_t place) {
    return (uint32_t)(pattern_word(round, place) >> 33);
}

static void begin_round(struct state *own, unsigned tile, uint64_t round) {
    for (uint64_t place = 0; place < share; place++)
        sarc_store_32(&own->keys[place], key_at(round, tile * share + place));
    for (unsigned each = 0; each < MOST_EXCHANGES && own->exchanges[each].arrived; each++)
        for (uint64_t place = 0; place < own->exchanges[each].count; place++)
            sarc_store_32(&own->exchanges[each].arrived[place], NOT_YET);
    sarc_fence();
}

/* Exchanges */

static void send_keys(const struct state *own, const struct exchange *exchange) {
    if (method == DMA)
        sarc_copy(own->command, exchange->partners_arrived, own->keys,
                  exchange->count * sizeof(uint32_t), exchange->partners_completed);
    else
        for (uint64_t place = 0; place < exchange->count; place++)
            sarc_store_32(&exchange->partners_arrived[place], sarc_load_32(&own->keys[place]));
}

static void await_keys(const struct exchange *exchange) {
    if (method == DMA)
        sarc_await_flag(exchange->flag);
    else
        for (uint64_t place = 0; place < exchange->count; place++)
            await_element(&exchange->arrived[place]);
}

/* Returns when keys that were sent may be changed. */
static void await_sent(const struct state *own) {
    while (method == DMA && !sarc_command_is_free(own->command))
        ;
}

/* The bitonic network */

/* Keeps the smaller or the larger key of each pair. */
static void select_keys(struct state *own, const struct exchange *exchange, bool keeps_smaller) {
    for (uint64_t place = 0; place < share; place++) {
        uint32_t mine = sarc_load_32(&own->keys[place]);
        uint32_t other = sarc_load_32(&exchange->arrived[place]);
        if ((other < mine) == keeps_smaller)
            sarc_store_32(&own->keys[place], other);
    }
}

static void compare(uint32_t *one, uint32_t *other, bool ascends) {
    uint32_t first = sarc_load_32(one), second = sarc_load_32(other);
    if ((first > second) == ascends) {
        sarc_store_32(one, second);
        sarc_store_32(other, first);
    }
}

/* Merges bitonic runs of `size` of a tile's own keys, up and down in turn; the last in one
 * direction. */
static void merge_bitonic(uint32_t *own, uint64_t size, bool ascends) {
    for (uint64_t distance = size / 2; distance > 0; distance /= 2)
        for (uint64_t first = 0; first < share; first += 2 * distance) {
            bool up = size < share ? !(first & size) : ascends;
            for (uint64_t place = first; place < first + distance; place++)
                compare(&own[place], &own[place + distance], up);
        }
}

static void sort_by_network(struct state *own, unsigned tile) {
    const struct exchange *exchange = own->exchanges;
    for (uint64_t size = 2; size <= share; size *= 2)
        merge_bitonic(own->keys, size, !(tile & 1));
    for (unsigned size = 2; size <= tiles; size *= 2) {
        bool ascends = !(tile & size);
        for (unsigned distance = size / 2; distance > 0; distance /= 2, exchange++) {
            uint64_t begin = cycles_now();
            send_keys(own, exchange);
            await_keys(exchange);
            await_sent(own);
            own->communicated += cycles_now() - begin;
            select_keys(own, exchange, ascends == !(tile & distance));
        }
        merge_bitonic(own->keys, share, ascends);
    }
}

/* Merging */

/* Merges two runs of as many keys. */
static void merge_runs(uint32_t *to, const uint32_t *one, const uint32_t *other, uint64_t count) {
    const uint32_t *end_of_one = one + count, *end_of_other = other + count;
    uint32_t first = sarc_load_32(one), second = sarc_load_32(other);
    for (;;) {
        if (first <= second) {
            sarc_store_32(to++, first);
            if (++one == end_of_one)
                break;
            first = sarc_load_32(one);
        } else {
            sarc_store_32(to++, second);
            if (++other == end_of_other)
                break;
            second = sarc_load_32(other);
        }
    }
    while (one < end_of_one)
        sarc_store_32(to++, sarc_load_32(one++));
    while (other < end_of_other)
        sarc_store_32(to++, sarc_load_32(other++));
}

static void swap_spare(struct state *own) {
    uint32_t *keys = own->keys;
    own->keys = own->spare;
    own->spare = keys;
}

static void sort_by_merging(struct state *own, unsigned tile) {
    const struct exchange *exchange = own->exchanges;
    for (uint64_t size = 1; size < share; size *= 2, swap_spare(own))
        for (uint64_t first = 0; first < share; first += 2 * size)
            merge_runs(&own->spare[first], &own->keys[first], &own->keys[first + size], size);
    for (unsigned distance = 1; distance < tiles; distance *= 2, exchange++) {
        bool sends = tile & distance;
        uint64_t begin = cycles_now();
        if (sends) {
            send_keys(own, exchange);
            await_sent(own);
        } else {
            await_keys(exchange);
        }
        own->communicated += cycles_now() - begin;
        if (sends)
            return;
        merge_runs(own->spare, own->keys, exchange->arrived, exchange->count);
        swap_spare(own);
    }
}

static void sort(struct state *own, unsigned tile) {
    if (algorithm == MERGE)
        sort_by_merging(own, tile);
    else
        sort_by_network(own, tile);
}

/* What a tile has of the result. */
static uint64_t keys_of(unsigned tile) {
    if (algorithm == NETWORK)
        return share;
    return tile == 0 ? keys : 0;
}

/* Of a sum that tells whether keys are lost. */
static uint64_t summand(uint64_t key) {
    return key * (key ^ 0x5a5a);
}

/* Each tile's keys ascend, from the largest of the tile before, and none is lost. */
static void check(const struct state *own, uint64_t *table, unsigned tile, uint64_t round) {
    uint64_t sum = 0, before = 0, count = keys_of(tile);
    for (uint64_t place = 0; place < count; place++) {
        uint64_t key = sarc_load_32(&own->keys[place]);
        narthex_check(key >= before,
                      "round %llu: key %llu of tile %u is smaller than the one before",
                      (unsigned long long)round, (unsigned long long)place, tile);
        before = key;
        sum += summand(key);
    }
    if (tile > 0 && algorithm == NETWORK)
        narthex_check(sarc_load_32(&elements_of(own->keys, tile - 1)[share - 1]) <=
                          sarc_load_32(&own->keys[0]),
                      "round %llu: the first key of tile %u is smaller than the last one before it",
                      (unsigned long long)round, tile);
    struct of_tiles all = of_tiles(table, tile, tiles, sum);
    for (uint64_t place = 0; tile == 0 && place < keys; place++)
        all.sum -= summand(key_at(round, place));
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
    algorithm = choice(arguments, values, 5, "algorithm", ALGORITHM_NAMES, ALGORITHMS);
    narthex_check(is_power_of_two(keys) && is_power_of_two(tiles) && tiles <= keys,
                  "%llu keys are to be sorted by %u tiles; both are powers of two, and each tile "
                  "has a key",
                  (unsigned long long)keys, tiles);
    share = keys / tiles;
    sarc_run(tiles, work);
    return 0;
}
