/* The queues of StarT-Voyager: what works, and how each mistake of a program ends
 * (guest/voyager/voyager.h).
 *
 *     voyager [KIND [CASE]]      resident, nonresident or hybrid; one case, or all of them
 *
 * Two processes take part. Wild values are tried in every word, header and request that a program
 * can reach: the queue that they belong to stops with a status, or the request fails, and a
 * bystander's messages go on arriving. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <time.h>

#include "../voyager_pair.h"
#include "runtime/information.h"
#include "voyager/slots.h"

enum { SLOTS = 4, CULPRIT = 1, BYSTANDER = 2, WAIT_CYCLES = 30000, REQUEST_WORDS = 8 };

static unsigned kind;
static int own;
static struct voyager_queue transmit, receive, bystander;
static uint64_t bystander_messages;

/* Help */

static void expect(uint64_t got, uint64_t wanted, const char *what) {
    narthex_check(got == wanted, "node %d: %s is %llu, not %llu", own, what,
                  (unsigned long long)got, (unsigned long long)wanted);
}

static void open_pair(void) {
    voyager_check(voyager_open_transmit(&transmit, CULPRIT, kind, SLOTS), "voyager_open_transmit");
    voyager_check(voyager_open_receive(&receive, CULPRIT, kind, SLOTS), "voyager_open_receive");
    narthex_barrier();
}

static void close_pair(void) {
    narthex_barrier();
    voyager_check(voyager_close(&transmit), "voyager_close");
    voyager_check(voyager_close(&receive), "voyager_close");
    narthex_barrier();
}

static unsigned to_other(unsigned number) {
    return voyager_destination(1 - own, number);
}

static void send_key(uint64_t key, size_t bytes) {
    word data[VOYAGER_PAYLOAD_LIMIT / sizeof(word)];
    write_words(data, sizeof data, key);
    voyager_send(&transmit, to_other(CULPRIT), (uint8_t)key, data, bytes);
}

static void receive_key(uint64_t key, size_t bytes) {
    struct voyager_message message;
    while (!voyager_arrived(&receive, &message))
        ;
    expect(message.bytes, bytes, "length of a message");
    expect((uint64_t)message.source, (uint64_t)(1 - own), "source of a message");
    expect(message.user, (uint8_t)key, "user's byte of a message");
    narthex_check(is_right(&message, bytes, key), "node %d: message %llu is wrong", own,
                  (unsigned long long)key);
    voyager_free(&receive);
}

/* A message of the bystander: node 0 sends, node 1 receives. */
static void pass_by(void) {
    uint64_t key = ++bystander_messages;
    word data[4];
    if (own == 0) {
        write_words(data, sizeof data, key);
        voyager_send(&bystander, to_other(BYSTANDER), 0, data, sizeof data);
        return;
    }
    struct voyager_message message;
    while (!voyager_arrived(&bystander, &message))
        ;
    narthex_check(is_right(&message, sizeof data, key), "the bystander's message %llu is wrong",
                  (unsigned long long)key);
    voyager_free(&bystander);
}

static void await_status(const struct voyager_queue *queue, unsigned status) {
    uint64_t start = narthex_cycles();
    while (voyager_status(queue) != status)
        narthex_check(narthex_cycles() - start < 100 * WAIT_CYCLES,
                      "node %d: the queue's status stays %u instead of %u", own,
                      voyager_status(queue), status);
}

static void expect_nothing_arrived(void) {
    struct voyager_message message;
    narthex_pause(WAIT_CYCLES);
    narthex_check(!voyager_arrived(&receive, &message), "node %d: a message arrived", own);
}

/* What works */

/* A load of serviced space waits for a message of a queue that firmware keeps in memory, while the
 * firmware brings it over the same bus; for others it is answered at once. */
static uint64_t load_serviced(unsigned number) {
    return ((volatile uint64_t *)(uintptr_t)narthex_information()->voyager_serviced)[number];
}

