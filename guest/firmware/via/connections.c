/* Connections.
 *
 *     client                                        server
 *     VipConnectRequest  ── CONNECT_REQUEST ──►     VipConnectWait returns a connection
 *     returns            ◄── CONNECT_ACCEPT ──      VipConnectAccept
 *     or                 ◄── CONNECT_REJECT ──      VipConnectReject; or nobody waits: VIP_NO_MATCH
 *     VipDisconnect      ── DISCONNECT ──►          the VI's state is error
 *
 * Packets that answer others are sent by the main loop: a packet may be taken in while another is
 * being made. */
#include "firmware/via/connections.h"

#include "firmware/via/completion.h"
#include "firmware/via/receive.h"
#include "firmware/via/send.h"

/* A request that VipConnectWait has taken. */
struct connection {
    uint64_t is_used, process, node, vi, attributes;
};
static struct connection connections[CONNECTIONS];

/* Packets to be sent, and VIs whose held doorbells are due. */
enum { REPLIES = 128 };
struct reply {
    struct vi *woken;
    uint64_t node, word0, word1, word3;
};
static struct reply replies[REPLIES];
static unsigned replies_first, replies_count;

/* A packet too many is lost: the other side's request times out. */
static void add_reply(struct reply reply) {
    if (replies_count < REPLIES)
        replies[(replies_first + replies_count++) % REPLIES] = reply;
}

bool has_reply(void) {
    return replies_count > 0;
}

void send_reply(void) {
    struct reply reply = replies[replies_first];
    replies_first = (replies_first + 1) % REPLIES;
    replies_count -= 1;
    if (reply.woken)
        send_held(reply.woken);
    else
        send_words(reply.node, reply.word0, reply.word1, 0, reply.word3);
}

void wake(struct vi *vi) {
    if (vi->held_count > 0)
        add_reply((struct reply){.woken = vi});
}

/* What the other side is told of a VI. */
static uint64_t description(const struct vi *vi) {
    return vi->largest << 32 | vi->attributes;
}

static void connect(struct vi *vi, uint64_t node, uint64_t remote_vi) {
    vi->state = VI_CONNECTED;
    vi->remote = (uint32_t)node;
    vi->header = header_word(0, remote_vi, vi->number);
    vi->expected = header_ends(header_word(0, vi->number, remote_vi));
    vi->sent = 0;
    vi->arrived = 0;
    arm_receives(vi);
}

/* Requests */

void connect_wait(uint64_t process, uint64_t sequence, uint64_t discriminator) {
    processes[process].wait_sequence = sequence;
    processes[process].discriminator = discriminator;
}

void connect_request(uint64_t sequence, struct vi *vi, uint64_t node, uint64_t discriminator) {
    if (vi->state != VI_IDLE) {
        answer(vi->process, sequence, VIP_INVALID_STATE, 0, 0);
    } else if (node >= machine.nodes) {
        answer(vi->process, sequence, VIP_NOT_REACHABLE, 0, 0);
    } else {
        vi->state = VI_PENDING;
        vi->sequence = sequence;
        vi->remote = (uint32_t)node;
        send_words(node, header_word(KIND_CONNECT_REQUEST, 0, vi->number), description(vi), 0,
                   discriminator);
    }
}

void connect_accept(uint64_t process, uint64_t sequence, uint64_t number, struct vi *vi) {
    struct connection *connection = &connections[number % CONNECTIONS];
    VIP_RETURN status = VIP_SUCCESS;
    if (!connection->is_used || connection->process != process)
        status = VIP_INVALID_PARAMETER;
    else if (vi->state != VI_IDLE)
        status = VIP_INVALID_STATE;
    else if ((connection->attributes ^ vi->attributes) & VIA_RELIABLE)
        status = VIP_INVALID_RELIABILITY_LEVEL;
    if (status == VIP_SUCCESS) {
        connection->is_used = false;
        connect(vi, connection->node, connection->vi);
        send_words(connection->node, vi->header | KIND_CONNECT_ACCEPT, description(vi), 0, 0);
    }
    answer(process, sequence, status, 0, 0);
}

void connect_reject(uint64_t process, uint64_t sequence, uint64_t number) {
    struct connection *connection = &connections[number % CONNECTIONS];
    VIP_RETURN status = VIP_INVALID_PARAMETER;
    if (connection->is_used && connection->process == process) {
        connection->is_used = false;
        send_words(connection->node, header_word(KIND_CONNECT_REJECT, connection->vi, 0),
                   VIP_REJECT, 0, 0);
        status = VIP_SUCCESS;
    }
    answer(process, sequence, status, 0, 0);
}

/* Completes everything that was posted, as flushed. */
static void flush(struct vi *vi) {
    if (vi->state == VI_READING) {
        vi->state = VI_ERROR;
        complete(vi, vi->send_cq, vi->reading->status_place, 0,
                 VIP_STATUS_DESC_FLUSHED_ERROR | VIP_STATUS_OP_RDMA_READ, false);
    }
    vi->state = VI_ERROR;
    wake(vi);
    flush_receives(vi);
}

