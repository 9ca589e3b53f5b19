/* Custom protocols: what happens when an access of shared memory is not allowed.
 *
 * A protocol is a set of handlers that a program writes itself, with active messages and access
 * tags, and gives for an allocation; all other allocations keep the library's invalidation
 * protocol. A block may so be pushed to its readers instead of being fetched by them, gathered, or
 * sent in bulk (cni-isca96 Section 4.2: "custom update protocol", "custom bulk reduction
 * protocol").
 *
 *     static void fault(void *block, int home, int is_store) {
 *         if (!asked(block))
 *             narthex_send(home, SUBSCRIBE, ...);     // its answer's handler sets the tag
 *     }
 *
 * The node's copy of a block is ordinary memory for the code that has set its tag: a handler that
 * brings a block in sets the tag to write, copies, and sets the tag that the program is to see.
 *
 * Errors. As in narthex.h: a wrong call ends the run. */
#ifndef NARTHEX_SHARED_MEMORY_PROTOCOL_H
#define NARTHEX_SHARED_MEMORY_PROTOCOL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this node may do to its copy of a block, with the numbers that the hardware knows. */
enum narthex_tag { NARTHEX_TAG_NONE, NARTHEX_TAG_READ, NARTHEX_TAG_WRITE };

/* A protocol of one or more allocations; the same on every node. */
struct narthex_protocol {
    /* Called on every node for every block that is allocated under the protocol, whose copy is zero
     * and whose tag is none: sets the first tag. */
    void (*begin)(void *block, int home);

    /* The program has made an access that the tag of `block` forbids (a store if `is_store`).
     * Called again after each message that is handled, until the tag allows the access, which is
     * then made: before the next message, so that no node can take the block away first. May send;
     * must not poll, nor touch shared memory that its tag forbids. */
    void (*fault)(void *block, int home, int is_store);
};

/* As narthex_shared_allocate, under `protocol`, which must outlive it. */
void *narthex_shared_allocate_under(const struct narthex_protocol *protocol, size_t bytes, int home,
                                    size_t chunk_bytes);

/* Sets the tag of this node's copy of the block at `block`, whose protocol must be a custom one. */
void narthex_set_tag(void *block, enum narthex_tag tag);

#ifdef __cplusplus
}
#endif

#endif
