/* Fast Fourier transform of complex numbers of two floats in scratchpads, with one exchange of all
 * with all (Figure 10).
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
    float real, imaginary;
};

static unsigned method, tiles;
/* Points of all, of a tile, that two tiles exchange: powers of two, of which nothing is divided. */
static uint64_t points, share, piece;
static unsigned piece_bits;
static uint64_t rounds;
static struct complex roots[MOST_POINTS]; /* exp(-2 pi i k / points) */
static unsigned order[MOST_TILES];        /* of tiles, their bits reversed */

struct state {
    float *own, *arrived; /* of the own tile */
    uint64_t *flag;       /* of the own tile */
    uint64_t *commands[MOST_TILES];
    float *to[MOST_TILES]; /* of each tile: its place for our piece */
    uint64_t *completed[MOST_TILES];
    uint64_t communicated; /* cycles */
};

/* Numbers in scratchpads */

static struct complex load(const float *place) {
    return (struct complex){sarc_load_float(&place[0]), sarc_load_float(&place[1])};
}

static void store(float *place, struct complex value) {
    sarc_store_float(&place[0], value.real);
    sarc_store_float(&place[1], value.imaginary);
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

static uint64_t reversed(uint64_t number, uint64_t size) {
    uint64_t result = 0;
    for (; size > 1; size /= 2, number /= 2)
        result = 2 * result + number % 2;
    return result;
}

static void make_tables(void) {
    for (unsigned tile = 0; tile < tiles; tile++)
        order[tile] = (unsigned)reversed(tile, tiles);
    for (uint64_t place = 0; place < points; place++) {
        double angle = -2 * 3.14159265358979323846 * (double)place / (double)points;
        roots[place] = (struct complex){(float)cos(angle), (float)sin(angle)};
    }
}

static struct complex input(uint64_t round, uint64_t place) {
    return (struct complex){(float)(pattern_word(round, 2 * place) >> 40) * 0x1p-24F - 0.5F,
                            (float)(pattern_word(round, 2 * place + 1) >> 40) * 0x1p-24F - 0.5F};
}

/* Preparation */

static void prepare(struct state *own, unsigned tile) {
    int64_t bytes = (int64_t)(share * sizeof(struct complex));
    own->own = (float *)take_elements(share * WORDS);
    uint32_t *arrived = take_elements(share * WORDS);
    own->arrived = (float *)arrived;
    own->flag = take_lines(1);
    uint64_t *completed = take_lines(1);
    sarc_make_counter(completed, -bytes, -bytes, 1, &own->flag, 1);
    for (unsigned other = 0; other < tiles; other++) {
        own->commands[other] = take_command();
        own->to[other] = (float *)elements_of(arrived, other) + tile * piece * WORDS;
        own->completed[other] = sarc_remote(completed, other);
    }
}

/* Tile t has points t, t + tiles, ... in the order of reversed bits. */
static void begin_round(struct state *own, unsigned tile, uint64_t round) {
    for (uint64_t place = 0; place < share; place++) {
        uint64_t point = tile + tiles * reversed(place, share);
        store(&own->own[place * WORDS], input(round, point));
        for (unsigned word = 0; word < WORDS; word++)
            sarc_store_32((uint32_t *)&own->arrived[place * WORDS + word], NOT_YET);
    }
    sarc_fence();
}

/* Transform */

/* The transform of a tile's own points. */
static void transform_own(float *own) {
    for (uint64_t half = 1, step = points / 2; half < share; half *= 2, step /= 2)
        for (uint64_t first = 0; first < share; first += 2 * half)
            for (uint64_t place = 0; place < half; place++) {
                float *one = &own[(first + place) * WORDS], *other = one + half * WORDS;
                struct complex upper = load(one);
                struct complex lower = multiply(load(other), roots[place * step]);
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
        store(&own->to[place >> piece_bits][(place & (piece - 1)) * WORDS],
              load(&own->own[place * WORDS]));
    for (uint64_t word = 0; word < share * WORDS; word++)
        await_element((const uint32_t *)&own->arrived[word]);
}

/* The transform of one point of each tile, in the order of reversed bits. */
static void transform_across(struct complex *values, uint64_t size) {
    for (uint64_t half = 1, step = points / 2; half < size; half *= 2, step /= 2)
        for (uint64_t first = 0; first < size; first += 2 * half)
            for (uint64_t place = 0; place < half; place++) {
                struct complex upper = values[first + place];
                struct complex lower = values[first + place + half];
                if (place > 0) /* roots[0] is one */
                    lower = multiply(lower, roots[place * step]);
                values[first + place] = add(upper, lower);
                values[first + place + half] = subtract(upper, lower);
            }
}

/* Of what all tiles sent: results k and k + share, k + 2 share ... for the tile's own k. */
static void combine(struct state *own, unsigned tile) {
    struct complex values[MOST_TILES];
    for (uint64_t place = 0; place < piece; place++) {
        uint64_t point = tile * piece + place;
        values[0] = load(&own->arrived[place * WORDS]);
        for (unsigned from = 1; from < tiles; from++)
            values[order[from]] = multiply(load(&own->arrived[(from * piece + place) * WORDS]),
                                           roots[from * point & (points - 1)]);
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

/* Compares some of a tile's results with the sum that defines them. Numbers are below one, and each
 * of the steps rounds to 24 bits. */
static void check(const struct state *own, unsigned tile, uint64_t round) {
    uint64_t step = share > CHECKED_POINTS ? share / CHECKED_POINTS : 1;
    double allowed = 0x1p-22 * (double)points;
    for (uint64_t place = 0; place < share; place += step) {
        uint64_t point = tile * piece + place % piece + place / piece * share;
        double real = 0, imaginary = 0;
        struct complex got = load(&own->own[place * WORDS]);
        for (uint64_t from = 0; from < points; from++) {
            struct complex root = roots[from * point % points], value = input(round, from);
            real += (double)value.real * root.real - (double)value.imaginary * root.imaginary;
            imaginary += (double)value.real * root.imaginary + (double)value.imaginary * root.real;
        }
        narthex_check(fabs(real - got.real) + fabs(imaginary - got.imaginary) < allowed,
                      "round %llu: result %llu is %g %+gi, not %g %+gi", (unsigned long long)round,
                      (unsigned long long)point, got.real, got.imaginary, real, imaginary);
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
    piece_bits = (unsigned)__builtin_ctzll(piece);
    make_tables();
    sarc_run(tiles, work);
    return 0;
}
