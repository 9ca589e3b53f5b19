/* Connecting two VIs: one process waits for requests, another makes one.
 *
 *     asks                        waits
 *       ── REQUEST ─────────────────►  VipConnectWait finds it (else NO_MATCH)
 *       ◄───────────────── PENDING ──
 *       ◄────────── ACCEPT, REJECT ──  VipConnectAccept, VipConnectReject
 *       ── ACKNOWLEDGE ─────────────►
 *
 * Datagrams may be lost, where a process has not opened its interface or is busy: what is not
 * answered is said again, and a request without an answer is over as if it had been NO_MATCH. A
 * NO_MATCH that comes late is not taken for the answer to the next request: else each late one
 * would call for another request, and a busy process would never have answered them all. */
#include <stdlib.h>

#include "via_verbs/provider.h"

enum { AGAIN_NS = 100000, REQUESTS = 3, ACCEPTS = 10000 };

static uint64_t pack_all(const VIP_VI_ATTRIBUTES *attributes) {
    return pack(attributes) | (uint64_t)attributes->MaxTransferSize << 32;
}

/* What others say */

static struct via_connection *connection_of(const struct via_nic *nic, uint16_t process,
                                            uint32_t pair) {
    struct via_connection *each = nic->connections;
    while (each && (each->peer != process || each->peer_pair != pair))
        each = each->next;
    return each;
}

/* The VI that is connected to this one. */
static struct via_vi *connected_to(const struct via_nic *nic, uint16_t process, uint32_t pair) {
    struct via_vi *each = nic->vis;
    while (each &&
           (each->state != VIP_STATE_CONNECTED || each->peer != process || each->peer_pair != pair))
        each = each->next;
    return each;
}

/* A request: one that is known, one that a VipConnectWait waits for, or neither. */
static void handle_request(struct via_nic *nic, uint16_t process, const struct message *message) {
    struct message answer = {.kind = NO_MATCH, .code = message->code, .to = message->from};
    struct via_connection *known = connection_of(nic, process, message->from);
    if (connected_to(nic, process, message->from))
        return; /* it is accepted, which is said until it is acknowledged */
    if (!known && nic->waits && !nic->found && message->discriminator == nic->awaited) {
        known = malloc(sizeof *known);
        narthex_check(known, "node %d has no memory for a connection", narthex_node());
        *known = (struct via_connection){nic,          nic->connections,    process, message->from,
                                         nic->awaited, message->attributes, false};
        nic->found = nic->connections = known;
    }
    if (known)
        answer.kind = PENDING;
    verbs_say(nic, process, &answer);
}

static void acknowledge(const struct via_vi *vi) {
    struct message answer = {.kind = ACKNOWLEDGE, .from = vi->pair->qp_num, .to = vi->peer_pair};
    verbs_say(vi->nic, vi->peer, &answer);
}

/* The answer to a request of this process. */
static void handle_answer(struct via_nic *nic, uint16_t process, const struct message *message) {
    struct via_vi *vi = nic->asking;
    if (!vi || vi->pair->qp_num != message->to || vi->peer != process) {
        vi = message->kind == ACCEPT ? connected_to(nic, process, message->from) : NULL;
        if (vi)
            acknowledge(vi);
        return;
    }
    switch (message->kind) {
    case NO_MATCH:
        if (nic->answer == NOT_ANSWERED && message->code == nic->asked)
            nic->answer = NOBODY_WAITS;
        return;
    case PENDING:
        nic->answer = IS_PENDING;
        return;
    case REJECT:
        nic->answer = IS_REJECTED;
        return;
    default:
        vi->peer_pair = message->from;
        nic->answer = IS_ACCEPTED;
        nic->answered_attributes = message->attributes;
    }
}

void verbs_handle(struct via_nic *nic, uint16_t process, const struct message *message) {
    struct via_connection *connection;
    struct via_vi *vi;
    switch (message->kind) {
    case REQUEST:
        handle_request(nic, process, message);
        return;
    case WITHDRAW:
        connection = connection_of(nic, process, message->from);
        if (connection)
            connection->is_withdrawn = true;
        return;
    case ACKNOWLEDGE:
    case LOST:
        vi = connected_to(nic, process, message->from);
        if (!vi || vi->pair->qp_num != message->to)
            return;
        vi->is_acknowledged = true;
        if (message->kind == LOST)
            verbs_is_broken(vi, (VIP_ERROR_CODE)message->code);
        return;
    default:
        handle_answer(nic, process, message);
    }
}

/* Waiting */

VIP_RETURN VipConnectWait(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *LocalAddr, VIP_ULONG Timeout,
                          VIP_NET_ADDRESS *RemoteAddr, VIP_VI_ATTRIBUTES *RemoteViAttribs,
                          VIP_CONN_HANDLE *ConnHandle) {
    if (!NicHandle || !is_address(LocalAddr) || !ConnHandle)
        return VIP_INVALID_PARAMETER;
    uint64_t start = Timeout == VIP_INFINITE ? 0 : narthex_time_ns();
    NicHandle->waits = true;
    NicHandle->found = NULL;
    NicHandle->awaited = discriminator_of(LocalAddr);
    do
        verbs_listen(NicHandle);
    while (!NicHandle->found &&
           (Timeout == VIP_INFINITE || narthex_time_ns() - start < Timeout * NANOSECONDS));
    NicHandle->waits = false;
    struct via_connection *connection = NicHandle->found;
    NicHandle->found = NULL;
    if (!connection)
        return VIP_TIMEOUT;
    uint16_t node = (uint16_t)(connection->peer / narthex_processes());
    tell_node(RemoteAddr, node);
    unpack(connection->attributes, RemoteViAttribs);
    *ConnHandle = connection;
    return VIP_SUCCESS;
}

