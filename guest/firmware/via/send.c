/* The sending side.
 *
 *     doorbell ──► descriptor ──► pieces of memory ──► packets of the MTU ──► status
 *                  (DMA, or                (DMA into a slot, or
 *                   the copy)               straight from the copy)
 *
 * There are two slots for packets, so that one is made while the other goes out. A packet made in
 * place never goes beyond its piece; by DMA it joins pieces. Arrivals are taken in while a packet
 * waits for the network: otherwise two interfaces could wait for each other. */
#include "firmware/via/send.h"

#include "firmware/via/completion.h"
#include "firmware/via/connections.h"
#include "firmware/via/memory.h"
#include "firmware/via/rdma.h"
#include "firmware/via/receive.h"
#include "firmware/via/transfer.h"

#define ADDRESS_MASK ((1ul << VIA_HANDLE_SHIFT) - 1)

/* Packets on their way out. */
static struct header *slots[2];
static unsigned turn;

void send_start(void) {
    for (int each = 0; each < 2; each++)
        slots[each] = (struct header *)memory_take(sizeof(struct header) + machine.packet_bytes);
}

static inline void wait_for_network(void) {
    uint64_t shown;
    while (!((shown = via_status()) & VIA_CAN_SEND))
        if (shown & VIA_PACKET_RECEIVED)
            receive_packet();
}

/* Sends the packet of the slot whose turn it is. */
static inline void launch(uint64_t node, uint64_t payload, uint64_t bytes) {
    uint64_t header = (uint64_t)slots[turn];
    turn ^= 1;
    wait_for_network();
    via_store(REGISTER_VIA_SEND_HEADER, header);
    via_store(REGISTER_VIA_SEND_PAYLOAD, payload);
    via_store(REGISTER_VIA_SEND_START, node << 32 | bytes);
}

void send_words(uint64_t node, uint64_t word0, uint64_t word1, uint64_t word2, uint64_t word3) {
    struct header *slot = slots[turn];
    *slot = (struct header){{word0, word1, word2 | machine.node << 16, word3}};
    launch(node, (uint64_t)(slot + 1), 0);
}

/* What is left to send of a work. */
struct cursor {
    const struct piece *piece;
    uint64_t at; /* bytes into it */
};

/* Fills a packet from its pieces. */
static void gather(struct cursor *cursor, char *to, uint64_t bytes) {
    while (bytes > 0) {
        const struct piece *piece = cursor->piece;
        uint64_t left = piece->bytes - cursor->at;
        uint64_t part = bytes < left ? bytes : left;
        if (part > 0)
            copy_in(piece->region, piece->address + cursor->at, to, part);
        cursor->at += part;
        to += part;
        bytes -= part;
        if (cursor->at == piece->bytes) {
            cursor->piece += 1;
            cursor->at = 0;
        }
    }
}

/* Makes the next packet's payload, of `bytes` at most; where it is. */
static inline uint64_t make_payload(struct cursor *cursor, struct header *slot, uint64_t *bytes) {
    const struct piece *piece = cursor->piece;
    if (*bytes > 0 && has_copy(piece->region)) {
        uint64_t left = piece->bytes - cursor->at;
        if (left == 0) {
            *cursor = (struct cursor){piece + 1, 0};
            return make_payload(cursor, slot, bytes);
        }
        uint64_t copy = copy_address(piece->region, piece->address + cursor->at);
        *bytes = *bytes < left ? *bytes : left;
        await_copy(piece->region, copy, *bytes);
        cursor->at += *bytes;
        return copy;
    }
    gather(cursor, (char *)(slot + 1), *bytes);
    return (uint64_t)(slot + 1);
}

void send_message(struct vi *vi, const struct message *message, const struct work *work) {
    struct cursor cursor = {work->pieces, 0};
    uint64_t total = work->bytes, offset = 0;
    pass_message_layer();
    do {
        struct header *slot = slots[turn];
        uint64_t left = total - offset;
        uint64_t bytes = left < machine.packet_bytes ? left : machine.packet_bytes;
        uint64_t payload = make_payload(&cursor, slot, &bytes);
        slot->words[0] = message->word0 | bytes << 48;
        slot->words[1] = total << 32 | offset;
        slot->words[2] = message->word2;
        if (message->remote != 0)
            slot->words[3] = message->remote + offset;
        launch(vi->remote, payload, bytes);
        offset += bytes;
    } while (offset < total);
    wait_for_network();
}