static void test_serviced_loads(void) {
    enum { NOT_OPEN = 5, NO_QUEUE = 511, ROUNDS = 3 };
    expect(load_serviced(NOT_OPEN), UINT64_MAX, "what a load for a closed queue gets");
    expect(load_serviced(NO_QUEUE), UINT64_MAX, "what a load for no queue gets");
    if (kind != VOYAGER_KIND_NONRESIDENT) {
        expect(load_serviced(CULPRIT), UINT64_MAX, "what a load for another queue gets");
        return;
    }
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t start = narthex_cycles(), there = (uint16_t)(receive.own + 1);
        if (own == 0) {
            narthex_pause(WAIT_CYCLES);
            send_key(round, 40);
        } else {
            expect(load_serviced(CULPRIT), there, "the producer that a load waits for");
            narthex_check(narthex_cycles() - start > WAIT_CYCLES, "the load did not wait");
            expect(load_serviced(CULPRIT), there, "the producer of a queue that has a message");
            receive_key(round, 40);
        }
        narthex_barrier();
    }
}

static void test_sizes(void) {
    for (size_t bytes = 0; bytes <= VOYAGER_PAYLOAD_LIMIT; bytes += sizeof(word)) {
        send_key(bytes + 1, bytes);
        receive_key(bytes + 1, bytes);
    }
}

static void test_full_queues_keep_all(void) {
    enum { MESSAGES = 12 * SLOTS, ROUNDS = 6 };
    uint64_t sent = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (; sent < MESSAGES / 2 && voyager_has_room(&transmit); sent++)
            send_key(sent, 84);
        narthex_pause(WAIT_CYCLES / ROUNDS);
    }
    for (uint64_t taken = 0; taken < MESSAGES; taken++) {
        for (; sent < MESSAGES && voyager_has_room(&transmit); sent++)
            send_key(sent, 84);
        receive_key(taken, 84);
    }
}

/* A process that sleeps, so that its processor has no thread, finds all that came for it. */
static void test_messages_wait_for_their_process(void) {
    for (uint64_t each = 0; each < SLOTS; each++)
        send_key(each, 40);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    for (uint64_t each = 0; each < SLOTS; each++)
        receive_key(each, 40);
}

static void test_a_queue_is_opened_again(void) {
    for (uint64_t round = 0; round < 3; round++) {
        send_key(round, 8);
        receive_key(round, 8);
        close_pair();
        open_pair();
    }
}

/* Mistakes in slots */

/* Sends a header as it is; nothing checks it before the interface does. */
static void send_header(word header) {
    char *slot = voyager_slot(&transmit);
    while (!voyager_finds_room(&transmit))
        ;
    *(volatile word *)slot = header;
    voyager_launch(&transmit, slot, VOYAGER_SLOT_BYTES);
}

static void expect_stop(word header, unsigned status) {
    if (own == 0) {
        send_header(header);
        await_status(&transmit, status);
    }
    pass_by();
    expect_nothing_arrived();
    close_pair();
    open_pair();
    send_key(7, 8);
    receive_key(7, 8);
}

static void test_wrong_destinations(void) {
    unsigned all = (unsigned)narthex_nodes() * (unsigned)narthex_information()->voyager_queues;
    const unsigned wrong[] = {all, all + 1, 0x7fff, 0xffff};
    for (unsigned each = 0; each < sizeof wrong / sizeof wrong[0]; each++)
        expect_stop(voyager_header(wrong[each], 8, 0), VOYAGER_STATUS_BAD_DESTINATION);
}

static void test_wrong_lengths(void) {
    const size_t wrong[] = {VOYAGER_PAYLOAD_LIMIT + 1, 100, VOYAGER_BYTES_MASK};
    for (unsigned each = 0; each < sizeof wrong / sizeof wrong[0]; each++)
        expect_stop(voyager_header(to_other(CULPRIT), wrong[each], 0), VOYAGER_STATUS_BAD_LENGTH);
}

static void test_messages_to_a_closed_queue_are_lost(void) {
    if (own == 0)
        for (int each = 0; each < 3; each++)
            send_header(voyager_header(to_other(BYSTANDER + 1), 8, 0));
    pass_by();
    send_key(9, 8);
    receive_key(9, 8);
}

/* Mistakes in pointers */

/* A queue that is stopped loses what it has not sent. */
static void await_sent(void) {
    while ((uint16_t)voyager_pointer(&transmit, VOYAGER_POINTER_CONSUMER) != transmit.own)
        ;
}

