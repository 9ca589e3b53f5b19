/* The handler of the interface's interrupt saves all registers of the running context, and loads
 * those of the one that the interface chooses. A context's area:
 *
 *     0 pc   8 x1 ... 248 x31   256 f0 ... 504 f31   512 fcsr   520 netmap
 *
 * uscratch has the address of the running one's. */
#include "messaging/contexts.h"

#include "messaging/driver.h"
#include "messaging/narthex.h"
#include "runtime/information.h"

static struct send_driver sender;
static struct receive_driver receiver;

#ifdef __riscv

enum { MOST_CONTEXTS = 8, LINE = 1 << 16 /* of uie: line 0 */ };
enum { PC = 0, SP = 2, GP = 3, TP = 4, NETMAP = 65 };

/* The handler names it. */
extern uint64_t narthex_context_areas[MOST_CONTEXTS][528 / 8];
uint64_t narthex_context_areas[MOST_CONTEXTS][528 / 8];

static uintptr_t registers;
static bool is_choosing;

static inline volatile uint64_t *at(uintptr_t offset) {
    return (volatile uint64_t *)(registers + offset);
}

/* clang-format off */
#define INTEGERS(each)                                                                             \
    each(1, 8) each(2, 16) each(3, 24) each(4, 32) each(5, 40) each(6, 48) each(7, 56) each(8, 64) \
    each(9, 72) each(10, 80) each(11, 88) each(12, 96) each(13, 104) each(14, 112) each(15, 120)   \
    each(16, 128) each(17, 136) each(18, 144) each(19, 152) each(20, 160) each(21, 168)            \
    each(22, 176) each(23, 184) each(24, 192) each(25, 200) each(26, 208) each(27, 216)            \
    each(28, 224) each(29, 232) each(30, 240)
#define FLOATS(each)                                                                               \
    each(0, 256) each(1, 264) each(2, 272) each(3, 280) each(4, 288) each(5, 296) each(6, 304)     \
    each(7, 312) each(8, 320) each(9, 328) each(10, 336) each(11, 344) each(12, 352) each(13, 360) \
    each(14, 368) each(15, 376) each(16, 384) each(17, 392) each(18, 400) each(19, 408)            \
    each(20, 416) each(21, 424) each(22, 432) each(23, 440) each(24, 448) each(25, 456)            \
    each(26, 464) each(27, 472) each(28, 480) each(29, 488) each(30, 496) each(31, 504)
/* clang-format on */
#define SAVE_INTEGER(number, offset) "sd x" #number ", " #offset "(x31)\n"
#define LOAD_INTEGER(number, offset) "ld x" #number ", " #offset "(x31)\n"
#define SAVE_FLOAT(number, offset) "fsd f" #number ", " #offset "(x31)\n"
#define LOAD_FLOAT(number, offset) "fld f" #number ", " #offset "(x31)\n"

_Static_assert(REGISTER_NEXT == 0x20 && REGISTER_CONTEXT == 0x18 && CSR_NETMAP == 0x801,
               "the handler below names them");

/* CSRs: 0x040 uscratch, 0x041 uepc; the last word is uret. */
/* clang-format off */
__attribute__((naked, aligned(4))) static void switch_context(void) {
    __asm__("csrrw x31, 0x040, x31\n"
            INTEGERS(SAVE_INTEGER)
            "csrr x5, 0x040\n"
            "sd x5, 248(x31)\n"
            "csrr x5, 0x041\n"
            "sd x5, 0(x31)\n"
            "csrr x6, 0x801\n"
            "sd x6, 520(x31)\n"
            "andi x6, x6, -8\n"
            "ld x7, 0x20(x6)\n" /* NEXT */
            "sd x7, 0x18(x6)\n" /* CONTEXT */
            FLOATS(SAVE_FLOAT)
            "frcsr x5\n"
            "sd x5, 512(x31)\n"
            "li x5, 528\n"
            "mul x7, x7, x5\n"
            "lla x31, narthex_context_areas\n"
            "add x31, x31, x7\n"
            "csrw 0x040, x31\n"
            FLOATS(LOAD_FLOAT)
            "ld x5, 512(x31)\n"
            "fscsr x5\n"
            "ld x5, 520(x31)\n"
            "csrw 0x801, x5\n"
            "ld x5, 0(x31)\n"
            "csrw 0x041, x5\n"
            INTEGERS(LOAD_INTEGER)
            "ld x31, 248(x31)\n"
            ".word 0x00200073\n");
}
/* clang-format on */

/* Whether the registers are those of RegisterFile. */
static bool has_registers(void) {
    const struct narthex_information *machine = narthex_information();
    registers = machine->register_page;
    return machine->receive_driver == DRIVER_REGISTER_FILE &&
           machine->send_driver == DRIVER_REGISTER_FILE;
}

