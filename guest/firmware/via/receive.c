/* The receiving side.
 *
 *     receive doorbell ──► descriptor ──► work, and an entry of the packet-to-address table
 *     packet ──► its VI's oldest work ──► data to its place ──► after the last packet: status
 *
 * A message's data are in place already where the table has led them there; others the DMA engine
 * moves from the packet's slot. Packets of a message come in the order of their sending; one that
 * is missing is noticed by the offset of the next one. */
#include "firmware/via/receive.h"

#include "firmware/via/completion.h"
#include "firmware/via/connections.h"
#include "firmware/via/memory.h"
#include "firmware/via/rdma.h"
#include "firmware/via/transfer.h"

#define ADDRESS_MASK ((1ul << VIA_HANDLE_SHIFT) - 1)

enum { SLOTS = 16 };

void receive_start(void) {
    for (int each = 0; each < SLOTS; each++)
        via_store(REGISTER_VIA_RECEIVE_BUFFER,
                  memory_take(sizeof(struct header) + machine.packet_bytes));
}

static inline struct work *work_of(struct vi *vi, uint16_t number) {
    return &vi->receives[number % VIA_DESCRIPTORS_LIMIT];
}

/* Posting */

/* Lets the device put the message for this receive straight into its place, if that is one. */
static inline void arm(struct vi *vi, uint16_t number) {
    const struct work *work = work_of(vi, number);
    const struct piece *piece = work->pieces;
    if (work->count != 1 || !piece->region || !has_copy(piece->region))
        return;
    via_store(REGISTER_VIA_PLACE_SELECT, vi->number);
    via_store(REGISTER_VIA_PLACE_ADDRESS, copy_address(piece->region, piece->address));
    via_store(REGISTER_VIA_PLACE_LENGTH, place_number(vi, number) << 32 | piece->bytes);
}

void arm_receives(struct vi *vi) {
    vi->first = vi->completed;
    for (uint16_t each = 0; vi->completed + each != vi->posted && each < machine.places; each++)
        arm(vi, vi->completed + each);
}

void post_receive(struct vi *vi, uint64_t token) {
    uint64_t address = token & ADDRESS_MASK;
    const struct region *region =
        find_region(vi, token >> VIA_HANDLE_SHIFT, address, sizeof(VIP_DESCRIPTOR));
    uint16_t waiting = vi->posted - vi->completed;
    if (!region || address % VIP_DESCRIPTOR_ALIGNMENT != 0 || waiting == VIA_DESCRIPTORS_LIMIT) {
        VIP_ERROR_CODE code = region ? VIP_ERROR_VI_OVERRUN : VIP_ERROR_POST_DESC;
        report(vi->process, code, VIP_RESOURCE_DESCRIPTOR, vi->number, address);
        return;
    }
    struct work *work = work_of(vi, vi->posted);
    const uint64_t *words = fetch_descriptor(region, address);
    uint64_t count = segments_of(words[WORD_CONTROL]);
    work->region = region;
    work->descriptor = address;
    work->status_place = place_of(region, address + WORD_LENGTH * sizeof(uint64_t));
    uint64_t errors = count > VIA_SEGMENTS_LIMIT
                          ? VIP_STATUS_FORMAT_ERROR
                          : take_pieces(vi, words + WORD_SEGMENTS, count, work);
    if (errors != 0 || vi->state == VI_ERROR) {
        errors = vi->state == VI_ERROR ? VIP_STATUS_DESC_FLUSHED_ERROR : errors;
        complete(vi, vi->receive_cq, work->status_place, 0, errors | VIP_STATUS_OP_RECEIVE, true);
        return;
    }
    vi->posted += 1;
    if (is_connected(vi) && waiting < machine.places)
        arm(vi, vi->posted - 1);
}

/* Completion */

void complete_receive(struct vi *vi, uint64_t bytes, uint64_t status, uint64_t immediate) {
    const struct work *work = work_of(vi, vi->completed);
    uint64_t place = work->status_place;
    vi->arrived = 0;
    vi->completed += 1;
    if (status & VIP_STATUS_IMMEDIATE)
        write_doubleword(place - sizeof(uint64_t), immediate << 32);
    complete(vi, vi->receive_cq, place, bytes, status, true);
    uint16_t next = vi->completed + machine.places - 1;
    if ((int16_t)(vi->posted - next) > 0)
        arm(vi, next);
}