/* Stores a value where the queue's window ends in it, and expects the queue to stop. */
static void expect_bad_store(struct voyager_queue *queue, uintptr_t offset, uint64_t value) {
    if (own == 0) {
        await_sent();
        queue->pointers[offset / sizeof(uint64_t)] = value;
        await_status(queue, VOYAGER_STATUS_BAD_POINTER);
    }
    pass_by();
    close_pair();
    open_pair();
    send_key(3, 8);
    receive_key(3, 8);
}

static void test_wrong_producers(void) {
    const uint64_t wrong[] = {SLOTS + 1, 0x7fff, 0x8000, 0xffff};
    for (unsigned each = 0; each < sizeof wrong / sizeof wrong[0]; each++)
        expect_bad_store(&transmit, VOYAGER_POINTER_PRODUCER, transmit.own + wrong[each]);
}

static void test_wrong_consumers(void) {
    const uint64_t wrong[] = {1, SLOTS + 1, 0x7fff, 0x8000, 0xffff};
    for (unsigned each = 0; each < sizeof wrong / sizeof wrong[0]; each++)
        expect_bad_store(&receive, VOYAGER_POINTER_CONSUMER, receive.own + wrong[each]);
}

static void test_words_that_are_not_to_be_stored(void) {
    const uintptr_t offsets[] = {VOYAGER_POINTER_STATUS, 0x18, 0x800, 0xff8};
    expect_bad_store(&transmit, VOYAGER_POINTER_CONSUMER, 0);
    expect_bad_store(&receive, VOYAGER_POINTER_PRODUCER, 0);
    for (unsigned each = 0; each < sizeof offsets / sizeof offsets[0]; each++) {
        expect_bad_store(&transmit, offsets[each], ~UINT64_C(0));
        expect_bad_store(&receive, offsets[each], ~UINT64_C(0));
    }
}

/* Mistakes in requests */

static int open_as(uint64_t is_receive, uint64_t kind_, uint64_t slots, uint64_t number,
                   uint64_t buffer) {
    static int file = -1;
    if (file < 0)
        file = open("/dev/voyager", O_RDWR);
    uint64_t words[REQUEST_WORDS] = {is_receive, kind_, slots, number, buffer};
    return ioctl(file, (int)VOYAGER_OPEN, words) < 0 ? errno : 0;
}

static void test_wrong_requests(void) {
    const uint64_t wild = UINT64_C(0xdeadbeefcafef00d), number = BYSTANDER + 1;
    const uint64_t wrong[][5] = {
        {0, 0, SLOTS, number, 0},
        {0, 4, SLOTS, number, 0},
        {0, wild, SLOTS, number, 0},
        {0, kind, 0, number, 0},
        {0, kind, 3, number, 0},
        {0, kind, 1 << 20, number, 0},
        {0, kind, wild, number, 0},
        {0, kind, SLOTS, 256, 0},
        {0, kind, SLOTS, wild, 0},
        {2, kind, SLOTS, number, 0},
        {wild, kind, SLOTS, number, 0},
        {1, VOYAGER_KIND_NONRESIDENT, SLOTS, number, 0},
        {1, VOYAGER_KIND_NONRESIDENT, SLOTS, number, 12345},
        {1, VOYAGER_KIND_NONRESIDENT, SLOTS, number, wild},
        {1, VOYAGER_KIND_NONRESIDENT, SLOTS, number, ~UINT64_C(0) << 12},
        {0, kind, SLOTS, CULPRIT, 0},
        {1, kind, SLOTS, CULPRIT, 0},
    };
    for (unsigned each = 0; each < sizeof wrong / sizeof wrong[0]; each++) {
        const uint64_t *words = wrong[each];
        narthex_check(open_as(words[0], words[1], words[2], words[3], words[4]) != 0,
                      "node %d: wrong request %u succeeds", own, each);
    }
    struct voyager_queue closed = {.number = BYSTANDER + 5};
    narthex_check(voyager_close(&closed) != 0, "a queue is closed that is not open");
    pass_by();
    send_key(11, 12);
    receive_key(11, 12);
}

