/* Fast Fourier transform of complex numbers in scratchpads, with one exchange of all with all
 * (Figure 10).
 *
 *     sarc-fft [POINTS [TILES [METHOD [ROUNDS]]]]
 *
 * POINTS and TILES are powers of two, POINTS at least TILES squared. METHOD is stores (each number
 * is stored into the scratchpad of the tile that needs it) or dma (a copy for each tile). By
 * default 256 points, two tiles, dma, 3 rounds, of which the first is not measured. The result is
 * checked. See README.md. */
#include <math.h>

#include "../pattern.h"
#include "../sarc_work.h"

enum { DMA, STORES, METHODS };
enum { MOST_TILES = 16, MOST_POINTS = 4096, CHECKED_POINTS = 32 };
enum { WORDS = 2 }; /* of a complex number */

static const char *const NAMES[METHODS] = {"dma", "stores"};

struct complex {
    double real, imaginary;
};

static unsigned method, tiles;
static uint64_t points, share, piece,
    rounds;                               /* points of all, of a tile, that two tiles exchange */
static struct complex roots[MOST_POINTS]; /* exp(-2 pi i k / points) */

struct state {
    uint64_t *own, *arrived, *flag; /* of the own tile */
    uint64_t *commands[MOST_TILES];
    uint64_t *to[MOST_TILES], *completed[MOST_TILES]; /* of each tile: its place for our piece */
    uint64_t communicated;                            /* cycles */
};

/* Numbers in scratchpads */

static struct complex load(const uint64_t *place) {
    uint64_t words[WORDS] = {sarc_load(&place[0]), sarc_load(&place[1])};
    struct complex value;
    memcpy(&value, words, sizeof value);
    return value;
}

static void store(uint64_t *place, struct complex value) {
    uint64_t words[WORDS];
    memcpy(words, &value, sizeof value);
    sarc_store(&place[0], words[0]);
    sarc_store(&place[1], words[1]);
}

static struct complex add(struct complex one, struct complex other) {
    return (struct complex){one.real + other.real, one.imaginary + other.imaginary};
}

static struct complex subtract(struct complex one, struct complex other) {
    return (struct complex){one.real - other.real, one.imaginary - other.imaginary};
}

static struct complex multiply(struct complex one, struct complex other) {
    return (struct complex){one.real * other.real - one.imaginary * other.imaginary,
                            one.real * other.imaginary + one.imaginary * other.real};
}

static void make_roots(void) {
    for (uint64_t place = 0; place < points; place++) {
        double angle = -2 * 3.14159265358979323846 * (double)place / (double)points;
        roots[place] = (struct complex){cos(angle), sin(angle)};
    }
}

static struct complex input(uint64_t round, uint64_t place) {
    return (struct complex){(double)(pattern_word(round, 2 * place) >> 40) * 0x1p-24 - 0.5,
                            (double)(pattern_word(round, 2 * place + 1) >> 40) * 0x1p-24 - 0.5};
}

/* Preparation */

static unsigned lines_of(uint64_t numbers) {
    return (unsigned)((numbers * WORDS + SARC_LINE_WORDS - 1) / SARC_LINE_WORDS);
}

static void prepare(struct state *own, unsigned tile) {
    int64_t bytes = (int64_t)(share * sizeof(struct complex));
    own->own = take_lines(lines_of(share));
    own->arrived = take_lines(lines_of(share));
    own->flag = take_lines(1);
    uint64_t *completed = take_lines(1);
    sarc_make_counter(completed, -bytes, -bytes, 1, &own->flag, 1);
    for (unsigned other = 0; other < tiles; other++) {
        own->commands[other] = take_command();
        own->to[other] = sarc_remote(own->arrived, other) + tile * piece * WORDS;
        own->completed[other] = sarc_remote(completed, other);
    }
}

static uint64_t reversed(uint64_t number, uint64_t size) {
    uint64_t result = 0;
    for (; size > 1; size /= 2, number /= 2)
        result = 2 * result + number % 2;
    return result;
}

/* Tile t has points t, t + tiles, ... in the order of reversed bits. */
static void begin_round(struct state *own, unsigned tile, uint64_t round) {
    for (uint64_t place = 0; place < share; place++) {
        uint64_t point = tile + tiles * reversed(place, share);
        store(&own->own[place * WORDS], input(round, point));
        sarc_store(&own->arrived[place * WORDS], NOT_YET);
        sarc_store(&own->arrived[place * WORDS + 1], NOT_YET);
    }
    sarc_fence();
}

/* Transform */

/* The transform of a tile's own points. */
static void transform_own(uint64_t *own) {
    for (uint64_t half = 1; half < share; half *= 2)
        for (uint64_t first = 0; first < share; first += 2 * half)
            for (uint64_t place = 0; place < half; place++) {
                uint64_t *one = &own[(first + place) * WORDS], *other = one + half * WORDS;
                struct complex upper = load(one);
                struct complex lower = multiply(load(other), roots[place * (points / 2 / half)]);
                store(one, add(upper, lower));
                store(other, subtract(upper, lower));
            }
}

