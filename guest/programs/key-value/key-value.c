/* A key-value store under an open-loop load: the server keeps a hash table, clients get and put.
 *
 *     key-value [RATE [BYTES [REQUESTS [WARM-UP [ARRIVALS [BURST [KEYS [GETS [ZIPF
 * [SMALLEST]]]]]]]]]] by default 50 thousand requests a second, values of 64 bytes, 2000 measured
 * after 200, poisson, 1000 keys, 95 percent gets, keys drawn evenly (ZIPF 0: hundredths of Zipf's
 *         exponent), all values of BYTES
 *
 * Data. Each key has one client that asks for it, and a version that the client counts up with
 * each put. A value is a pattern of its key and version. Messages may overtake each other, so the
 * server keeps the newest version, and a get may find any from the last one that was acknowledged
 * when it was sent to the last one that has been put.
 *
 * Checks. Every word of every value that a get finds, its version, that each request is answered
 * once; in the end, every value of the table. */
#include "../load.h"
#include "../zipf.h"
#include "table.h"

enum { GET = 1, PUT = 2, FOUND = 3, STORED = 4, KEYS = 1000, GETS_PERCENT = 95 };

/* A message begins with it; of a put and of what a get finds, the value follows. */
struct header {
    uint64_t due_ns;
    uint32_t number, key;
    uint32_t version;      /* of the value; of a get, the acknowledged one */
    uint32_t acknowledged; /* of what a get finds: as the get said */
};

static struct header *message; /* the next to send, with room for a value */
static size_t value_bytes, smallest_bytes;
static long keys, gets_percent;
static long served;
static uint32_t *put_version, *acknowledged_version; /* of the client's keys, in their order */
static uint64_t random_state;
static struct zipf popularity; /* of the client's keys, by rank; empty: all alike */
static size_t rank_step;       /* from the place of a rank's key to that of the next rank's */

/* Between two words of a value. */
#define VALUE_STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t first_word(uint32_t key, uint32_t version) {
    return pattern_word((uint64_t)key << 20 ^ version, 0);
}

/* The size of a key's values, a multiple of 8: evenly from the smallest to the largest. */
static size_t bytes_of(uint32_t key) {
    size_t sizes = (value_bytes - smallest_bytes) / 8 + 1;
    return smallest_bytes + (sizes > 1 ? 8 * (pattern_word(key, 1) % sizes) : 0);
}

static void make_value(void *value, uint32_t key, uint32_t version) {
    uint64_t *word = value, next = first_word(key, version);
    size_t words = bytes_of(key) / 8;
    for (size_t index = 0; index < words; index++, next += VALUE_STEP)
        word[index] = next;
}

static void check_value(const void *value, uint32_t key, uint32_t version) {
    const uint64_t *word = value;
    uint64_t next = first_word(key, version);
    size_t words = bytes_of(key) / 8;
    for (size_t index = 0; index < words; index++, next += VALUE_STEP)
        narthex_check(word[index] == next,
                      "node %d: version %u of key %u is wrong in the bytes from %zu on",
                      narthex_node(), version, key, 8 * index);
}

/* The client. */

static uint32_t *of_key(uint32_t *versions, uint32_t key) {
    return versions + key / (uint32_t)load_clients();
}

/* Draws one of the client's keys. Ranks are spread over the keys, so that frequent ones are not
 * neighbours in the server's memory. */
static uint32_t draw_place(uint64_t random, uint32_t own) {
    if (!popularity.count)
        return (uint32_t)((random >> 32) % own);
    return (uint32_t)(zipf_rank(&popularity, random_next(&random_state)) * rank_step % own);
}

/* The first number without a common divisor with `count` from the golden section of it on. */
static size_t step_without_divisor(size_t count) {
    for (size_t step = count * 5 / 8 + 1;; step++) {
        size_t one = step, other = count;
        while (other) {
            size_t rest = one % other;
            one = other;
            other = rest;
        }
        if (one == 1)
            return step;
    }
}

static void send_request(size_t number, uint64_t due_ns) {
    uint64_t random = random_next(&random_state);
    uint32_t own = (uint32_t)load_part(keys, narthex_node());
    uint32_t place = draw_place(random, own);
    uint32_t key = place * (uint32_t)load_clients() + (uint32_t)narthex_node();
    bool is_get = (long)((random & UINT32_MAX) % 100) < gets_percent;
    *message = (struct header){due_ns, (uint32_t)number, key, acknowledged_version[place], 0};
    if (!is_get) {
        message->version = ++put_version[place];
        make_value(message + 1, key, message->version);
    }
    narthex_send(load_server(), is_get ? GET : PUT, message,
                 sizeof *message + (is_get ? 0 : bytes_of(key)));
}