static void forget(struct via_connection *connection) {
    struct via_connection **link = &connection->nic->connections;
    while (*link != connection)
        link = &(*link)->next;
    *link = connection->next;
    free(connection);
}

/* Says that a request is accepted, until the other end knows. */
static bool is_acknowledged(struct via_vi *vi, const struct message *accept) {
    for (int each = 0; each < ACCEPTS && vi->state == VIP_STATE_CONNECTED; each++) {
        uint64_t start = narthex_time_ns();
        verbs_say(vi->nic, vi->peer, accept);
        while (!vi->is_acknowledged && narthex_time_ns() - start < AGAIN_NS)
            verbs_listen(vi->nic);
        if (vi->is_acknowledged)
            return true;
    }
    return false;
}

VIP_RETURN VipConnectAccept(VIP_CONN_HANDLE ConnHandle, VIP_VI_HANDLE ViHandle) {
    if (!ConnHandle || !ViHandle)
        return VIP_INVALID_PARAMETER;
    struct via_vi *vi = ViHandle;
    uint64_t attributes = pack_all(&vi->attributes);
    if (vi->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    if ((ConnHandle->attributes ^ attributes) & VIA_RELIABLE)
        return VIP_INVALID_RELIABILITY_LEVEL;
    verbs_listen(vi->nic);
    uint16_t peer = ConnHandle->peer;
    uint32_t peer_pair = ConnHandle->peer_pair;
    bool is_withdrawn = ConnHandle->is_withdrawn;
    struct message accept = {
        .kind = ACCEPT, .from = vi->pair->qp_num, .to = peer_pair, .attributes = attributes};
    forget(ConnHandle);
    if (is_withdrawn)
        return VIP_TIMEOUT;
    vi->is_acknowledged = false;
    VIP_RETURN result = verbs_connect_pair(vi, peer, peer_pair);
    if (result != VIP_SUCCESS || is_acknowledged(vi, &accept))
        return result;
    verbs_break(vi, VIP_ERROR_CONN_LOST);
    return VIP_TIMEOUT;
}

VIP_RETURN VipConnectReject(VIP_CONN_HANDLE ConnHandle) {
    if (!ConnHandle)
        return VIP_INVALID_PARAMETER;
    struct message answer = {.kind = REJECT, .to = ConnHandle->peer_pair};
    verbs_say(ConnHandle->nic, ConnHandle->peer, &answer);
    forget(ConnHandle);
    return VIP_SUCCESS;
}

/* Asking */

/* Asks a process, and waits for what it says of the request, then for its decision. */
static VIP_RETURN ask(struct via_vi *vi, uint16_t process, struct message *request, uint64_t start,
                      VIP_ULONG timeout) {
    struct via_nic *nic = vi->nic;
    uint64_t said = 0;
    int requests = 0;
    vi->peer = process;
    nic->answer = NOT_ANSWERED;
    request->code = ++nic->asked;
    while (nic->answer == NOT_ANSWERED || nic->answer == IS_PENDING) {
        uint64_t now = narthex_time_ns();
        if (timeout != VIP_INFINITE && now - start >= timeout * NANOSECONDS) {
            struct message withdraw = {.kind = WITHDRAW, .from = request->from};
            verbs_say(nic, process, &withdraw);
            return VIP_TIMEOUT;
        }
        if (nic->answer == NOT_ANSWERED && (requests == 0 || now - said >= AGAIN_NS)) {
            if (requests++ == REQUESTS)
                return VIP_NO_MATCH;
            verbs_say(nic, process, request);
            said = now;
        }
        verbs_listen(nic);
    }
    if (nic->answer == IS_ACCEPTED) {
        VIP_RETURN result = verbs_connect_pair(vi, process, vi->peer_pair);
        if (result == VIP_SUCCESS)
            acknowledge(vi);
        return result;
    }
    return nic->answer == IS_REJECTED ? VIP_REJECT : VIP_NO_MATCH;
}

VIP_RETURN VipConnectRequest(VIP_VI_HANDLE ViHandle, VIP_NET_ADDRESS *LocalAddr,
                             VIP_NET_ADDRESS *RemoteAddr, VIP_ULONG Timeout,
                             VIP_VI_ATTRIBUTES *RemoteViAttribs) {
    (void)LocalAddr; /* a node has one address */
    if (!ViHandle || !is_address(RemoteAddr))
        return VIP_INVALID_PARAMETER;
    if (ViHandle->state != VIP_STATE_IDLE)
        return VIP_INVALID_STATE;
    int processes = narthex_processes();
    uint64_t first = node_of(RemoteAddr) * (uint64_t)processes;
    if (first >= (uint64_t)narthex_nodes())
        return VIP_NOT_REACHABLE;
    struct message request = {.kind = REQUEST,
                              .from = ViHandle->pair->qp_num,
                              .discriminator = discriminator_of(RemoteAddr),
                              .attributes = pack_all(&ViHandle->attributes)};
    uint64_t start = narthex_time_ns();
    VIP_RETURN result = VIP_NO_MATCH;
    ViHandle->nic->asking = ViHandle;
    for (int each = 0; each < processes && result == VIP_NO_MATCH; each++)
        if (first + (uint64_t)each != (uint64_t)narthex_node())
            result = ask(ViHandle, (uint16_t)(first + (uint64_t)each), &request, start, Timeout);
    ViHandle->nic->asking = NULL;
    if (result == VIP_SUCCESS)
        unpack(ViHandle->nic->answered_attributes, RemoteViAttribs);
    return result;
}