/* Piece t of the own points goes to tile t. */
static void exchange(struct state *own) {
    if (method == DMA) {
        for (unsigned tile = 0; tile < tiles; tile++)
            sarc_copy(own->commands[tile], own->to[tile], own->own + tile * piece * WORDS,
                      piece * sizeof(struct complex), own->completed[tile]);
        sarc_await_flag(own->flag);
        return;
    }
    for (uint64_t place = 0; place < share; place++)
        store(&own->to[place / piece][place % piece * WORDS], load(&own->own[place * WORDS]));
    for (uint64_t word = 0; word < share * WORDS; word++)
        await_word(&own->arrived[word]);
}

/* The transform of one point of each tile, which arrived in the order of tiles. */
static void transform_across(struct complex *values, uint64_t size) {
    for (uint64_t place = 0; place < size; place++) {
        uint64_t other = reversed(place, size);
        if (place < other) {
            struct complex kept = values[place];
            values[place] = values[other];
            values[other] = kept;
        }
    }
    for (uint64_t half = 1; half < size; half *= 2)
        for (uint64_t first = 0; first < size; first += 2 * half)
            for (uint64_t place = 0; place < half; place++) {
                struct complex upper = values[first + place];
                struct complex lower =
                    multiply(values[first + place + half], roots[place * (points / 2 / half)]);
                values[first + place] = add(upper, lower);
                values[first + place + half] = subtract(upper, lower);
            }
}

/* Of what all tiles sent: results k and k + share, k + 2 share ... for the tile's own k. */
static void combine(struct state *own, unsigned tile) {
    struct complex values[MOST_TILES];
    for (uint64_t place = 0; place < piece; place++) {
        uint64_t point = tile * piece + place;
        for (unsigned from = 0; from < tiles; from++)
            values[from] = multiply(load(&own->arrived[(from * piece + place) * WORDS]),
                                    roots[from * point % points]);
        transform_across(values, tiles);
        for (unsigned part = 0; part < tiles; part++)
            store(&own->own[(part * piece + place) * WORDS], values[part]);
    }
}

static void transform(struct state *own, unsigned tile) {
    transform_own(own->own);
    if (tiles == 1)
        return;
    uint64_t begin = cycles_now();
    exchange(own);
    own->communicated += cycles_now() - begin;
    combine(own, tile);
}

/* Compares some of a tile's results with the sum that defines them. */
static void check(const struct state *own, unsigned tile, uint64_t round) {
    uint64_t step = share > CHECKED_POINTS ? share / CHECKED_POINTS : 1;
    for (uint64_t place = 0; place < share; place += step) {
        uint64_t point = tile * piece + place % piece + place / piece * share;
        struct complex sum = {0, 0}, got = load(&own->own[place * WORDS]);
        for (uint64_t from = 0; from < points; from++)
            sum = add(sum, multiply(input(round, from), roots[from * point % points]));
        narthex_check(fabs(sum.real - got.real) + fabs(sum.imaginary - got.imaginary) < 1e-9,
                      "round %llu: result %llu is %g %+gi, not %g %+gi", (unsigned long long)round,
                      (unsigned long long)point, got.real, got.imaginary, sum.real, sum.imaginary);
    }
}

static void work(unsigned tile) {
    struct state own = {0};
    uint64_t *table = take_table(tiles), elapsed = 0;
    prepare(&own, tile);
    for (uint64_t round = 0; round < rounds; round++) {
        begin_round(&own, tile, round);
        sarc_rendezvous(tile);
        uint64_t begin = cycles_now();
        transform(&own, tile);
        sarc_fence();
        elapsed += cycles_now() - begin;
        if (round == 0)
            own.communicated = elapsed = 0;
        sarc_rendezvous(tile);
        check(&own, tile, round);
    }
    struct of_tiles time = of_tiles(table, tile, tiles, elapsed);
    struct of_tiles communication = of_tiles(table, tile, tiles, own.communicated);
    if (tile > 0)
        return;
    narthex_report("execution time", (double)time.largest / (double)(rounds - 1), "cycles");
    narthex_report("communication time", (double)communication.sum / ((double)(rounds - 1) * tiles),
                   "cycles");
}

int main(int arguments, char **values) {
    points = (uint64_t)argument(arguments, values, 1, "points", 2, MOST_POINTS, 256);
    tiles = (unsigned)argument(arguments, values, 2, "tiles", 1, MOST_TILES, 2);
    method = choice(arguments, values, 3, "method", NAMES, METHODS);
    rounds = (uint64_t)argument(arguments, values, 4, "rounds", 2, 1000, 3);
    narthex_check((points & (points - 1)) == 0 && (tiles & (tiles - 1)) == 0 &&
                      points >= (uint64_t)tiles * tiles,
                  "%llu points are to be transformed by %u tiles; both are powers of two, and the "
                  "points at least the square of the tiles",
                  (unsigned long long)points, tiles);
    share = points / tiles;
    piece = share / tiles;
    make_roots();
    sarc_run(tiles, work);
    return 0;
}