static void expect_refusal(unsigned long number, const uint64_t *wrong) {
    uint64_t words[VOYAGER_REQUEST_WORDS];
    memcpy(words, wrong, sizeof words);
    narthex_check(voyager_request(number, words) != 0,
                  "node %d: request %lu (%llx, %llx ...) succeeds", own, number,
                  (unsigned long long)wrong[0], (unsigned long long)wrong[1]);
}

/* Of transfers, channels and registrations; what is refused at the other end changes nothing. */
static void test_wrong_transfers(void) {
    enum { BYTES = 4096 };
    static _Alignas(BYTES) char memory[BYTES];
    const uint64_t here = (uintptr_t)memory, wild = UINT64_C(0xdeadbeefcafef00d);
    const uint64_t other = (uint64_t)(1 - own), none = ~UINT64_C(0);
    const uint64_t channels = narthex_information()->voyager_channels;
    const uint64_t transfers[][VOYAGER_REQUEST_WORDS] = {
        {VOYAGER_DMA_FIRMWARE_SENDS + 1, other, here, here, 64, none, none},
        {wild, other, here, here, 64, none, none},
        {0, (uint64_t)narthex_nodes(), here, here, 64, none, none},
        {0, wild, here, here, 64, none, none},
        {0, other, here + BYTES, here, 64, none, none},
        {0, other, here + BYTES - 32, here, 64, none, none},
        {0, other, wild, here, 64, none, none},
        {0, other, here, wild, 64, none, none},
        {0, other, here, here, 0, none, none},
        {0, other, here, here, wild, none, none},
        {0, other, here, here, 64, channels, none},
        {0, other, here, here, 64, none, 256},
    };
    const uint64_t channel_sets[][VOYAGER_REQUEST_WORDS] = {{channels, 1, CULPRIT, 0},
                                                            {wild, 1, CULPRIT, 0},
                                                            {0, wild, CULPRIT, 0},
                                                            {0, 1, 256, 0},
                                                            {0, 1, CULPRIT, wild}};
    const uint64_t ranges[][VOYAGER_REQUEST_WORDS] = {{here, BYTES - 1}, {wild, 1}, {0, none}};
    voyager_check(voyager_register(memory, sizeof memory), "voyager_register");
    for (unsigned each = 0; each < sizeof transfers / sizeof transfers[0]; each++)
        expect_refusal(VOYAGER_DMA, transfers[each]);
    for (unsigned each = 0; each < sizeof channel_sets / sizeof channel_sets[0]; each++)
        expect_refusal(VOYAGER_CHANNEL_SET, channel_sets[each]);
    for (unsigned each = 0; each < sizeof ranges / sizeof ranges[0]; each++)
        expect_refusal(VOYAGER_DMA_DEREGISTER, ranges[each]);
    for (unsigned each = 1; each < sizeof ranges / sizeof ranges[0]; each++)
        expect_refusal(VOYAGER_DMA_REGISTER, ranges[each]);
    expect_refusal(0, transfers[0]);
    expect_refusal(VOYAGER_CHANNEL_CLEAR, channel_sets[0]);
    expect_refusal(VOYAGER_CHANNEL_CLEAR + 1, transfers[0]);
    voyager_check(voyager_transfer(VOYAGER_DMA_HARDWARE, 1 - own, memory, memory + BYTES, 64, 0,
                                   VOYAGER_NOBODY),
                  "voyager_transfer");
    pass_by();
    send_key(13, 16);
    receive_key(13, 16);
    voyager_check(voyager_deregister(memory, sizeof memory), "voyager_deregister");
}

/* Commands of the program's own: what may not be issued is a fault, and changes nothing. */

static struct voyager_commands commands;

/* Waits for the fault of what was issued, and clears it. */
static void expect_fault(unsigned fault, const char *what) {
    uint64_t start = narthex_cycles();
    while (voyager_commands_fault(&commands) != fault)
        narthex_check(narthex_cycles() - start < WAIT_CYCLES, "node %d: %s is fault %u, not %u",
                      own, what, voyager_commands_fault(&commands), fault);
    commands.window[VOYAGER_WINDOW_FAULT / sizeof(uint64_t)] = 0;
}

