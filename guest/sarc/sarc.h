/* The cache-integrated network interface of SARC (cache-integrated-ni, Sections 3 and 5.1):
 * scratchpads, transfers between them, and lines of them that do something when a word is stored
 * or arrives.
 *
 * A tile is a processor of the chip with its caches. Its second level gives lines of 64 bytes away
 * as scratchpad; each of them is memory at first, and may be marked as something else:
 *
 *     SARC_ROLE_COMMAND      word 0 operation, 1 destination, 2 acknowledgement, 3 source (or 3-7
 *                            data): goes out once all words that it needs are stored, in any order
 *     SARC_ROLE_COUNTER      a store to word 0 adds; at zero word 2 goes to the addresses in
 *                            words 4-7, and the value becomes that of word 1
 *     SARC_ROLE_SINGLE_READER  a queue of many writers; word 0 enqueues, 1 tail, 2 head, 3 size
 *     SARC_ROLE_MULTIPLE_READER  a queue that holds items or requests for items, and matches them
 *
 * The addresses of a scratchpad are the same for all tiles, so that any of them may be a
 * destination, and a plain store to another tile's is a remote store. This header is scrlib and
 * nilib, and includes syslib's locks and barriers; natively, emulation.c is the hardware. */
#ifndef NARTHEX_SARC_SARC_H
#define NARTHEX_SARC_SARC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/marker.h"
#include "runtime/registers.h"
#include "sarc/access.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SARC_LINE_WORDS = 8, SARC_NOTIFICATIONS = 4 };

/* Machine */

/* The tile on which this is called, and all tiles: those of a chip, times its chips. */
unsigned sarc_tile(void);
unsigned sarc_tiles(void);

/* One of the SARC_REGISTERs. */
uint64_t sarc_register(uint64_t offset);

/* Runs `work(tile)` on the first `tiles` tiles of the chip, and returns when all of them have done
 * it. They are threads of this process where it has several tiles; else each is a process, all of
 * which call this, and what is not in scratchpads or in narthex_node_memory is their own. */
void sarc_run(unsigned tiles, void (*work)(unsigned tile));

/* Returns when all tiles of sarc_run have called it. */
void sarc_rendezvous(unsigned tile);

/* Whether they are threads. */
bool sarc_tiles_share_memory(void);

/* Scratchpads (scrlib) */

/* Takes lines of the second-level cache as scratchpad of the caller's tile, zero, which all
 * processes of the job may access; NULL with errno if there are not so many. All tiles that take
 * the same in the same order get the same offsets. The lines are selected for the first level
 * (SARC_FIRST_LEVEL), which keeps those that are plain memory where the hardware lets it. */
uint64_t *sarc_allocate(unsigned lines);

/* The same of another tile of the process, by its number on the chip. */
uint64_t *sarc_allocate_at(unsigned tile, unsigned lines);

/* Gives lines of the caller's tile back to the cache. Returns 0 or an errno. */
int sarc_free(uint64_t *lines, unsigned count);

/* The address in the scratchpad of `tile` that corresponds to `address` in any tile's. */
uint64_t *sarc_remote(const uint64_t *address, unsigned tile);

/* The tile whose scratchpad an address is in. */
unsigned sarc_tile_of(const uint64_t *address);

bool sarc_is_local(const uint64_t *address);

/* Whether lines at this address, of any tile, have been taken and marked with the role. */
bool sarc_is_marked(const uint64_t *line, unsigned role);

/* A line's two words of state: its role and flags, its tag. */
uint64_t *sarc_state(const uint64_t *line);

/* Gives a line of the own tile a role; what it holds stays, its value, tail and validity are 0. */
void sarc_mark(uint64_t *line, unsigned role);

/* Writes the lines with their roles and tags to `buffer` and gives them to the cache, or takes them
 * again from it, at the same address. A buffer takes SARC_SWAPPED_LINE_BYTES for each line.
 * Both return 0 or an errno. */
int sarc_swap_out(uint64_t *lines, unsigned count, void *buffer);
int sarc_swap_in(uint64_t *lines, unsigned count, const void *buffer);

/* Memory off the chip that no cache keeps, for all tiles; NULL if there is not so much. */
void *sarc_allocate_dram(size_t bytes);

/* Address regions (Section 3.1) */

/* Lets all tiles of the process use `bytes` of scratchpad or DRAM at `place`, an address as it was
 * allocated, at a further address, too: `start`, a multiple of SARC_REGION_BYTES in the
 * SARC_REGIONS_BYTES from SARC_REGIONS on, is that of the page (SARC_REGION_BYTES) in which `place`
 * is. `permissions` are SARC_LOADS, SARC_STORES, or both; any other access ends the run, as does
 * one that no region covers. A region that begins at `start` is replaced: its users follow to the
 * new place. Lines with a second address are not kept in the first level.
 *
 * Programs need none: each begins with regions of all that the hardware has, at its own addresses.
 * sarc_mark, sarc_remote and sarc_tile_of take those. Returns the further address of `place`; NULL
 * with errno EINVAL (not a multiple, no such permission), EFAULT (nothing is there, or `start` is
 * outside), EBUSY (it overlaps another region) or ENOMEM (the table,
 * interfaces.sarc.region_table.entries, is full). */
