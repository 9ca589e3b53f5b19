#include "runtime/information.h"
#include "voyager/slots.h"

unsigned voyager_destination(int rank, unsigned number) {
    return (unsigned)rank * (unsigned)narthex_information()->voyager_queues + number;
}

bool voyager_has_room(struct voyager_queue *queue) {
    return voyager_finds_room(queue);
}

void voyager_send(struct voyager_queue *queue, unsigned destination, uint8_t user,
                  const void *payload, size_t bytes) {
    while (!voyager_finds_room(queue))
        ;
    char *slot = voyager_slot(queue);
    *(volatile word *)slot = voyager_header(destination, bytes, user);
    copy(slot + VOYAGER_HEADER_BYTES, payload,
         bytes < VOYAGER_PAYLOAD_LIMIT ? bytes : VOYAGER_PAYLOAD_LIMIT);
    voyager_launch(queue, slot, VOYAGER_HEADER_BYTES + bytes);
}

bool voyager_arrived(struct voyager_queue *queue, struct voyager_message *message) {
    if (!voyager_finds_message(queue))
        return false;
    const char *slot = voyager_slot(queue);
    word header = *(const volatile word *)slot;
    *message = (struct voyager_message){
        .source = (int)(header & 0xffff),
        .user = (uint8_t)(header >> VOYAGER_USER_SHIFT),
        .bytes = voyager_bytes(header),
        .payload = slot + VOYAGER_HEADER_BYTES,
    };
    return true;
}

void voyager_free(struct voyager_queue *queue) {
    const char *slot = voyager_slot(queue);
    voyager_release(queue, slot,
                    VOYAGER_HEADER_BYTES + voyager_bytes(*(const volatile word *)slot));
}