static void issue_words(const uint64_t *words, unsigned count) {
    for (unsigned each = 0; each < count; each++)
        commands.window[VOYAGER_WINDOW_ISSUE / sizeof(uint64_t)] = words[each];
}

static void test_wrong_commands(void) {
    enum { PAGE = 4096, SRAM = 32, BYTES = 48 };
    static _Alignas(PAGE) char memory[PAGE];
    const uint64_t here = (uintptr_t)memory | 64ul << BYTES, staging = commands.staging;
    const uint64_t wild = UINT64_C(0xdeadbeefcafe0000), other = to_other(0);
    const uint64_t read = VOYAGER_ISSUE_READ, send = VOYAGER_ISSUE_TRANSMIT;
    const uint64_t beyond = (UINT64_C(1) << 20) - 64;
    const struct {
        unsigned fault, count;
        uint64_t words[3];
    } wrong[] = {
        {VOYAGER_FAULT_OPERAND, 1, {0}},
        {VOYAGER_FAULT_OPERAND, 1, {wild}},
        {VOYAGER_FAULT_OPERAND, 1, {255}},
        {VOYAGER_FAULT_SRAM, 2, {read | beyond << SRAM, here}},
        {VOYAGER_FAULT_ADDRESS, 2, {read | staging << SRAM, wild}},
        {VOYAGER_FAULT_SRAM, 3, {send | beyond << SRAM, here, other}},
        {VOYAGER_FAULT_DESTINATION, 3, {send | staging << SRAM, here, 0xffff}},
        {VOYAGER_FAULT_OPERAND, 3, {send | staging << SRAM, here, ~UINT64_C(0)}},
        {VOYAGER_FAULT_OPERAND, 2, {VOYAGER_ISSUE_COUNTER | 255ul << 24, 1}},
    };
    const int to[] = {1 - own}, nowhere[] = {1 - own, narthex_nodes()}, before[] = {-1};
    for (unsigned each = 0; each < sizeof wrong / sizeof wrong[0]; each++) {
        issue_words(wrong[each].words, wrong[each].count);
        expect_fault(wrong[each].fault, "a wrong command");
    }
    commands.window[511] = 1;
    expect_fault(VOYAGER_FAULT_OPERAND, "a store beside the commands");
    expect((uint64_t)voyager_open_commands(&commands), EBUSY, "a second command queue");
    const int got[] = {
        voyager_multicast(&commands, to, 0, memory, memory, 64, 0, CULPRIT),
        voyager_multicast(&commands, nowhere, 2, memory, memory, 64, 0, CULPRIT),
        voyager_multicast(&commands, before, 1, memory, memory, 64, 0, CULPRIT),
        voyager_multicast(&commands, to, 1, memory, memory, 0, 0, CULPRIT),
        voyager_multicast(&commands, to, 1, memory, memory, SIZE_MAX, 0, CULPRIT),
        voyager_multicast(&commands, to, 1, memory, memory, 64, 255, CULPRIT),
        voyager_multicast(&commands, to, 1, memory, memory, 64, 0, 256),
        voyager_command_channel(&commands, 255, 1, CULPRIT, 0),
        voyager_command_channel(&commands, 0, 1, 256, 0),
    };
    for (unsigned each = 0; each < sizeof got / sizeof got[0]; each++)
        expect((uint64_t)got[each], EINVAL, "the error of a wrong call");
    /* What is not registered is told by the fault, and by the message that the block has left. */
    voyager_check(voyager_multicast(&commands, to, 1, memory, memory, 64, VOYAGER_NOBODY, CULPRIT),
                  "voyager_multicast");
    struct voyager_message message;
    while (!voyager_arrived(&receive, &message))
        ;
    expect(*(const word *)message.payload, VOYAGER_FAULT_ADDRESS, "the fault of a block");
    voyager_free(&receive);
    expect_fault(VOYAGER_FAULT_ADDRESS, "a block that is not registered");
    pass_by();
    send_key(19, 24);
    receive_key(19, 24);
}