static void on_found(int source, const void *payload, size_t bytes) {
    const struct header *found = payload;
    narthex_open_loop_answered(&load_loop, found->number, found->due_ns);
    uint32_t newest = *of_key(put_version, found->key);
    size_t expected = sizeof *found + bytes_of(found->key);
    narthex_check(bytes == expected && found->version <= newest &&
                      found->version >= found->acknowledged,
                  "node %d: a get of key %u finds %zu bytes of version %u on node %d instead of "
                  "%zu bytes of version %u to %u",
                  narthex_node(), found->key, bytes, found->version, source, expected,
                  found->acknowledged, newest);
    check_value(found + 1, found->key, found->version);
}

static void on_stored(int source, const void *payload, size_t bytes) {
    (void)source, (void)bytes;
    const struct header *stored = payload;
    narthex_open_loop_answered(&load_loop, stored->number, stored->due_ns);
    uint32_t *acknowledged = of_key(acknowledged_version, stored->key);
    if (stored->version > *acknowledged)
        *acknowledged = stored->version;
}

/* The server. */

static void on_get(int source, const void *payload, size_t bytes) {
    (void)bytes;
    const struct header *get = payload;
    const struct entry *entry = table_find(get->key);
    narthex_check(entry, "node %d is asked by node %d for key %u, which it does not have",
                  narthex_node(), source, get->key);
    *message = (struct header){get->due_ns, get->number, get->key, entry->version, get->version};
    size_t size = bytes_of(get->key);
    memcpy(message + 1, entry->value, size);
    served += 1;
    narthex_send(source, FOUND, message, sizeof *message + size);
}

static void on_put(int source, const void *payload, size_t bytes) {
    const struct header *put = payload;
    struct entry *entry = table_find(put->key);
    size_t size = bytes_of(put->key);
    narthex_check(entry && bytes == sizeof *put + size,
                  "node %d is given %zu bytes for key %u by node %d", narthex_node(), bytes,
                  put->key, source);
    if (put->version > entry->version) {
        entry->version = put->version;
        memcpy(entry->value, put + 1, size);
    }
    served += 1;
    narthex_send(source, STORED, put, sizeof *put);
}

static void fill_table(void) {
    table_make((size_t)keys, value_bytes);
    for (uint32_t key = 0; key < keys; key++)
        make_value(table_add(key)->value, key, 0);
}

static void check_table(void) {
    for (uint32_t key = 0; key < keys; key++) {
        const struct entry *entry = table_find(key);
        narthex_check(entry, "node %d has lost key %u", narthex_node(), key);
        check_value(entry->value, key, entry->version);
    }
}

static void *zeroed(size_t bytes) {
    void *memory = calloc(1, bytes);
    narthex_check(memory, "node %d has no memory for %zu bytes", narthex_node(), bytes);
    return memory;
}

int main(int count, char **values) {
    value_bytes = load_bytes(count, values, 8);
    keys = argument(count, values, LOAD_ARGUMENTS + 1, "keys", load_clients(), 10000000, KEYS);
    gets_percent = argument(count, values, LOAD_ARGUMENTS + 2, "gets", 0, 100, GETS_PERCENT);
    long zipf = argument(count, values, LOAD_ARGUMENTS + 3, "zipf", 0, 1000, 0);
    long most = (long)value_bytes;
    smallest_bytes = (size_t)argument(count, values, LOAD_ARGUMENTS + 4, "smallest", 8, most, most);
    narthex_check(smallest_bytes % 8 == 0,
                  "%s: argument 10 (smallest) is \"%zu\"; allowed are multiples of 8", values[0],
                  smallest_bytes);
    long all = load_prepare(count, values, send_request);
    message = zeroed(sizeof *message + value_bytes);
    random_state = random_start(narthex_seed() + 1, narthex_node());
    if (load_is_client()) {
        put_version = zeroed(load_part(keys, narthex_node()) * sizeof *put_version);
        acknowledged_version = zeroed(load_part(keys, narthex_node()) * sizeof *put_version);
        rank_step = step_without_divisor(load_part(keys, narthex_node()));
        if (zipf > 0)
            zipf_make(&popularity, load_part(keys, narthex_node()), zipf);
    }
    if (narthex_node() == load_server())
        fill_table();
    narthex_register_handler(GET, on_get);
    narthex_register_handler(PUT, on_put);
    narthex_register_handler(FOUND, on_found);
    narthex_register_handler(STORED, on_stored);
    load_run(all, &served);
    if (narthex_node() == load_server())
        check_table();
    return 0;
}