void flush_receives(struct vi *vi) {
    while (vi->completed != vi->posted) {
        disarm(vi, vi->completed);
        complete_receive(vi, 0, VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_OP_RECEIVE, 0);
    }
}

/* Arrivals */

uint64_t scatter(const struct work *work, uint64_t offset, const char *from, uint64_t bytes) {
    const struct piece *piece = work->pieces;
    while (bytes > 0) {
        if (offset >= piece->bytes) {
            offset -= piece->bytes;
            piece += 1;
            continue;
        }
        uint64_t left = piece->bytes - offset;
        uint64_t part = bytes < left ? bytes : left;
        if (!piece->region)
            return VIP_STATUS_PROTECTION_ERROR;
        copy_out(from, piece->region, piece->address + offset, part);
        from += part;
        offset += part;
        bytes -= part;
    }
    return 0;
}

/* A message that cannot be received: an unreliable VI loses it, a reliable one its connection. */
static void refuse_message(struct vi *vi, VIP_ERROR_CODE code) {
    vi->arrived = 0;
    if (!(vi->attributes & VIA_RELIABLE))
        return;
    report(vi->process, code, VIP_RESOURCE_VI, vi->number, 0);
    break_connection(vi, VIP_ERROR_CONN_LOST);
}

/* A packet of a message, whose payload is at `payload`; it is in place if that is not behind the
 * header. */
static inline void receive_data(struct vi *vi, const struct header *slot, uint64_t word0,
                                uint64_t payload) {
    uint64_t word1 = slot->words[1];
    uint64_t offset = (uint32_t)word1, total = word1 >> 32, bytes = header_bytes(word0);
    if (offset != vi->arrived) {
        if (vi->attributes & VIA_RELIABLE || offset != 0)
            return refuse_message(vi, VIP_ERROR_CONN_LOST);
        vi->arrived = 0; /* the rest of the message before was lost */
    }
    if (vi->completed == vi->posted)
        return refuse_message(vi, VIP_ERROR_RECVQ_EMPTY);
    struct work *work = work_of(vi, vi->completed);
    uint64_t errors = 0;
    if (total > work->bytes)
        errors = VIP_STATUS_LENGTH_ERROR;
    else if (payload == (uint64_t)(slot + 1))
        errors = scatter(work, offset, (const char *)payload, bytes);
    vi->arrived = offset + bytes;
    if (errors == 0 && vi->arrived < total)
        return;
    uint64_t status = errors | VIP_STATUS_OP_RECEIVE, immediate = 0;
    if (header_flags(word0) & FLAG_IMMEDIATE) {
        status |= VIP_STATUS_IMMEDIATE;
        immediate = slot->words[2] >> 32;
    }
    complete_receive(vi, errors == 0 ? total : 0, status, immediate);
    if (errors != 0 && vi->attributes & VIA_RELIABLE)
        break_connection(vi, VIP_ERROR_CONN_LOST);
}

/* Whether a packet comes from the VI to which its destination is connected. */
static inline bool is_of_connection(const struct vi *vi, uint64_t word0, uint64_t word2) {
    return is_connected(vi) && header_ends(word0) == vi->expected &&
           header_node(word2) == vi->remote;
}

void receive_packet(void) {
    ENTER(ACTIVITY_RECEIVE);
    const struct header *slot = (const struct header *)via_load(REGISTER_VIA_RECEIVED_SLOT);
    uint64_t payload = via_load(REGISTER_VIA_RECEIVED_PAYLOAD);
    uint64_t word0 = slot->words[0];
    enum kind kind = header_kind(word0);
    if (kind >= KIND_CONNECT_REQUEST) {
        receive_connection(slot);
    } else {
        struct vi *vi = &vis[header_destination(word0) % VIS];
        if ((uint32_t)slot->words[1] == 0) /* a message's first packet */
            pass_message_layer();
        if (!is_of_connection(vi, word0, slot->words[2]))
            ; /* the connection has ended meanwhile */
        else if (kind == KIND_DATA)
            receive_data(vi, slot, word0, payload);
        else
            receive_rdma(vi, slot);
    }
    via_store(REGISTER_VIA_RECEIVE_BUFFER, (uint64_t)slot);
    LEAVE();
}