size_t narthex_context_limit(void) {
    return has_registers() ? *at(REGISTER_MESSAGE) : narthex_information()->payload_bytes;
}

int narthex_contexts(void) {
    if (!has_registers())
        return 1;
    int contexts = (int)(*at(REGISTER_STATUS) >> STATUS_CONTEXTS_SHIFT & 0xff);
    return contexts > 1 ? contexts : 1;
}

void narthex_context(int context, int priority, void (*thread)(void), void *stack, size_t bytes) {
    narthex_check(context > 0 && context < narthex_contexts() && priority >= 0 && priority < 256,
                  "node %d calls narthex_context for context %d, priority %d: contexts are 1 to "
                  "%d, priorities 0 to 255",
                  narthex_node(), context, priority, narthex_contexts() - 1);
    uint64_t *area = narthex_context_areas[context];
    area[PC] = (uintptr_t)thread;
    area[SP] = ((uintptr_t)stack + bytes) & ~(uintptr_t)15;
    __asm__ volatile("mv %0, gp" : "=r"(area[GP]));
    __asm__ volatile("mv %0, tp" : "=r"(area[TP]));
    area[NETMAP] = registers;
    *at(REGISTER_PRIORITY) = (uint64_t)context | (uint64_t)priority << 8;
}

void narthex_context_of_handler(int handler, int context) {
    *at(REGISTER_BIND) = (uint64_t)handler | (uint64_t)context << 8;
}

static void start_driver(void) {
    const struct narthex_information *machine = narthex_information();
    sender = pick_send_driver(machine->send_driver, machine->header_bytes > 8);
    receiver = pick_receive_driver(machine->receive_driver, machine->header_bytes > 8);
}

void narthex_contexts_begin(int priority) {
    if (!receiver.arrived)
        start_driver();
    if (narthex_contexts() == 1)
        return;
    is_choosing = true;
    *at(REGISTER_PRIORITY) = (uint64_t)priority << 8;
    __asm__ volatile("csrw 0x005, %0\n" /* utvec */
                     "csrw 0x040, %1\n"
                     "csrs 0x004, %2\n" /* uie */
                     "csrsi 0x000, 1" ::"r"(switch_context),
                     "r"(narthex_context_areas[0]), "r"(LINE)
                     : "memory");
}

void narthex_contexts_end(void) {
    if (is_choosing)
        __asm__ volatile("csrci 0x000, 1" ::: "memory");
    is_choosing = false;
}

static inline void done(void) {
    if (is_choosing)
        *at(REGISTER_DONE) = 0;
}

#else /* Natively nothing chooses threads. */

int narthex_contexts(void) {
    return 1;
}

size_t narthex_context_limit(void) {
    return narthex_information()->payload_bytes;
}

void narthex_context(int context, int priority, void (*thread)(void), void *stack, size_t bytes) {
    (void)context, (void)priority, (void)thread, (void)stack, (void)bytes;
}

void narthex_context_of_handler(int handler, int context) {
    (void)handler, (void)context;
}

void narthex_contexts_begin(int priority) {
    const struct narthex_information *machine = narthex_information();
    (void)priority;
    sender = pick_send_driver(machine->send_driver, machine->header_bytes > 8);
    receiver = pick_receive_driver(machine->receive_driver, machine->header_bytes > 8);
}

void narthex_contexts_end(void) {}

static inline void done(void) {}

#endif

uint64_t narthex_context_take(void *payload) {
    uint64_t header = receiver.arrived();
    if (header != 0)
        receiver.receive(payload, narthex_context_bytes(header));
    return header;
}

uint64_t narthex_context_next(void *payload) {
    uint64_t header;
    done();
    while ((header = narthex_context_take(payload)) == 0)
        ;
    return header;
}

/* The header of a message that the interface cuts into packets is that of its last packet. */
void narthex_context_send(int destination, int handler, const void *payload, size_t bytes) {
    size_t part = narthex_information()->payload_bytes, last = bytes;
    uint64_t header = (uint64_t)destination | header_of(handler, 0) | HEADER_LAST;
    if (bytes > part) {
        narthex_check(bytes <= narthex_context_limit(),
                      "node %d calls narthex_context_send for %zu bytes: the most are %zu",
                      narthex_node(), bytes, narthex_context_limit());
        size_t place = (bytes - 1) / part * part;
        header |= UINT64_C(1) << HEADER_SENSE_SHIFT | header_behind(place);
        last -= place;
    }
    while (!sender.has_room())
        ;
    sender.send(header | (uint64_t)last << HEADER_BYTES_SHIFT, payload, bytes);
}
