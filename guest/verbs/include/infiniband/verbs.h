/* The verbs: queue pairs, completion queues and registered memory, as programs of InfiniBand and
 * RoCE use them. A subset of the interface of libibverbs (its manual pages are public), with the
 * same names and meanings; written for this simulator. docs/interfaces/verbs.md says what there is.
 *
 * A process is a port of its own: its LID is its number, `narthex_node()`. Calls that return int
 * return 0 or an error number, those that return a pointer NULL and errno. Not in the subset, so
 * that a program that wants them does not compile: asynchronous events, memory windows, multicast.
 * What is in it and refused at run time is said at the call. */
#ifndef INFINIBAND_VERBS_H
#define INFINIBAND_VERBS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Devices */

struct ibv_device {
    char name[64];
};

struct ibv_context {
    struct ibv_device *device;
    int cmd_fd;
};

/* The devices, NULL behind the last: one over Verbs, none over other interfaces. */
struct ibv_device **ibv_get_device_list(int *num_devices);
void ibv_free_device_list(struct ibv_device **list);
const char *ibv_get_device_name(struct ibv_device *device);
struct ibv_context *ibv_open_device(struct ibv_device *device);
/* EBUSY while there are queue pairs of it. */
int ibv_close_device(struct ibv_context *context);

/* HCA: atomic among the operations that this device carries out, not with stores of processors. */
enum ibv_atomic_cap { IBV_ATOMIC_NONE, IBV_ATOMIC_HCA, IBV_ATOMIC_GLOB };

struct ibv_device_attr {
    int max_qp, max_qp_wr, max_sge, max_cq, max_cqe, max_mr, max_pd, max_srq, max_srq_wr,
        max_srq_sge;
    uint64_t max_mr_size;
    int max_qp_rd_atom, max_qp_init_rd_atom;
    enum ibv_atomic_cap atomic_cap;
};
int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr);

enum ibv_mtu { IBV_MTU_256 = 1, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096 };
enum ibv_port_state { IBV_PORT_NOP, IBV_PORT_DOWN, IBV_PORT_INIT, IBV_PORT_ARMED, IBV_PORT_ACTIVE };

struct ibv_port_attr {
    enum ibv_port_state state;
    enum ibv_mtu max_mtu, active_mtu;
    uint32_t max_msg_sz;
    uint16_t lid;
};
/* Port 1 is the only one. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *port_attr);

/* Memory */

struct ibv_pd {
    struct ibv_context *context;
    uint32_t handle;
};
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context);
/* EBUSY while something is in it. */
int ibv_dealloc_pd(struct ibv_pd *pd);

enum ibv_access_flags {
    IBV_ACCESS_LOCAL_WRITE = 1,
    IBV_ACCESS_REMOTE_WRITE = 1 << 1,
    IBV_ACCESS_REMOTE_READ = 1 << 2,
    IBV_ACCESS_REMOTE_ATOMIC = 1 << 3,
};

struct ibv_mr {
    struct ibv_context *context;
    struct ibv_pd *pd;
    void *addr;
    size_t length;
    uint32_t handle, lkey, rkey;
};
/* EINVAL: REMOTE_WRITE or REMOTE_ATOMIC without LOCAL_WRITE; EFAULT: no memory of the process that
 * it may write; ENOMEM: too many regions, or pinned pages. */
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
int ibv_dereg_mr(struct ibv_mr *mr);

/* Completions */

enum ibv_wc_status {
    IBV_WC_SUCCESS,
    IBV_WC_LOC_LEN_ERR,
    IBV_WC_LOC_QP_OP_ERR,
    IBV_WC_LOC_EEC_OP_ERR,
    IBV_WC_LOC_PROT_ERR,
    IBV_WC_WR_FLUSH_ERR,
    IBV_WC_MW_BIND_ERR,
    IBV_WC_BAD_RESP_ERR,
    IBV_WC_LOC_ACCESS_ERR,
    IBV_WC_REM_INV_REQ_ERR,
    IBV_WC_REM_ACCESS_ERR,
    IBV_WC_REM_OP_ERR,
    IBV_WC_RETRY_EXC_ERR,
    IBV_WC_RNR_RETRY_EXC_ERR,
};
const char *ibv_wc_status_str(enum ibv_wc_status status);

enum ibv_wc_opcode {
    IBV_WC_SEND,
    IBV_WC_RDMA_WRITE,
    IBV_WC_RDMA_READ,
    IBV_WC_COMP_SWAP,
    IBV_WC_FETCH_ADD,
    IBV_WC_RECV = 1 << 7,
    IBV_WC_RECV_RDMA_WITH_IMM,
};
enum ibv_wc_flags { IBV_WC_GRH = 1, IBV_WC_WITH_IMM = 1 << 1 };

/* Of one with an error, wr_id, status and qp_num are valid; byte_len of receives, RDMA reads and
 * atomics; src_qp and slid, the sender's queue pair and process, of datagrams. */
