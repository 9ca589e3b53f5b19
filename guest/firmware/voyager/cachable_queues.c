/* A cachable queue (guest/messaging/driver_cachable_queue.c) is ordinary memory of the node:
 * entries of a slot's size, the first doubleword of which tells by its highest bit that it is
 * valid. The program announces a message by storing the tail, and frees entries by storing the
 * head; both are cached, so that no store of them takes the bus while the firmware knows of work.
 *
 *     UNWATCHED ── all that is known is used up ──► LOOKING ── the pointer has moved ──► UNWATCHED
 *                                                      │ it has not
 *                                                      ▼
 *     UNWATCHED ◄── it has moved meanwhile ──────── ARMING: permission to read, the line is flushed
 *         ▲                                            │ it has not
 *         └── captured: the store is permitted ◄─── WATCHED
 *
 * A program that stores a watched pointer has to acquire its line, which is captured and tried
 * again until the firmware permits it. Stores become visible in order, so what the pointer
 * announces is there by then: one entry more, without a look at the pointer.
 *
 * All of this is done by the command queue for receiving, which the network never stops: a program
 * that waits for a permission takes nothing out of its own queue. One pointer is read at a time. */
#include "firmware/voyager/cachable_queues.h"

#include "firmware/voyager/events.h"
#include "firmware/voyager/receive.h"
#include "firmware/voyager/transmit.h"

/* How the firmware learns of a pointer's next store. */
enum watch { UNWATCHED, LOOKING, ARMING, WATCHED };

/* A pointer that a program stores in snooped space: the tail of its send queue, or the head of its
 * receive queue. */
struct cachable_pointer {
    uint64_t line; /* its address in the node's memory */
    void *queue;
    bool is_receive;
    uint8_t watch;     /* enum watch */
    bool waits;        /* for its turn to be looked at */
    bool is_announced; /* the program was about to store it while it was ARMING */
};

enum { PROCESSES = 8, POINTERS = 2 * PROCESSES };

/* Doublewords of the command queue: to read a pointer, and for each process two permissions and the
 * head of its send queue. */
enum { READING_COMMANDS = 3, COMMANDS_OF_A_PROCESS = 3 };

static struct {
    uint64_t room; /* lines of SRAM: a pointer that is read, then the send head of each process */
    uint64_t lines_of_process;
    bool is_reading;
    uint32_t first, next; /* of those that wait for their turn; they wrap together */
    struct cachable_pointer *waiting[POINTERS];
    struct cachable_pointer pointers[POINTERS];
    uint64_t heads[PROCESSES]; /* of send queues: addresses of their lines */
} cachable;

void cachable_start(void) {
    cachable.room = staging_room() + STAGING_FOR_POINTERS * VOYAGER_SLOT_BYTES;
    cachable.lines_of_process = nic_load(REGISTER_VOYAGER_SNOOPED_LINES);
}

static struct cachable_pointer *pointer_of(uint64_t process, bool is_receive) {
    return &cachable.pointers[2 * process + is_receive];
}

void open_cachable_send(struct transmit_queue *queue, uint64_t snooped) {
    cachable.heads[queue->process] = snooped + VOYAGER_CACHABLE_SEND_HEAD;
    *pointer_of(queue->process, false) =
        (struct cachable_pointer){.line = snooped + VOYAGER_CACHABLE_TAIL, .queue = queue};
    keep_commands(COMMANDS_OF_A_PROCESS + (queue->process == 0 ? READING_COMMANDS : 0));
    look_at_pointer(queue->process, false);
}

void open_cachable_receive(struct receive_queue *queue, uint64_t snooped) {
    *pointer_of(queue->process, true) = (struct cachable_pointer){
        .line = snooped + VOYAGER_CACHABLE_RECEIVE_HEAD, .queue = queue, .is_receive = true};
}

/* What the firmware knows of a pointer, and what it does with more. */

static inline uint16_t known(const struct cachable_pointer *pointer) {
    return pointer->is_receive ? ((struct receive_queue *)pointer->queue)->consumer
                               : ((struct transmit_queue *)pointer->queue)->producer;
}

static inline uint16_t slots_of(const struct cachable_pointer *pointer) {
    return pointer->is_receive ? ((struct receive_queue *)pointer->queue)->slots
                               : ((struct transmit_queue *)pointer->queue)->slots;
}