void *sarc_define_region(uint64_t start, const void *place, size_t bytes, unsigned permissions);

/* Removes the region that begins at `start`. Returns 0 or an errno: ENOENT, none does. */
int sarc_remove_region(uint64_t start);

/* Transfers (nilib) */

/* Whether the command that was last stored has left the buffer. */
static inline bool sarc_command_is_free(const uint64_t *command) {
    return sarc_load(&command[0]) == 0;
}

static inline uint64_t sarc_operation(uint64_t operation, size_t bytes) {
    return operation | (uint64_t)bytes << SARC_COMMAND_BYTES;
}

/* Copies up to SARC_COPY_BYTES between scratchpads, or a scratchpad and uncached memory, at any
 * alignment: four stores. Each packet's bytes are added to the counter at `acknowledge` once they
 * have been written (NULL: none). The command buffer must be free. */
static inline void sarc_copy(uint64_t *command, void *to, const void *from, size_t bytes,
                             uint64_t *acknowledge) {
    sarc_store(&command[1], (uintptr_t)to);
    sarc_store(&command[2], (uintptr_t)acknowledge);
    sarc_store(&command[3], (uintptr_t)from);
    sarc_store(&command[0], sarc_operation(SARC_OPERATION_COPY, bytes));
}

/* Writes one to SARC_MESSAGE_WORDS words at `to`: together into a queue, as one item. */
static inline void sarc_message(uint64_t *command, uint64_t *to, const uint64_t *words,
                                size_t count, uint64_t *acknowledge) {
    sarc_store(&command[1], (uintptr_t)to);
    sarc_store(&command[2], (uintptr_t)acknowledge);
    for (size_t word = 0; word < count; word++)
        sarc_store(&command[3 + word], words[word]);
    sarc_store(&command[0], sarc_operation(SARC_OPERATION_MESSAGE, count * sizeof(uint64_t)));
}

/* A remote store that is acknowledged. */
static inline void sarc_store_acknowledged(uint64_t *command, uint64_t *to, uint64_t word,
                                           uint64_t *acknowledge) {
    sarc_store(&command[1], (uintptr_t)to);
    sarc_store(&command[2], (uintptr_t)acknowledge);
    sarc_store(&command[3], word);
    sarc_store(&command[0], sarc_operation(SARC_OPERATION_STORE, sizeof word));
}

/* Asks for bytes at `from` to be written at `to`; of a multiple-reader queue, for its next item, as
 * soon as there is one. */
static inline void sarc_read(uint64_t *command, uint64_t *to, const uint64_t *from, size_t bytes,
                             uint64_t *acknowledge) {
    sarc_store(&command[1], (uintptr_t)to);
    sarc_store(&command[2], (uintptr_t)acknowledge);
    sarc_store(&command[3], (uintptr_t)from);
    sarc_store(&command[0], sarc_operation(SARC_OPERATION_READ, bytes));
}

/* Counters */

/* Makes a line of the own tile a counter. When it becomes zero, `word` goes to each of the first
 * `count` addresses, and it becomes `reset`. */
void sarc_make_counter(uint64_t *line, int64_t value, int64_t reset, uint64_t word,
                       uint64_t *const *notified, unsigned count);

static inline void sarc_add(uint64_t *counter, int64_t value) {
    sarc_store(&counter[0], (uint64_t)value);
}

static inline int64_t sarc_value(const uint64_t *counter) {
    return (int64_t)sarc_load(&counter[0]);
}

/* Waits until a word of the own tile is not zero, and makes it zero again. */
static inline void sarc_await_flag(uint64_t *flag) {
    ENTER(ACTIVITY_SYNCHRONISATION);
    while (sarc_load(flag) == 0)
        ;
    LEAVE();
    sarc_store(flag, 0);
}

/* Queues */

/* Lines of a queue with so many items, its descriptor's among them. */
static inline unsigned sarc_queue_lines(unsigned item_words, unsigned items) {
    return 1 + (item_words * items + SARC_LINE_WORDS - 1) / SARC_LINE_WORDS;
}

/* Makes lines of the own tile a queue with one of the two roles. Words of an item and items are
 * powers of two. */
void sarc_make_queue(uint64_t *lines, unsigned role, unsigned item_words, unsigned items);

/* Where the single reader of a queue stands. Head and tail count items up to twice their number. */
struct sarc_reader {
    uint64_t *queue;
    uint64_t head, tail; /* the tail as last seen */
    unsigned items, item_words;
};

/* The oldest item, which stays where it is; NULL if there is none. */
static inline const uint64_t *sarc_oldest(struct sarc_reader *reader) {
    if (reader->tail == reader->head)
        reader->tail = sarc_load(&reader->queue[1]);
    if (reader->tail == reader->head)
        return NULL;
    return reader->queue + SARC_LINE_WORDS +
           (reader->head & (reader->items - 1)) * reader->item_words;
}

/* Takes the oldest item out of the queue. */
static inline void sarc_dequeue(struct sarc_reader *reader) {
    reader->head = (reader->head + 1) & (2 * reader->items - 1);
    sarc_store(&reader->queue[2], reader->head);
}

#ifdef __cplusplus
}
#endif

#endif