/* Both send a block to both: the channel of each tells once all of both has come. */
static void test_commands(void) {
    enum { PAGE = 4096, LENGTH = 1500, FROM = 100, CHANNEL = 1, VALUE = 0x7717, PACKETS = 24 };
    static _Alignas(PAGE) char memory[3][PAGE];
    const int all[] = {0, 1};
    char *block = memory[2] + FROM;
    voyager_check(voyager_open_commands(&commands), "voyager_open_commands");
    voyager_check(voyager_register(memory, sizeof memory), "voyager_register");
    for (unsigned each = 0; each < LENGTH; each++)
        block[each] = (char)(each * 7 + (unsigned)own);
    voyager_check(voyager_command_channel(&commands, CHANNEL, 2 * PACKETS, CULPRIT, VALUE),
                  "voyager_command_channel");
    voyager_check(
        voyager_multicast(&commands, all, 2, block, memory[own], LENGTH, CHANNEL, CULPRIT),
        "voyager_multicast");
    word told = 0;
    for (int each = 0; each < 2; each++) { /* that the own block has left, and the channel's */
        struct voyager_message message;
        while (!voyager_arrived(&receive, &message))
            ;
        expect(message.bytes, sizeof(word), "length of an acknowledgement");
        told |= *(const word *)message.payload;
        voyager_free(&receive);
    }
    expect(told, VALUE, "what the block and the channel tell");
    for (unsigned from = 0; from < 2; from++)
        for (unsigned each = 0; each < LENGTH; each++)
            expect((uint8_t)memory[from][each], (uint8_t)(each * 7 + from), "a byte of a block");
    expect(voyager_commands_fault(&commands), 0, "the fault of right commands");
    voyager_check(voyager_deregister(memory, sizeof memory), "voyager_deregister");
    narthex_barrier();
    test_wrong_commands();
}

/* Serviced space, in which this firmware has nothing, and all of the SRAM that is the process's. */
static void test_places_that_are_no_pointers(void) {
    const uint64_t wild[] = {1, 5, 0xffff, UINT64_C(0xffffffff), ~UINT64_C(0)};
    volatile uint64_t *serviced = (volatile uint64_t *)narthex_information()->voyager_serviced;
    for (unsigned word = 0; word < 512; word += 13)
        serviced[word] = wild[word % (sizeof wild / sizeof wild[0])];
    expect(serviced[3], ~UINT64_C(0), "serviced space");
    if (transmit.flushes)
        memset(transmit.slots, 0xff, (size_t)SLOTS * VOYAGER_SLOT_BYTES);
    expect(voyager_status(&transmit), VOYAGER_STATUS_OPEN, "status of the transmit queue");
    pass_by();
    send_key(17, 20);
    receive_key(17, 20);
}

/* Messages that are stores to serviced space, and stores that no queue takes. */

enum { STORES = BYSTANDER + 1 };

static struct voyager_queue stores;

static void open_stores(void) {
    voyager_check(
        voyager_open_transmit(&stores, STORES, VOYAGER_KIND_HYBRID | VOYAGER_KIND_STORES, SLOTS),
        "opening a queue of stores");
}

static void receive_store(uint32_t value) {
    struct voyager_message message;
    while (!voyager_arrived(&receive, &message))
        ;
    expect(message.bytes, sizeof value, "bytes of a store");
    expect(message.user, (uint8_t)value, "user's byte of a store");
    expect((uint64_t)message.source, (uint64_t)(1 - own), "source of a store");
    expect(*(const word *)message.payload, value, "value of a store");
    voyager_free(&receive);
}

static void exchange_stores(uint32_t begin, uint32_t end) {
    for (uint32_t each = begin; each < end; each++)
        voyager_store(&stores, to_other(CULPRIT), (uint8_t)each, each);
    for (uint32_t each = begin; each < end; each++)
        receive_store(each);
}

/* One store stops the queue with this status; a new one works. */
static void expect_stopped_stores(unsigned status) {
    await_status(&stores, status);
    voyager_check(voyager_close(&stores), "voyager_close");
    open_stores();
    exchange_stores(7, 8);
}