void disconnect(uint64_t sequence, struct vi *vi) {
    if (is_connected(vi)) {
        send_words(vi->remote, vi->header | KIND_DISCONNECT, VIP_ERROR_CONN_LOST, 0, 0);
        flush(vi);
    }
    while (vi->held_count > 0)
        send_held(vi);
    vi->state = VI_IDLE;
    answer(vi->process, sequence, VIP_SUCCESS, 0, 0);
}

void cancel(uint64_t process, uint64_t sequence, uint64_t cancelled) {
    VIP_RETURN status = VIP_NO_MATCH;
    if (processes[process].wait_sequence == cancelled) {
        processes[process].wait_sequence = 0;
        status = VIP_SUCCESS;
    }
    for (struct vi *vi = vis; vi < vis + VIS; vi++)
        if (vi->state == VI_PENDING && vi->process == process && vi->sequence == cancelled) {
            vi->state = VI_IDLE;
            status = VIP_SUCCESS;
        }
    answer(process, sequence, status, 0, 0);
}

/* Packets */

static struct connection *new_connection(void) {
    for (struct connection *each = connections; each < connections + CONNECTIONS; each++)
        if (!each->is_used)
            return each;
    return NULL;
}

static struct process *waiting_for(uint64_t discriminator) {
    for (struct process *each = processes; each < processes + PROCESSES; each++)
        if (each->wait_sequence != 0 && each->discriminator == discriminator)
            return each;
    return NULL;
}

static void receive_request(const struct header *slot) {
    uint64_t remote_vi = header_source(slot->words[0]), node = header_node(slot->words[2]);
    struct process *process = waiting_for(slot->words[3]);
    struct connection *connection = process ? new_connection() : NULL;
    if (!connection) {
        add_reply((struct reply){.node = node,
                                 .word0 = header_word(KIND_CONNECT_REJECT, remote_vi, 0),
                                 .word1 = VIP_NO_MATCH});
        return;
    }
    uint64_t number = (uint64_t)(process - processes), sequence = process->wait_sequence;
    *connection = (struct connection){true, number, node, remote_vi, slot->words[1]};
    process->wait_sequence = 0;
    answer(number, sequence, VIP_SUCCESS, (uint64_t)(connection - connections) | node << 32,
           slot->words[1]);
}

static void receive_accept(struct vi *vi, const struct header *slot) {
    uint64_t remote_vi = header_source(slot->words[0]), node = header_node(slot->words[2]);
    if (vi->state != VI_PENDING || vi->remote != node) {
        add_reply((struct reply){.node = node,
                                 .word0 = header_word(KIND_DISCONNECT, remote_vi, vi->number),
                                 .word1 = VIP_ERROR_CONN_LOST});
        return;
    }
    connect(vi, node, remote_vi);
    answer(vi->process, vi->sequence, VIP_SUCCESS, node << 32, slot->words[1]);
}

static void receive_reject(struct vi *vi, const struct header *slot) {
    if (vi->state != VI_PENDING || vi->remote != header_node(slot->words[2]))
        return;
    vi->state = VI_IDLE;
    answer(vi->process, vi->sequence, (VIP_RETURN)slot->words[1], 0, 0);
}

static void receive_disconnect(struct vi *vi, const struct header *slot) {
    bool is_of_it =
        header_ends(slot->words[0]) == vi->expected && header_node(slot->words[2]) == vi->remote;
    if (!is_connected(vi) || !is_of_it)
        return;
    report(vi->process, (VIP_ERROR_CODE)slot->words[1], VIP_RESOURCE_VI, vi->number, 0);
    flush(vi);
}

void receive_connection(const struct header *slot) {
    struct vi *vi = &vis[header_destination(slot->words[0]) % VIS];
    switch (header_kind(slot->words[0])) {
    case KIND_CONNECT_REQUEST:
        return receive_request(slot);
    case KIND_CONNECT_ACCEPT:
        return receive_accept(vi, slot);
    case KIND_CONNECT_REJECT:
        return receive_reject(vi, slot);
    case KIND_DISCONNECT:
        return receive_disconnect(vi, slot);
    default:
        return;
    }
}

void break_connection(struct vi *vi, VIP_ERROR_CODE code) {
    if (!is_connected(vi))
        return;
    add_reply((struct reply){
        .node = vi->remote, .word0 = vi->header | KIND_DISCONNECT, .word1 = (uint64_t)code});
    flush(vi);
}

void forget_connections(uint64_t process) {
    processes[process].wait_sequence = 0;
    for (struct connection *each = connections; each < connections + CONNECTIONS; each++)
        if (each->is_used && each->process == process)
            each->is_used = false;
}
