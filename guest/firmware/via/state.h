/* What the firmware keeps of processes, registered memory, VIs and completion queues. Indexed
 * tables have entries whose size is a power of two. */
#ifndef NARTHEX_FIRMWARE_VIA_STATE_H
#define NARTHEX_FIRMWARE_VIA_STATE_H

#include "firmware/via/interface.h"
#include "via/descriptor.h"
#include "via/pages.h"

/* Registered memory, or a process's window. */
struct region {
    uint64_t base;    /* its first address of the process; a window's addresses are offsets */
    uint64_t length;  /* bytes */
    uint64_t *frames; /* where each page is in the node */
    uint64_t memory;  /* of its copy in the interface; 0: there is none */
    uint32_t ptag;    /* 0: nothing is registered */
    uint32_t way;     /* how a doubleword of it is written: enum way */
    uint32_t attributes;
    uint32_t process;
    uint64_t fill[2];
};

enum way { BY_DMA, BY_UPDATE, BY_STORE, NOT_AT_ALL, WAYS_MASK = 7 };

/* Memory that a posted descriptor names. */
struct piece {
    const struct region *region; /* NULL once it is deregistered */
    uint64_t address;
    uint64_t bytes;
};

/* A descriptor at the interface. */
struct work {
    const struct region *region; /* of the descriptor */
    uint64_t descriptor;         /* its address */
    uint64_t status_place;       /* of length and status, with a way in its lowest bits */
    uint64_t bytes;              /* of its pieces */
    uint64_t count;
    struct piece pieces[VIA_SEGMENTS_LIMIT];
};

enum vi_state { VI_NONE, VI_IDLE, VI_PENDING, VI_CONNECTED, VI_READING, VI_ERROR };

struct vi {
    uint64_t doorbells; /* what DOORBELL_SOURCE shows, without its lowest bit */
    uint32_t ptag;
    uint32_t state;    /* enum vi_state */
    uint64_t header;   /* first doubleword of its packets, without kind, flags and bytes */
    uint64_t expected; /* destination and source of packets to it */
    uint32_t remote;   /* node */
    uint32_t attributes;
    uint16_t sent;      /* messages that take a receive descriptor there */
    uint16_t posted;    /* receive descriptors */
    uint16_t completed; /* of them */
    uint16_t held_first, held_count;
    uint16_t process, number;
    uint16_t first;        /* of its receive descriptors since it was connected */
    uint64_t arrived;      /* bytes of the message that is arriving */
    struct work *receives; /* VIA_DESCRIPTORS_LIMIT */
    struct cq *send_cq, *receive_cq;
    struct work *reading; /* the RDMA read under way */
    uint64_t *held;       /* doorbells that wait for its end */
    uint64_t largest;     /* transfer */
    uint64_t sequence;    /* of the request to connect */
    uint64_t fill;
};

_Static_assert(sizeof(struct region) == 64 && sizeof(struct vi) == 128,
               "shifts find their entries");

struct cq {
    struct region region;
    uint64_t entries;
    uint64_t entered, taken; /* entries, since the start; `taken` may be old */
    uint64_t index, sense;   /* of the next one */
    uint64_t number;
    uint64_t is_used;
};

struct process {
    uint64_t page; /* where its command page is in the node; 0: it is not open */
    uint64_t events;
    uint64_t wait_sequence; /* of its VipConnectWait under way, or 0 */
    uint64_t discriminator;
    struct region window;
};

extern struct vi vis[VIS];
extern struct region regions[REGIONS];
extern struct cq cqs[QUEUES];
extern struct process processes[PROCESSES];

/* The number that the message for a receive descriptor has in the packet-to-address table: that of
 * another node's does not do. A sender counts its messages since it was connected. */
static inline uint64_t place_number(const struct vi *vi, uint16_t receive) {
    return (uint64_t)vi->remote << 16 | (uint16_t)(receive - vi->first);
}

/* Takes the place of a receive descriptor's message away. */
static inline void disarm(const struct vi *vi, uint16_t receive) {
    via_store(REGISTER_VIA_PLACE_SELECT, vi->number);
    via_store(REGISTER_VIA_PLACE_LENGTH, place_number(vi, receive) << 32);
}

/* What a message costs on each side in a message layer that does more than this firmware
 * (interfaces.via.message_layer_cycles). */
static inline void pass_message_layer(void) {
    if (machine.layer_cycles == 0)
        return;
    uint64_t start = cycle_count();
    while (cycle_count() - start < machine.layer_cycles)
        ;
}

static inline bool is_connected(const struct vi *vi) {
    return vi->state == VI_CONNECTED || vi->state == VI_READING;
}

#endif