static void test_stores(void) {
    enum { ROUNDS = 10, PAGE_WORDS = 512 };
    const uint64_t header = voyager_header(to_other(CULPRIT), sizeof(word), 0);
    volatile uint64_t *page = (volatile uint64_t *)narthex_information()->voyager_serviced;
    expect((uint64_t)open_as(0, VOYAGER_KIND_RESIDENT | VOYAGER_KIND_STORES, SLOTS, STORES, 0),
           EINVAL, "the error of resident stores");
    expect((uint64_t)open_as(1, VOYAGER_KIND_HYBRID | VOYAGER_KIND_STORES, SLOTS, STORES, 0),
           EINVAL, "the error of stores that are received");
    open_stores();
    narthex_barrier();
    for (uint32_t round = 0; round < ROUNDS; round++)
        exchange_stores(round * SLOTS, (round + 1) * SLOTS);
    for (unsigned each = 0; each < PAGE_WORDS; each++) /* no queue takes them */
        if (each != STORES)
            page[each] = header;
    expect(page[PAGE_WORDS - 1], UINT64_MAX, "a load behind such stores");
    exchange_stores(100, 103);
    voyager_store(
        &stores, (unsigned)narthex_nodes() * (unsigned)narthex_information()->voyager_queues, 0, 1);
    expect_stopped_stores(VOYAGER_STATUS_BAD_DESTINATION);
    page[STORES] = voyager_header(to_other(CULPRIT), VOYAGER_PAYLOAD_LIMIT + 1, 0);
    expect_stopped_stores(VOYAGER_STATUS_BAD_LENGTH);
    *(volatile uint32_t *)&page[STORES] = 1; /* less than a doubleword */
    expect_stopped_stores(VOYAGER_STATUS_BAD_LENGTH);
    stores.pointers[VOYAGER_POINTER_STATUS / sizeof(uint64_t)] = 1;
    expect_stopped_stores(VOYAGER_STATUS_BAD_POINTER);
    voyager_check(voyager_close(&stores), "voyager_close");
    pass_by();
    expect_nothing_arrived();
    narthex_barrier();
    send_key(23, 28);
    receive_key(23, 28);
}

/* No more queues than there are, no more slots than fit: the others are refused. */
static void test_all_queues(void) {
    enum { MANY = 300 };
    static struct voyager_queue queues[MANY];
    unsigned opened = 0;
    while (opened < MANY &&
           voyager_open_receive(&queues[opened], BYSTANDER + 1 + opened, kind, SLOTS) == 0)
        opened++;
    narthex_check(opened > 0 && opened < MANY, "node %d opens %u queues more", own, opened);
    pass_by();
    while (opened > 0)
        voyager_check(voyager_close(&queues[--opened]), "voyager_close");
}

static const struct {
    const char *name;
    void (*test)(void);
} CASES[] = {
    {"sizes", test_sizes},
    {"full", test_full_queues_keep_all},
    {"absent", test_messages_wait_for_their_process},
    {"serviced", test_serviced_loads},
    {"again", test_a_queue_is_opened_again},
    {"destinations", test_wrong_destinations},
    {"lengths", test_wrong_lengths},
    {"closed", test_messages_to_a_closed_queue_are_lost},
    {"producers", test_wrong_producers},
    {"consumers", test_wrong_consumers},
    {"words", test_words_that_are_not_to_be_stored},
    {"requests", test_wrong_requests},
    {"transfers", test_wrong_transfers},
    {"commands", test_commands},
    {"places", test_places_that_are_no_pointers},
    {"stores", test_stores},
    {"many", test_all_queues},
};

int main(int count, char **values) {
    int cases = 0;
    narthex_check(narthex_nodes() == 2, "two processes take part, not %d", narthex_nodes());
    own = narthex_node();
    kind = voyager_kind(values[0], count > 1 ? values[1] : "resident");
    int error = own == 0 ? voyager_open_transmit(&bystander, BYSTANDER, kind, SLOTS)
                         : voyager_open_receive(&bystander, BYSTANDER, kind, SLOTS);
    voyager_check(error, "opening the bystander's queue");
    open_pair();
    for (unsigned each = 0; each < sizeof CASES / sizeof CASES[0]; each++) {
        if (count > 2 && strcmp(values[2], CASES[each].name) != 0)
            continue;
        CASES[each].test();
        narthex_barrier();
        cases++;
    }
    narthex_check(cases > 0, "there is no case %s", values[2]);
    close_pair();
    printf("node %d: %d cases\n", own, cases);
    return 0;
}
