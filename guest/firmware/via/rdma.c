/* RDMA.
 *
 *     write   initiator ── packets with addresses ──► target's memory; with immediate data: also a
 *                                                     receive descriptor of the target
 *     read    initiator ── request ──► target ── packets ──► initiator's memory
 *
 * A VI has one read under way; what is posted behind it waits. An address that the target does not
 * allow ends the connection, and both sides are told. */
#include "firmware/via/rdma.h"

#include "firmware/via/completion.h"
#include "firmware/via/connections.h"
#include "firmware/via/receive.h"
#include "firmware/via/send.h"
#include "firmware/via/transfer.h"

enum { READS = 32 };

/* A read of another node that waits for its answer. */
struct read {
    struct vi *vi;
    const struct region *region;
    uint64_t address, bytes;
};
static struct read reads[READS];
static unsigned reads_first, reads_count;

/* Initiator */

/* The second doubleword of an address segment behind the first: what header word 3 holds. */
static inline uint64_t remote_of(const uint64_t *segment) {
    return segment[0] | segment[1] << 48;
}

static uint64_t write(struct vi *vi, const uint64_t *words, struct work *work) {
    uint64_t immediate = control_of(words[WORD_CONTROL]) & VIP_CONTROL_IMMEDIATE;
    struct message message = {vi->header | KIND_RDMA_WRITE, machine.node << 16,
                              remote_of(words + WORD_SEGMENTS)};
    if (immediate) {
        message.word0 |= FLAG_IMMEDIATE << 8;
        message.word2 |= words[WORD_IMMEDIATE] >> 32 << 32 | vi->sent++;
    }
    send_message(vi, &message, work);
    return VIP_STATUS_OP_RDMA_WRITE;
}

static uint64_t read(struct vi *vi, const uint64_t *words, struct work *work) {
    work->status_place = place_of(work->region, work->descriptor + WORD_LENGTH * sizeof(uint64_t));
    *vi->reading = *work;
    vi->state = VI_READING;
    send_words(vi->remote, vi->header | KIND_READ_REQUEST, work->bytes << 32, 0,
               remote_of(words + WORD_SEGMENTS));
    return 0;
}

uint64_t rdma_transmit(struct vi *vi, const uint64_t *words, struct work *work) {
    uint64_t control = control_of(words[WORD_CONTROL]), count = segments_of(words[WORD_CONTROL]);
    uint64_t operation = control & VIP_CONTROL_OP_MASK;
    uint64_t reads_or_writes =
        operation == VIP_CONTROL_OP_RDMAREAD ? VIA_RDMA_READ : VIA_RDMA_WRITE;
    uint64_t name =
        operation == VIP_CONTROL_OP_RDMAREAD ? VIP_STATUS_OP_RDMA_READ : VIP_STATUS_OP_RDMA_WRITE;
    if (control & VIP_CONTROL_RESERVED || operation == VIP_CONTROL_OP_RESERVED || count == 0 ||
        count > VIA_SEGMENTS_LIMIT || machine.has_window)
        return name | VIP_STATUS_FORMAT_ERROR;
    uint64_t errors = take_pieces(vi, words + WORD_SEGMENTS + SEGMENT_WORDS, count - 1, work);
    if (errors != 0)
        return name | errors;
    if (work->bytes != (uint32_t)words[WORD_LENGTH] || work->bytes > vi->largest)
        return name | VIP_STATUS_LENGTH_ERROR;
    if (reads_or_writes == VIA_RDMA_READ)
        return read(vi, words, work);
    return write(vi, words, work);
}

/* The answer to a read has come so far. */
static void receive_response(struct vi *vi, const struct header *slot) {
    uint64_t word0 = slot->words[0], word1 = slot->words[1];
    uint64_t offset = (uint32_t)word1, bytes = header_bytes(word0);
    struct work *work = vi->reading;
    if (vi->state != VI_READING || offset + bytes > work->bytes)
        return;
    uint64_t errors = scatter(work, offset, (const char *)(slot + 1), bytes);
    if (errors == 0 && offset + bytes < work->bytes)
        return;
    vi->state = VI_CONNECTED;
    complete(vi, vi->send_cq, work->status_place, errors == 0 ? work->bytes : 0,
             errors | VIP_STATUS_OP_RDMA_READ, false);
    wake(vi);
}

/* Target */

/* The memory that a packet of an RDMA names, if the VI and the memory allow it. */
static const struct region *find_target(const struct vi *vi, uint64_t remote, uint64_t bytes,
                                        uint64_t right) {
    uint64_t address = remote & ((1ul << 48) - 1);
    const struct region *region = find_region(vi, remote >> 48, address, bytes);
    return region && region->attributes & vi->attributes & right ? region : NULL;
}

static void refuse(struct vi *vi, VIP_ERROR_CODE code) {
    report(vi->process, code, VIP_RESOURCE_VI, vi->number, 0);
    break_connection(vi, code);
}

static void receive_write(struct vi *vi, const struct header *slot) {
    uint64_t word0 = slot->words[0], word1 = slot->words[1], remote = slot->words[3];
    uint64_t offset = (uint32_t)word1, total = word1 >> 32, bytes = header_bytes(word0);
    const struct region *region = find_target(vi, remote, bytes, VIA_RDMA_WRITE);
    if (!region)
        return refuse(vi, VIP_ERROR_RDMAW_PROT);
    copy_out(slot + 1, region, remote & ((1ul << 48) - 1), bytes);
    if (offset + bytes < total || !(header_flags(word0) & FLAG_IMMEDIATE))
        return;
    if (vi->completed == vi->posted)
        return refuse(vi, VIP_ERROR_RECVQ_EMPTY);
    complete_receive(vi, total, VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE,
                     slot->words[2] >> 32);
}

static void receive_request(struct vi *vi, const struct header *slot) {
    uint64_t bytes = slot->words[1] >> 32, remote = slot->words[3];
    const struct region *region = find_target(vi, remote, bytes, VIA_RDMA_READ);
    if (!region || reads_count == READS)
        return refuse(vi, VIP_ERROR_RDMAR_PROT);
    reads[(reads_first + reads_count++) % READS] =
        (struct read){vi, region, remote & ((1ul << 48) - 1), bytes};
}

void receive_rdma(struct vi *vi, const struct header *slot) {
    switch (header_kind(slot->words[0])) {
    case KIND_RDMA_WRITE:
        return receive_write(vi, slot);
    case KIND_READ_REQUEST:
        return receive_request(vi, slot);
    case KIND_READ_RESPONSE:
        return receive_response(vi, slot);
    default:
        return;
    }
}

bool has_read(void) {
    return reads_count > 0;
}

void answer_read(void) {
    struct read read = reads[reads_first];
    reads_first = (reads_first + 1) % READS;
    reads_count -= 1;
    if (!is_connected(read.vi) || read.region->ptag != read.vi->ptag)
        return;
    struct work work = {.bytes = read.bytes, .count = 1};
    work.pieces[0] = (struct piece){read.region, read.address, read.bytes};
    struct message message = {read.vi->header | KIND_READ_RESPONSE, machine.node << 16, 0};
    send_message(read.vi, &message, &work);
}
