/* Driver for programmed I/O over a coherent link (PioCoherent);
 * interfaces/src/models/pio_coherent.rs says what the interface does.
 *
 *   send_queue     [ line 0: header, payload ... ][ line 1: header, payload ... ]
 *   receive_queue  [ line 0: header, payload ... ][ line 1: header, payload ... ]
 *
 * The lines of a direction take turns. A line is as long as a packet: a control block, which begins
 * with a word, and overflow blocks. A load of one line's control block tells the interface that the
 * other line is done, so each is loaded once:
 *
 *   receive  load the next line: the interface answers when a packet has come, with its header, or
 *            after its time-out with 0. Either way the other line is next.
 *   send     fill the line, then load the other one: the interface fetches the filled line, and
 *            answers whether the other one may be filled. If not, load it again later.
 *
 * So a poll that finds nothing takes the interface's time-out, in which the processor waits. A
 * program that has other work to do between polls gets on with it after that time.
 *
 * Barriers keep the loads and stores of one line before the load that gives it away, and the loads
 * of a line's payload behind that of its header. */
#include "messaging/driver.h"

#ifdef __riscv
#define LOADS_BEFORE_LOADS() __asm__ volatile("fence r, r" ::: "memory")
#define STORES_BEFORE_LOADS() __asm__ volatile("fence w, r" ::: "memory")
#else
#define LOADS_BEFORE_LOADS() COMPILER_BARRIER()
#define STORES_BEFORE_LOADS() COMPILER_BARRIER()
#endif

/* Two lines, and which of them is next. */
struct lines {
    char *next, *other;
};

static struct lines lines_at(uint64_t place, const struct narthex_information *machine) {
    char *first = (char *)(uintptr_t)place;
    return (struct lines){first, first + machine->packet_bytes};
}

static inline uint64_t control_word(const struct lines *lines) {
    return *(const volatile uint64_t *)lines->next;
}

static inline void turn(struct lines *lines) {
    char *done = lines->next;
    lines->next = lines->other;
    lines->other = done;
}

/* Sending */

static struct lines out;
static bool is_free; /* the next line may be filled */

static void start_sending(const struct narthex_information *machine) {
    out = lines_at(machine->send_queue, machine);
    is_free = true;
}

static bool has_room(void) {
    if (!is_free)
        is_free = control_word(&out) == SEND_LINE_IS_FREE;
    return is_free;
}

static inline void send(uint64_t header, const void *payload, size_t bytes, size_t extra) {
    *(volatile uint64_t *)out.next = header_out(header, extra);
    copy_out(out.next + sizeof header, payload, bytes, extra);
    STORES_BEFORE_LOADS();
    turn(&out);
    is_free = control_word(&out) == SEND_LINE_IS_FREE;
}

/* Receiving */

static struct lines in;

static void start_receiving(const struct narthex_information *machine) {
    in = lines_at(machine->receive_queue, machine);
}

static inline uint64_t arrived(size_t extra) {
    LOADS_BEFORE_LOADS();
    uint64_t header = control_word(&in);
    if (header == 0) {
        turn(&in);
        return 0;
    }
    LOADS_BEFORE_LOADS();
    return header_in(header, extra);
}

static inline void receive(void *payload, size_t bytes, size_t extra) {
    copy_in(payload, in.next + sizeof(uint64_t), bytes, extra);
    turn(&in);
}

SEND_DRIVER(send_pio_coherent, start_sending, has_room, send);
RECEIVE_DRIVER(receive_pio_coherent, start_receiving, arrived, receive, NULL);
