/* The information page: what the machine tells the program that runs on it.
 *
 * Before a simulated node starts, the simulator writes one page of facts about the node into its
 * memory: which node it is, which network interface it has, and where that interface's registers
 * and queues are mapped. One binary therefore runs over every interface: the messaging library
 * reads this page at start-up and picks its driver.
 *
 * The page exists only inside the simulator, which says so with the environment variable
 * NARTHEX=1. Without it (a native build, or an emulator such as qemu) the page's address is never
 * touched, and the program is a machine of one node whose messages to itself go through memory. */
#ifndef NARTHEX_RUNTIME_INFORMATION_H
#define NARTHEX_RUNTIME_INFORMATION_H

#include <stdbool.h>
#include <stdint.h>

#define INFORMATION_PAGE UINT64_C(0x50000000)
#define INFORMATION_MAGIC UINT64_C(0x005845485452414E)
#define INFORMATION_VERSION 1

/* The driver numbers of the field `driver`. */
enum { DRIVER_LOOPBACK = 0, DRIVER_FIFO = 1, DRIVER_CACHABLE_QUEUE = 2 };

/* All fields are 64-bit little-endian; sizes are in bytes, places are virtual addresses. */
struct narthex_information {
    uint64_t magic;               /* "NARTHEX\0" */
    uint64_t version;             /* of this layout: 1 */
    uint64_t node;                /* this node, 0 .. nodes-1 */
    uint64_t nodes;               /* in the machine */
    uint64_t driver;              /* how the interface is programmed: a DRIVER_ number */
    uint64_t register_page;       /* the interface's uncached registers */
    uint64_t packet_bytes;        /* one network packet, header included */
    uint64_t header_bytes;        /* of a packet */
    uint64_t payload_bytes;       /* the most one packet carries */
    uint64_t block_bytes;         /* one cache block */
    uint64_t send_queue;          /* cachable queue the processor fills */
    uint64_t send_entries;        /* packets it holds */
    uint64_t receive_queue;       /* cachable queue the interface fills */
    uint64_t receive_entries;     /* packets it holds */
    uint64_t entry_bytes;         /* one entry of either queue */
    uint64_t send_tail;           /* pointer word: next entry to fill */
    uint64_t send_head;           /* pointer word: next entry the interface takes */
    uint64_t receive_head;        /* pointer word: next entry the processor takes */
    uint64_t message_ready;       /* 0: uncached store announces a packet; 1: cachable store of the
                                     tail, which the interface sees by coherence */
    uint64_t overflows_to_memory; /* 1: the interface buffers arrivals in memory by itself */
    uint64_t seed;                /* for the program's pseudo-random choices */
};

/* The machine this program runs on; valid from the first statement of `main`. */
const struct narthex_information *narthex_information(void);

/* Whether the program runs inside the simulator. */
bool narthex_is_simulated(void);

#endif