struct ibv_wc {
    uint64_t wr_id;
    enum ibv_wc_status status;
    enum ibv_wc_opcode opcode;
    union {
        uint32_t vendor_err;
        uint16_t slid;
    };
    uint32_t byte_len, imm_data, qp_num;
    unsigned wc_flags;
    uint32_t src_qp;
};

struct ibv_cq {
    struct ibv_context *context;
    void *cq_context;
    uint32_t handle;
    int cqe;
};
struct ibv_comp_channel;
/* Without a channel (NULL) completions are polled. There are `cqe` entries at least, a power of
 * two. EINVAL: too many entries, or another `comp_vector` than 0; ENOMEM: more queues of a channel
 * than it has room for events of. */
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector);
/* EBUSY while queue pairs use it. Waits until all events of it are acknowledged. */
int ibv_destroy_cq(struct ibv_cq *cq);
/* Takes up to `num_entries` completions: how many. */
int ibv_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);

/* Channels: events of completions. A channel has no file descriptor to poll, and one thread waits
 * for it. */

struct ibv_comp_channel {
    struct ibv_context *context;
};
/* EOPNOTSUPP: on this machine programs poll (interfaces.verbs.notify); ENOMEM: too many channels.
 */
struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context);
/* EBUSY while it has completion queues. */
int ibv_destroy_comp_channel(struct ibv_comp_channel *channel);
/* Asks for one event, of the next completion, or of the next one that is solicited
 * (IBV_SEND_SOLICITED at the other end, or an error). A completion that is there and has not been
 * polled counts, as the interface tells by its number; programs that are to run elsewhere poll once
 * more behind it. EINVAL: the queue has no channel. */
int ibv_req_notify_cq(struct ibv_cq *cq, int solicited_only);
/* Waits for an event: 0, and whose it is. */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents);

/* Datagrams: messages of one packet from a queue pair of the type IBV_QPT_UD to any other one. A
 * receive has 40 bytes of room before the payload, which its byte_len counts. Within a subnet, as
 * all processes are here, packets have no global route header: wc_flags does not say IBV_WC_GRH,
 * and the 40 bytes stay as they were. */

union ibv_gid {
    uint8_t raw[16];
    struct {
        uint64_t subnet_prefix, interface_id;
    } global;
};

struct ibv_grh {
    uint32_t version_tclass_flow;
    uint16_t paylen;
    uint8_t next_hdr, hop_limit;
    union ibv_gid sgid, dgid;
};

struct ibv_ah_attr {
    uint16_t dlid; /* the number of the process at the other end */
    uint8_t sl, port_num, is_global;
};

struct ibv_ah {
    struct ibv_context *context;
    struct ibv_pd *pd;
    uint32_t handle;
};
/* EINVAL: a global address, or another port than 1. That there is a process with this number is not
 * checked: the network drops what goes to none. */
struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int ibv_destroy_ah(struct ibv_ah *ah);

/* Work requests */

struct ibv_sge {
    uint64_t addr;
    uint32_t length, lkey;
};

enum ibv_wr_opcode {
    IBV_WR_RDMA_WRITE,
    IBV_WR_RDMA_WRITE_WITH_IMM,
    IBV_WR_SEND,
    IBV_WR_SEND_WITH_IMM,
    IBV_WR_RDMA_READ,
    IBV_WR_ATOMIC_CMP_AND_SWP,
    IBV_WR_ATOMIC_FETCH_AND_ADD,
};
/* FENCE: not before earlier RDMA reads and atomics have ended. */
enum ibv_send_flags {
    IBV_SEND_FENCE = 1,
    IBV_SEND_SIGNALED = 1 << 1,
    IBV_SEND_SOLICITED = 1 << 2,
    IBV_SEND_INLINE = 1 << 3
};

struct ibv_send_wr {
    uint64_t wr_id;
    struct ibv_send_wr *next;
    struct ibv_sge *sg_list;
    int num_sge;
    enum ibv_wr_opcode opcode;
    unsigned send_flags;
    uint32_t imm_data;
    union {
        struct {
            uint64_t remote_addr;
            uint32_t rkey;
        } rdma;
        /* The word at remote_addr, of 8 aligned bytes, becomes swap if it is compare_add, or
         * compare_add is added to it; what it was goes to the one entry of sg_list. */
        struct {
            uint64_t remote_addr, compare_add, swap;
            uint32_t rkey;
        } atomic;
        /* The other end's queue pair has to have this queue key. With the highest bit set it is the
         * own queue pair's that is sent. */
        struct {
            struct ibv_ah *ah;
            uint32_t remote_qpn, remote_qkey;
        } ud;
    } wr;
};

struct ibv_recv_wr {
    uint64_t wr_id;
    struct ibv_recv_wr *next;
    struct ibv_sge *sg_list;
    int num_sge;
};

/* Receive queues that queue pairs share */