/* A cachable pointer has come to this count of slots, as if it had been stored to a window. */
static void move(const struct cachable_pointer *pointer, uint16_t count) {
    if (pointer->is_receive)
        release_up_to(pointer->queue, VOYAGER_POINTER_CONSUMER, count);
    else
        send_up_to(pointer->queue, VOYAGER_POINTER_PRODUCER, count);
}

/* The count of slots that a pointer word means: an index, and the sense of the pass in bit 32. One
 * that cannot be is further than a queue is long. */
static uint16_t count_of(uint64_t word, uint16_t known, uint16_t slots) {
    uint32_t index = (uint32_t)word;
    if (index >= slots)
        return known + slots + 1;
    uint16_t place = (uint16_t)index + (word >> 32 & 1 ? 0 : slots);
    return known + ((place - known) & (2 * slots - 1));
}

/* Reading pointers */

static void issue_permission(const struct cachable_pointer *pointer, uint64_t permission) {
    issue(FOR_RECEIVE, VOYAGER_PERMISSION, 1, permission * LINE_BYTES, pointer->line / LINE_BYTES);
}

static void issue_reading(struct cachable_pointer *pointer) {
    issue(FOR_RECEIVE, VOYAGER_BUS_READ | AWAITED, 1, cachable.room, pointer->line / LINE_BYTES);
    suspend(FOR_RECEIVE, (struct operation){POINTER_IS_READ, 0, pointer});
}

/* Once the line is flushed, each store takes the bus, where it is captured. */
static void arm(struct cachable_pointer *pointer) {
    take_captures(); /* none from before may be left */
    pointer->watch = ARMING;
    pointer->is_announced = false;
    issue_permission(pointer, VOYAGER_PERMISSION_READ);
    issue(FOR_RECEIVE, VOYAGER_BUS_FLUSH, 1, 0, pointer->line / LINE_BYTES);
    issue_reading(pointer);
}

static void look_at_next(void) {
    if (cachable.is_reading || cachable.first == cachable.next)
        return;
    struct cachable_pointer *pointer = cachable.waiting[cachable.first++ % POINTERS];
    pointer->waits = false;
    pointer->watch = LOOKING;
    cachable.is_reading = true;
    issue_reading(pointer);
}

void look_at_pointer(uint64_t process, bool is_receive) {
    struct cachable_pointer *pointer = pointer_of(process, is_receive);
    if (pointer->watch != UNWATCHED || pointer->waits)
        return;
    pointer->waits = true;
    cachable.waiting[cachable.next++ % POINTERS] = pointer;
    look_at_next();
}

void pointer_is_read(const struct operation *operation) {
    struct cachable_pointer *pointer = operation->queue;
    uint16_t before = known(pointer);
    uint16_t count = count_of(sram_load(cachable.room), before, slots_of(pointer));
    if (pointer->watch == LOOKING && count == before)
        return arm(pointer);
    cachable.is_reading = false;
    if (pointer->watch == ARMING && count == before && !pointer->is_announced) {
        pointer->watch = WATCHED;
    } else {
        if (pointer->watch == ARMING)
            issue_permission(pointer, VOYAGER_PERMISSION_WRITE);
        pointer->watch = UNWATCHED;
        move(pointer, count + pointer->is_announced);
        pointer->is_announced = false;
    }
    look_at_next();
}

void pointer_captured(uint64_t line) {
    uint64_t process = line / cachable.lines_of_process;
    uint64_t place = line % cachable.lines_of_process * LINE_BYTES;
    struct cachable_pointer *pointer = pointer_of(process, place == VOYAGER_CACHABLE_RECEIVE_HEAD);
    if (pointer->watch == ARMING) {
        pointer->is_announced = true;
    } else if (pointer->watch == WATCHED) {
        issue_permission(pointer, VOYAGER_PERMISSION_WRITE);
        pointer->watch = UNWATCHED;
        move(pointer, known(pointer) + 1);
    }
}

void show_send_head(const struct transmit_queue *queue) {
    uint64_t line = cachable.room + (1 + queue->process) * LINE_BYTES;
    uint64_t word = (queue->consumer & (queue->slots - 1)) | sense(queue->consumer, queue->slots)
                                                                 << 32;
    sram_store(line, word);
    issue(FOR_RECEIVE, VOYAGER_BUS_WRITE, 1, line, cachable.heads[queue->process] / LINE_BYTES);
}
