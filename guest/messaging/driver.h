/* A driver is how the processor talks to one kind of network interface: two verbs to send, two to
 * receive. An interface may send in one way and receive in another, so the two halves are apart.
 * The messaging library is the same over all of them; a new programming model is one new driver. */
#ifndef NARTHEX_MESSAGING_DRIVER_H
#define NARTHEX_MESSAGING_DRIVER_H

#include "messaging/copy.h"
#include "messaging/packet.h"
#include "runtime/information.h"

struct send_driver {
    /* Prepares this half of the interface; called once, before the others. */
    void (*start)(const struct narthex_information *machine);
    /* Whether the interface takes one more packet now. */
    bool (*has_room)(void);
    /* Sends one packet; only after has_room said yes. */
    void (*send)(uint64_t header, const void *payload, size_t bytes);
};

struct receive_driver {
    /* Prepares this half of the interface; called once, before the others. */
    void (*start)(const struct narthex_information *machine);
    /* The header of the packet that has arrived, or 0 if there is none (no header is 0: a packet is
     * full or the last of its message). After a header, `receive` must follow exactly once. */
    uint64_t (*arrived)(void);
    /* Copies the payload of that packet to `payload` (4-byte aligned) and takes it from the
     * interface. */
    void (*receive)(void *payload, size_t bytes);
    /* Whether arrivals fill half of their queue in memory; NULL where they do not overflow to
     * memory by themselves (overflows_to_memory of the information page). */
    bool (*is_half_full)(void);
};

static inline size_t smaller(size_t one, size_t other) {
    return one < other ? one : other;
}

/* The header of a packet with `extra` more bytes than the library counts, and back. */
static inline uint64_t header_out(uint64_t header, size_t extra) {
    return header + ((uint64_t)extra << HEADER_BYTES_SHIFT);
}

static inline uint64_t header_in(uint64_t header, size_t extra) {
    return header - ((uint64_t)extra << HEADER_BYTES_SHIFT);
}

/* Copies a payload behind its header's extra bytes. */
static inline void copy_out(char *to, const void *payload, size_t bytes, size_t extra) {
    if (extra > 0)
        *(volatile word *)to = 0;
    copy(to + extra, payload, bytes);
}

/* Copies a payload from behind its header's extra bytes, which are read too. */
static inline void copy_in(void *payload, const char *from, size_t bytes, size_t extra) {
    if (extra > 0)
        (void)*(const volatile word *)from;
    copy(payload, from + extra, bytes);
}

/* A driver has a variant for either size of a packet's header (messaging/packet.h), the larger one
 * with HEADER_EXTRA_BYTES more in front of the payload. Its functions take the number of these
 * bytes as their last argument; the two lines below make the variants of them, in which it is a
 * constant, so that the smaller header does not pay for the larger one. */
enum { SMALL_HEADER, LARGE_HEADER, HEADER_VARIANTS };

/* The code that moves a packet out stands in a section of its own, by which an access fault in the
 * midst of a packet is told from others (is_sending). */
#ifdef __riscv
#define SENDING_CODE __attribute__((section("narthex_sending"), flatten))
#else
#define SENDING_CODE
#endif

#define SEND_DRIVER(driver, start, has_room, send)                                                 \
    SENDING_CODE static void send##_small(uint64_t header, const void *payload, size_t bytes) {    \
        send(header, payload, bytes, 0);                                                           \
    }                                                                                              \
    SENDING_CODE static void send##_large(uint64_t header, const void *payload, size_t bytes) {    \
        send(header, payload, bytes, HEADER_EXTRA_BYTES);                                          \
    }                                                                                              \
    const struct send_driver driver[HEADER_VARIANTS] = {{start, has_room, send##_small},           \
                                                        {start, has_room, send##_large}}

#define RECEIVE_DRIVER(driver, start, arrived, receive, is_half_full)                              \
    static uint64_t arrived##_small(void) {                                                        \
        return arrived(0);                                                                         \
    }                                                                                              \
    static uint64_t arrived##_large(void) {                                                        \
        return arrived(HEADER_EXTRA_BYTES);                                                        \
    }                                                                                              \
    static void receive##_small(void *payload, size_t bytes) {                                     \
        receive(payload, bytes, 0);                                                                \
    }                                                                                              \
    static void receive##_large(void *payload, size_t bytes) {                                     \
        receive(payload, bytes, HEADER_EXTRA_BYTES);                                               \
    }                                                                                              \
    const struct receive_driver driver[HEADER_VARIANTS] = {                                        \
        {start, arrived##_small, receive##_small, is_half_full},                                   \
        {start, arrived##_large, receive##_large, is_half_full}}

/* driver_NAME.c defines send_NAME and receive_NAME; the header has the names (EVERY_DRIVER). */
#ifdef ONLY_DRIVER
#undef EVERY_DRIVER
#define EVERY_DRIVER ONLY_DRIVER /* of a program for one interface (narthex cc --interface) */
#endif
#ifndef FURTHER_DRIVER
#define FURTHER_DRIVER(EACH) /* of programs for an interface whose driver not every program has */
#endif
#define DECLARE_DRIVER(number, name)                                                               \
    extern const struct send_driver send_##name[HEADER_VARIANTS];                                  \
    extern const struct receive_driver receive_##name[HEADER_VARIANTS];

DECLARE_DRIVER(DRIVER_LOOPBACK, loopback)
EVERY_DRIVER(DECLARE_DRIVER)
FURTHER_DRIVER(DECLARE_DRIVER)
#ifndef __riscv
DECLARE_DRIVER(DRIVER_RANKS, ranks)
/* Starts the ranks that NARTHEX_RANKS asks for, if several, and tells each its machine. */
void start_driver_of_ranks(struct narthex_information *machine);
#endif

/* The driver with a number of the information page; fails if this program has none. */
struct send_driver pick_send_driver(uint64_t number, int variant);
struct receive_driver pick_receive_driver(uint64_t number, int variant);

#endif
