/* What the library keeps of its objects, and the layout of queues; interfaces/src/models/verbs.rs
 * says what the interface does with them.
 *
 *   send queue      basic blocks of 64 bytes; a request has one or several
 *   receive queue   receives of one segment or several, 16 bytes each
 *   completions     64 bytes; the last byte has the kind and the owner bit
 *   records         a word for each queue, in a block of its own: how many are posted, or taken
 *
 * Calls that create something go to the kernel's driver by ioctl; posting and polling do not. */
#ifndef NARTHEX_VERBS_PROVIDER_H
#define NARTHEX_VERBS_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messaging/copy.h"
#include "runtime/information.h"
#include "verbs/include/infiniband/verbs.h"

enum { QUEUE_ALIGNMENT = 4096, RECORD_BYTES = 64, COMPLETION_BYTES = 64, MOST_SEGMENTS = 16 };
enum { SEGMENTS_OF_BLOCK = 4 };

/* mlx5's barriers, as RISC-V has them: stores to memory before those to the device, and what a
 * completion says before what it is about. */
#ifdef __riscv
#define STORES_BEFORE_DEVICE() __asm__ volatile("fence ow, ow" ::: "memory")
#define COMPLETION_BEFORE_DATA() __asm__ volatile("fence ir, ir" ::: "memory")
#else /* the host has no device, but compiles the file */
#define STORES_BEFORE_DEVICE() COMPILER_BARRIER()
#define COMPLETION_BEFORE_DATA() COMPILER_BARRIER()
#endif

/* Programs with datagrams link unreliable_datagrams.c, whose verbs stand in for those of the same
 * names: what other programs link, and so where their data are, does not depend on datagrams. */
#ifdef WITH_DATAGRAMS
#define VERB
enum { HAS_DATAGRAMS = 1 };
#else
#define VERB __attribute__((weak))
enum { HAS_DATAGRAMS = 0 };
#endif

static inline bool has_datagrams(enum ibv_qp_type type) {
    return HAS_DATAGRAMS && type == IBV_QPT_UD;
}

struct segment {
    uint32_t length, key;
    uint64_t address;
};

struct completion {
    uint8_t payload[32];
    uint32_t immediate, bytes, queue_pair;
    uint16_t index;
    uint8_t status, unused;
    uint32_t source; /* of a datagram: the sender's queue pair and process */
    uint16_t source_lid;
    uint8_t unused_too[9], kind_and_owner;
};

_Static_assert(sizeof(struct segment) == VERBS_SEGMENT, "the interface's segments");
_Static_assert(sizeof(struct completion) == COMPLETION_BYTES, "the interface's completions");

struct device_context {
    struct ibv_context context;
    volatile uint64_t *doorbell;
    char *blue_flame; /* NULL: none */
    size_t half;      /* of it, that is next */
    uint64_t most_inline, most_objects, most_entries, most_fetches, mtu;
    struct queue_pair **pairs; /* by their numbers */
    int users;
};

/* A ring of receives. Receives of one queue may end out of their order, where queue pairs share it.
 */
struct receive_queue {
    uint32_t number;
    char *ring;
    volatile uint32_t *record;
    uint32_t mask, segments; /* entries less one; segments of an entry */
    uint32_t posted, oldest;
    uint64_t *ids;
    bool *is_posted;
};

struct shared_receive_queue {
    struct ibv_srq srq;
    struct receive_queue queue;
};

struct completion_queue {
    struct ibv_cq cq;
    struct completion *ring;
    volatile uint32_t *record;
    uint32_t mask, taken;
};

/* Where datagrams go. */
struct address_handle {
    struct ibv_ah ah;
    uint16_t lid;
    uint8_t service_level;
};

struct queue_pair {
    struct ibv_qp qp;
    struct ibv_qp_cap cap;
    char *ring;
    volatile uint32_t *record;
    uint32_t mask;              /* basic blocks less one */
    uint32_t posted, completed; /* basic blocks */
    uint32_t most_blocks;       /* of a request */
    uint64_t access;            /* what the peer may do */
    uint64_t *ids;              /* by the request's first block, */
    uint32_t *ends;             /* and where it ends */
    uint8_t *opcodes;
    bool signals_all;
    struct receive_queue own, *receives;
};

/* A request of the kernel's driver: 0, or the error number. */
int verbs_request(struct ibv_context *context, unsigned long request, uint64_t *words);
/* The same, again while the interface is at work. */
int verbs_request_when_idle(struct ibv_context *context, unsigned long request, uint64_t number);
/* Memory of a queue, of zeros; NULL and errno. */
void *verbs_allocate(size_t bytes);
/* The smallest power of two from `count` on, as its logarithm. */
uint32_t verbs_logarithm(uint64_t count);

/* Drops a queue pair's completions that were not polled. */
void verbs_forget_completions(struct ibv_cq *cq, uint32_t queue_pair);

int verbs_create_receive_queue(struct ibv_pd *pd, uint32_t entries, uint32_t segments,
                               struct receive_queue *queue);
int verbs_destroy_receive_queue(struct ibv_context *context, struct receive_queue *queue);
int verbs_post_receives(struct receive_queue *queue, struct ibv_recv_wr *wr,
                        struct ibv_recv_wr **bad);

static inline struct device_context *device_of(struct ibv_context *context) {
    return (struct device_context *)(void *)context;
}

#endif
