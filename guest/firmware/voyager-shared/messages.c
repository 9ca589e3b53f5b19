#include "firmware/voyager-shared/messages.h"

#include "firmware/voyager-shared/tasks.h"
#include "firmware/voyager/shared_memory.h"

/* A home asks each rank at most once for each of its requests, and each processor of the node waits
 * for one line at a time: so many messages never wait. */
enum { WAITING = 2048 };

enum { TO_FIRMWARE = 1 << 16, PROCESS_SHIFT = 16, SENDER_SHIFT = 25 };

static struct {
    uint64_t room;       /* for the messages under way that have no line */
    uint32_t sent, left; /* they wrap together */
    uint32_t first, next;
    struct message {
        uint64_t message;
        struct task *task;
        uint16_t rank;
        uint8_t process;
    } waiting[WAITING];
} messages;

_Static_assert(MESSAGES_ROOM == SHARED_MEMORY_SENDS * VOYAGER_SLOT_BYTES, "a slot for each");

void messages_start(uint64_t room) {
    messages.room = room;
}

/* Messages that have left for each rank, and come from it. */
static uint16_t left_for[SHARED_PROCESSES][RANKS_LIMIT], come_from[SHARED_PROCESSES][RANKS_LIMIT];

static uint64_t numbered(const struct message *message) {
    uint64_t number = left_for[message->process][message->rank]++;
    return message->message | number << NUMBER_SHIFT;
}

/* Where it does not keep the order, a copy could be asked to give back what it has not got yet. No
 * firmware may store to this register: the run ends, and names the function, which waits here until
 * the store has left. */
__attribute__((noinline)) static void network_does_not_keep_the_order_of_packets(void) {
    nic_store(REGISTER_VOYAGER_STATUS, 0);
    nic_load(REGISTER_VOYAGER_STATUS);
}

void check_order(uint64_t process, uint32_t rank, uint64_t message) {
    if ((uint16_t)(message >> NUMBER_SHIFT) != come_from[process][rank]++)
        network_does_not_keep_the_order_of_packets();
}

static void send(const struct message *message) {
    uint64_t number = messages.sent++ % SHARED_MEMORY_SENDS;
    uint64_t room =
        message->task ? message->task->room : messages.room + number * VOYAGER_SLOT_BYTES;
    const struct rank_place *to = &sharers[message->process].places[message->rank];
    sram_store(room, numbered(message));
    sram_store(room + DOUBLEWORD, (message->task ? LINE_BYTES : 0) | TO_FIRMWARE);
    issue(FOR_TRANSMIT, VOYAGER_PACKET | AWAITED, 1, room,
          to->node | (uint64_t)to->process << PROCESS_SHIFT |
              (uint64_t)message->process << SENDER_SHIFT);
    suspend(FOR_TRANSMIT, (struct operation){SHARED_MESSAGE_IS_SENT, 0, message->task});
}

static void send_waiting(void) {
    while (messages.first != messages.next && messages.sent - messages.left < SHARED_MEMORY_SENDS)
        send(&messages.waiting[messages.first++ % WAITING]);
}

void send_message(uint64_t process, uint32_t rank, uint64_t message, struct task *task) {
    messages.waiting[messages.next++ % WAITING] =
        (struct message){message, task, (uint16_t)rank, (uint8_t)process};
    send_waiting();
}

void message_is_sent(const struct operation *operation) {
    messages.left += 1;
    send_waiting();
    if (operation->queue)
        free_task(operation->queue);
}