struct ibv_srq {
    struct ibv_context *context;
    void *srq_context;
    struct ibv_pd *pd;
    uint32_t handle;
};
struct ibv_srq_init_attr {
    void *srq_context;
    struct {
        uint32_t max_wr, max_sge, srq_limit;
    } attr;
};
struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr);
int ibv_destroy_srq(struct ibv_srq *srq);
int ibv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* Queue pairs */

/* Reliable connections and unreliable datagrams. */
enum ibv_qp_type { IBV_QPT_RC = 2, IBV_QPT_UD = 4 };
enum ibv_qp_state {
    IBV_QPS_RESET,
    IBV_QPS_INIT,
    IBV_QPS_RTR,
    IBV_QPS_RTS,
    IBV_QPS_SQD,
    IBV_QPS_SQE,
    IBV_QPS_ERR,
};
enum ibv_qp_attr_mask {
    IBV_QP_STATE = 1,
    IBV_QP_ACCESS_FLAGS = 1 << 3,
    IBV_QP_PKEY_INDEX = 1 << 4,
    IBV_QP_PORT = 1 << 5,
    IBV_QP_QKEY = 1 << 6,
    IBV_QP_AV = 1 << 7,
    IBV_QP_PATH_MTU = 1 << 8,
    IBV_QP_TIMEOUT = 1 << 9,
    IBV_QP_RETRY_CNT = 1 << 10,
    IBV_QP_RNR_RETRY = 1 << 11,
    IBV_QP_RQ_PSN = 1 << 12,
    IBV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
    IBV_QP_MIN_RNR_TIMER = 1 << 15,
    IBV_QP_SQ_PSN = 1 << 16,
    IBV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
    IBV_QP_DEST_QPN = 1 << 20,
};

struct ibv_qp_cap {
    uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data;
};

struct ibv_qp_init_attr {
    void *qp_context;
    struct ibv_cq *send_cq, *recv_cq;
    struct ibv_srq *srq;
    struct ibv_qp_cap cap; /* what there is, afterwards */
    enum ibv_qp_type qp_type;
    int sq_sig_all;
};

struct ibv_qp_attr {
    enum ibv_qp_state qp_state;
    enum ibv_mtu path_mtu;
    uint32_t rq_psn, sq_psn, dest_qp_num;
    union { /* to INIT: of a connection, and of datagrams */
        unsigned qp_access_flags;
        uint32_t qkey; /* that datagrams for it have to have */
    };
    struct ibv_ah_attr ah_attr;
    uint16_t pkey_index;
    uint8_t port_num;
    uint8_t timeout;       /* 4.096 us times 2 to its power; 0: none */
    uint8_t retry_cnt;     /* 0 to 7 */
    uint8_t rnr_retry;     /* 0 to 6; 7: any number of times */
    uint8_t min_rnr_timer; /* a code of the specification's Table 45: 1 for 10 us, 12 for 640 us */
    /* RDMA reads and atomics under way, of this end and of the other one: 0 to 16 */
    uint8_t max_rd_atomic, max_dest_rd_atomic;
    struct ibv_qp_cap cap;
};

struct ibv_qp {
    struct ibv_context *context;
    void *qp_context;
    struct ibv_pd *pd;
    struct ibv_cq *send_cq, *recv_cq;
    struct ibv_srq *srq;
    uint32_t handle, qp_num;
    enum ibv_qp_state state;
    enum ibv_qp_type qp_type;
};

/* EINVAL: another type, or more inline data, segments or entries than there can be. */
struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);
enum ibv_qp_init_attr_mask { IBV_QP_INIT_ATTR_PD = 1, IBV_QP_INIT_ATTR_CREATE_FLAGS = 1 << 2 };
enum ibv_qp_create_flags { IBV_QP_CREATE_PCI_WRITE_END_PADDING = 1 << 11 };

struct ibv_qp_init_attr_ex {
    void *qp_context;
    struct ibv_cq *send_cq, *recv_cq;
    struct ibv_srq *srq;
    struct ibv_qp_cap cap;
    enum ibv_qp_type qp_type;
    int sq_sig_all;
    uint32_t comp_mask;
    struct ibv_pd *pd;
    uint32_t create_flags;
};

/* The same with flags. END_PADDING: the interface writes the last block of what is received whole,
 * zeros behind the message, as far as the receive's memory goes. */
struct ibv_qp *ibv_create_qp_ex(struct ibv_context *context,
                                struct ibv_qp_init_attr_ex *qp_init_attr_ex);
/* RESET to INIT to RTR to RTS; to ERR from any. EINVAL: another change, or an attribute that it
 * needs is not in the mask. For datagrams it needs IBV_QP_QKEY to INIT and IBV_QP_SQ_PSN to RTS. */
int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
/* State and capabilities. */
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
                 struct ibv_qp_init_attr *init_attr);
int ibv_destroy_qp(struct ibv_qp *qp);

/* Posts a list of requests; the first one that cannot be posted is told in `bad_wr`. EINVAL: it
 * makes no sense, more inline bytes or segments than created for; ENOMEM: the queue is full. */
int ibv_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int ibv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

#ifdef __cplusplus
}
#endif

#endif
