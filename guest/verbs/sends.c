/* Posting requests to send, as libmlx5 does: the request to the ring, a barrier, the record, a
 * barrier, then the whole request through the BlueFlame register, or its first doubleword to the
 * doorbell. */
#include <errno.h>

#include "messaging/copy.h"
#include "verbs/provider.h"

/* A segment of the request that begins at `block`; a request may go around the ring's end. */
static inline char *segment_at(const struct queue_pair *own, uint32_t block, uint32_t segment) {
    size_t mask = ((size_t)own->mask + 1) * VERBS_BASIC_BLOCK - 1;
    return own->ring + (((size_t)block * VERBS_BASIC_BLOCK + segment * VERBS_SEGMENT) & mask);
}

static inline void put(char *segment, uint64_t first, uint64_t second) {
    volatile uint64_t *words = (volatile uint64_t *)(void *)segment;
    words[0] = first;
    words[1] = second;
}

static int opcode_of(enum ibv_wr_opcode opcode) {
    static const uint8_t OPCODES[] = {[IBV_WR_RDMA_WRITE] = VERBS_WRITE,
                                      [IBV_WR_RDMA_WRITE_WITH_IMM] = VERBS_WRITE_IMMEDIATE,
                                      [IBV_WR_SEND] = VERBS_SEND,
                                      [IBV_WR_SEND_WITH_IMM] = VERBS_SEND_IMMEDIATE,
                                      [IBV_WR_RDMA_READ] = VERBS_READ,
                                      [IBV_WR_ATOMIC_CMP_AND_SWP] = VERBS_COMPARE_SWAP,
                                      [IBV_WR_ATOMIC_FETCH_AND_ADD] = VERBS_FETCH_ADD};
    return (unsigned)opcode < sizeof OPCODES ? OPCODES[opcode] : -1;
}

/* Copies bytes to the ring, around its end; where the next ones go. */
static inline char *put_bytes(const struct queue_pair *own, char *to, const char *from,
                              size_t bytes) {
    char *end = own->ring + ((size_t)own->mask + 1) * VERBS_BASIC_BLOCK;
    size_t part = bytes < (size_t)(end - to) ? bytes : (size_t)(end - to);
    copy(to, from, part);
    copy(own->ring, from + part, bytes - part);
    return to + part == end ? own->ring + (bytes - part) : to + part;
}

/* Writes the payload itself behind `segments` segments; how many there are then, 0 if it is too
 * long. */
static uint32_t put_inline(struct queue_pair *own, const struct ibv_send_wr *wr,
                           uint32_t segments) {
    size_t bytes = 0;
    for (int each = 0; each < wr->num_sge; each++)
        bytes += wr->sg_list[each].length;
    if (bytes > own->cap.max_inline_data)
        return 0;
    char *to = segment_at(own, own->posted, segments);
    *(volatile uint32_t *)(void *)to = (uint32_t)(VERBS_INLINE | bytes);
    to += sizeof(uint32_t);
    for (int each = 0; each < wr->num_sge; each++)
        to = put_bytes(own, to, (const char *)(uintptr_t)wr->sg_list[each].addr,
                       wr->sg_list[each].length);
    return segments + (uint32_t)((sizeof(uint32_t) + bytes + VERBS_SEGMENT - 1) / VERBS_SEGMENT);
}

/* Requests that fetch have the greatest opcodes, atomic operations the last ones. */
static inline bool fetches(int opcode) {
    return opcode >= (int)VERBS_READ;
}
static inline bool is_atomic(int opcode) {
    return opcode > (int)VERBS_READ;
}

/* Writes the remote address and the operands of an atomic operation. */
__attribute__((noinline)) static void put_atomic(struct queue_pair *own,
                                                 const struct ibv_send_wr *wr) {
    bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    uint64_t compare_add = wr->wr.atomic.compare_add;
    put(segment_at(own, own->posted, 1), wr->wr.atomic.remote_addr, wr->wr.atomic.rkey);
    put(segment_at(own, own->posted, 2), swaps ? wr->wr.atomic.swap : compare_add,
        swaps ? compare_add : 0);
}

/* Writes where a datagram goes: mlx5's address vector. How many segments there are then; 0 if it
 * has no address. */
__attribute__((noinline)) static uint32_t put_address(struct queue_pair *own,
                                                      const struct ibv_send_wr *wr) {
    const struct address_handle *to = (const struct address_handle *)(const void *)wr->wr.ud.ah;
    if (!to)
        return 0;
    put(segment_at(own, own->posted, 1), wr->wr.ud.remote_qkey,
        wr->wr.ud.remote_qpn | (uint64_t)to->service_level << 32 | (uint64_t)to->lid << 48);
    put(segment_at(own, own->posted, 2), 0, 0);
    put(segment_at(own, own->posted, 3), 0, 0);
    return 1 + VERBS_ADDRESS / VERBS_SEGMENT;
}

