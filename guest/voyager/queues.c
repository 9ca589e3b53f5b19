#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "voyager/slots.h"

enum { PAGE_BYTES = 4096 };

/* Requests */

int voyager_request(unsigned long number, uint64_t *words) {
    static int file = -1;
    if (file < 0)
        file = open("/dev/voyager", O_RDWR);
    return file < 0 || ioctl(file, (int)number, words) < 0 ? errno : 0;
}

/* Memory for a queue's slots, in pages of its own. */
static char *take_memory(unsigned slots) {
    size_t bytes = ((size_t)slots * VOYAGER_SLOT_BYTES + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    char *memory = aligned_alloc(PAGE_BYTES, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

static int open_queue(struct voyager_queue *queue, bool is_receive, unsigned number, unsigned kind,
                      unsigned slots) {
    bool is_in_memory = kind == VOYAGER_KIND_NONRESIDENT;
    char *memory = is_in_memory ? take_memory(slots) : NULL;
    if (is_in_memory && !memory)
        return ENOMEM;
    uint64_t words[VOYAGER_REQUEST_WORDS] = {is_receive, kind, slots, number, (uintptr_t)memory};
    int error = voyager_request(VOYAGER_OPEN, words);
    if (error != 0) {
        free(memory);
        return error;
    }
    *queue = (struct voyager_queue){
        .slots = (char *)(uintptr_t)words[7],
        .pointers = (volatile uint64_t *)(uintptr_t)words[6],
        .mask = (uint16_t)(slots - 1),
        .flushes = !is_in_memory,
        .is_receive = is_receive,
        .number = (uint8_t)number,
    };
    while (voyager_status(queue) == VOYAGER_STATUS_CLOSED)
        ; /* the firmware has to hear of it first */
    return 0;
}

int voyager_open_transmit(struct voyager_queue *queue, unsigned number, unsigned kind,
                          unsigned slots) {
    return open_queue(queue, false, number, kind, slots);
}

int voyager_open_receive(struct voyager_queue *queue, unsigned number, unsigned kind,
                         unsigned slots) {
    return open_queue(queue, true, number, kind, slots);
}

int voyager_close(struct voyager_queue *queue) {
    uint64_t words[VOYAGER_REQUEST_WORDS] = {queue->is_receive, queue->number};
    int error = voyager_request(VOYAGER_CLOSE, words);
    while (error == 0 && voyager_status(queue) != VOYAGER_STATUS_CLOSED)
        ;
    if (error == 0 && !queue->flushes)
        free(queue->slots);
    return error;
}

unsigned voyager_status(const struct voyager_queue *queue) {
    return (unsigned)voyager_pointer(queue, VOYAGER_POINTER_STATUS);
}