/* Sends the message of a descriptor; VIP_STATUS_... errors and operation. */
static inline uint64_t transmit(struct vi *vi, const uint64_t *words, struct work *work) {
    uint64_t control = control_of(words[WORD_CONTROL]), count = segments_of(words[WORD_CONTROL]);
    if ((control & (VIP_CONTROL_OP_MASK | VIP_CONTROL_RESERVED)) != VIP_CONTROL_OP_SENDRECV)
        return rdma_transmit(vi, words, work);
    if (count > VIA_SEGMENTS_LIMIT)
        return VIP_STATUS_FORMAT_ERROR;
    uint64_t errors = take_pieces(vi, words + WORD_SEGMENTS, count, work);
    if (errors != 0)
        return errors;
    if (work->bytes != (uint32_t)words[WORD_LENGTH] || work->bytes > vi->largest)
        return VIP_STATUS_LENGTH_ERROR;
    struct message message = {vi->header | KIND_DATA | FLAG_PLACED << 8,
                              machine.node << 16 | vi->sent, 0};
    if (control & VIP_CONTROL_IMMEDIATE) {
        message.word0 |= FLAG_IMMEDIATE << 8;
        message.word2 |= words[WORD_IMMEDIATE] >> 32 << 32;
    }
    vi->sent += 1;
    send_message(vi, &message, work);
    return 0;
}

/* A descriptor that is not sent: the VI is not connected, or reads. */
static void set_aside(struct vi *vi, uint64_t token, uint64_t status_place) {
    if (vi->state != VI_READING) {
        complete(vi, vi->send_cq, status_place, 0, VIP_STATUS_DESC_FLUSHED_ERROR, false);
        return;
    }
    if (vi->held_count == VIA_DESCRIPTORS_LIMIT) {
        report(vi->process, VIP_ERROR_VI_OVERRUN, VIP_RESOURCE_VI, vi->number,
               token & ADDRESS_MASK);
        return;
    }
    vi->held[(vi->held_first + vi->held_count) % VIA_DESCRIPTORS_LIMIT] = token;
    vi->held_count += 1;
}

void send_descriptor(struct vi *vi, uint64_t token) {
    uint64_t address = token & ADDRESS_MASK;
    struct work work;
    work.region = find_region(vi, token >> VIA_HANDLE_SHIFT, address, sizeof(VIP_DESCRIPTOR));
    if (!work.region || address % VIP_DESCRIPTOR_ALIGNMENT != 0) {
        report(vi->process, VIP_ERROR_POST_DESC, VIP_RESOURCE_DESCRIPTOR, vi->number, address);
        return;
    }
    work.descriptor = address;
    if (vi->state != VI_CONNECTED) {
        set_aside(vi, token, place_of(work.region, address + WORD_LENGTH * sizeof(uint64_t)));
        return;
    }
    uint64_t status = transmit(vi, fetch_descriptor(work.region, address), &work);
    if (vi->state == VI_READING)
        return;
    uint64_t place = place_of(work.region, address + WORD_LENGTH * sizeof(uint64_t));
    bool has_failed = (status & VIP_STATUS_ERROR_MASK) != 0;
    complete(vi, vi->send_cq, place, has_failed ? 0 : work.bytes, status, false);
    if (has_failed && vi->attributes & VIA_RELIABLE)
        break_connection(vi, VIP_ERROR_CONN_LOST);
}

void send_held(struct vi *vi) {
    while (vi->held_count > 0 && vi->state != VI_READING) {
        uint64_t token = vi->held[vi->held_first];
        vi->held_first = (vi->held_first + 1) % VIA_DESCRIPTORS_LIMIT;
        vi->held_count -= 1;
        send_descriptor(vi, token);
    }
}