/* The flags of a request that stand in its control segment, all as far behind their places there.
 */
enum { PASSED_ON = IBV_SEND_FENCE | IBV_SEND_SOLICITED, FLAG_SHIFT = 7 };
_Static_assert(VERBS_FENCED == IBV_SEND_FENCE << FLAG_SHIFT && VERBS_SOLICITED == IBV_SEND_SOLICITED
                                                                                      << FLAG_SHIFT,
               "one shift takes all flags to their places");

static int post(struct queue_pair *own, const struct ibv_send_wr *wr, uint64_t *control) {
    int opcode = opcode_of(wr->opcode);
    if (opcode < 0 || wr->num_sge < 0 || (uint32_t)wr->num_sge > own->cap.max_send_sge)
        return EINVAL;
    if (fetches(opcode) &&
        (wr->send_flags & IBV_SEND_INLINE || (is_atomic(opcode) && wr->num_sge != 1)))
        return EINVAL;
    if (own->mask + 1 - (own->posted - own->completed) < own->most_blocks)
        return ENOMEM;
    uint32_t segments = 1, block = own->posted;
    if (is_atomic(opcode)) {
        put_atomic(own, wr);
        segments = 3;
    } else if (opcode != VERBS_SEND && opcode != VERBS_SEND_IMMEDIATE) {
        put(segment_at(own, block, segments++), wr->wr.rdma.remote_addr, wr->wr.rdma.rkey);
    } else if (has_datagrams(own->qp.qp_type)) {
        segments = put_address(own, wr);
        if (segments == 0)
            return EINVAL;
    }
    if (wr->send_flags & IBV_SEND_INLINE) {
        segments = put_inline(own, wr, segments);
        if (segments == 0)
            return EINVAL;
    } else {
        for (int each = 0; each < wr->num_sge; each++) {
            const struct ibv_sge *data = &wr->sg_list[each];
            put(segment_at(own, block, segments++), data->length | (uint64_t)data->lkey << 32,
                data->addr);
        }
    }
    bool is_signalled = own->signals_all || (wr->send_flags & IBV_SEND_SIGNALED);
    *control = (uint64_t)opcode | (uint64_t)(block & 0xffff) << 8 | (uint64_t)segments << 32 |
               (uint64_t)own->qp.qp_num << 40;
    put(segment_at(own, block, 0), *control,
        (is_signalled ? VERBS_SIGNALLED : 0) | (wr->send_flags & PASSED_ON) << FLAG_SHIFT |
            (uint64_t)wr->imm_data << 32);
    uint32_t place = block & own->mask;
    own->ids[place] = wr->wr_id;
    own->opcodes[place] = (uint8_t)opcode;
    own->posted += (segments + SEGMENTS_OF_BLOCK - 1) / SEGMENTS_OF_BLOCK;
    own->ends[place] = own->posted;
    return 0;
}

/* Stores the blocks from `block` on to a half of the register: each leaves in one piece, if the
 * processor combines stores. */
static void copy_to_blue_flame(struct queue_pair *own, char *half, uint32_t block) {
    for (; block != own->posted; block++, half += VERBS_BASIC_BLOCK) {
        const uint64_t *from = (const uint64_t *)(void *)segment_at(own, block, 0);
        volatile uint64_t *to = (volatile uint64_t *)(void *)half;
        for (size_t word = 0; word < VERBS_BASIC_BLOCK / sizeof *from; word++)
            to[word] = from[word];
    }
}

static void ring(struct queue_pair *own, uint64_t control, uint32_t block, bool is_one) {
    struct device_context *device = device_of(own->qp.context);
    STORES_BEFORE_DEVICE();
    *own->record = own->posted & 0xffff;
    STORES_BEFORE_DEVICE();
    bool has_more = (control >> 32 & 0x3f) > 1;
    bool fits = (own->posted - block) * VERBS_BASIC_BLOCK <= VERBS_BLUE_FLAME_HALF;
    if (device->blue_flame && is_one && has_more && fits) {
        copy_to_blue_flame(own, device->blue_flame + device->half, block);
        device->half ^= VERBS_BLUE_FLAME_HALF;
    } else {
        *device->doorbell = control;
    }
    STORES_BEFORE_DEVICE();
}

VERB int ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr) {
    struct queue_pair *own = (struct queue_pair *)(void *)qp;
    uint32_t before = own->posted, requests = 0;
    uint64_t control = 0;
    int error = qp->state == IBV_QPS_RTS || qp->state == IBV_QPS_ERR ? 0 : EINVAL;
    while (wr && !error) {
        error = post(own, wr, &control);
        if (!error) {
            requests += 1;
            wr = wr->next;
        }
    }
    if (error && bad_wr)
        *bad_wr = wr;
    if (requests > 0)
        ring(own, control, before, requests == 1);
    return error;
}
