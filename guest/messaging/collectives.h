/* Collectives: operations in which every node takes part, on top of active messages.
 *
 * Every node makes the same calls in the same order. A call returns when this node's part is done
 * and handles messages while it waits. Sums are added in an order that depends on the number of
 * nodes alone, so a result is the same whenever messages arrive. narthex_barrier (narthex.h) is one
 * of them. A call moves at most narthex_payload_limit() - 8 bytes from one node to another.
 *
 * Errors. As in narthex.h: a wrong call ends the run. None of these may be called in a handler. */
#ifndef NARTHEX_MESSAGING_COLLECTIVES_H
#define NARTHEX_MESSAGING_COLLECTIVES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the values are. */
enum narthex_type { NARTHEX_DOUBLE, NARTHEX_INT64 };

/* How two values become one. */
enum narthex_operation { NARTHEX_SUM, NARTHEX_MINIMUM, NARTHEX_MAXIMUM };

/* `bytes` bytes at `data` on node `root` come to `data` on every other node. */
void narthex_broadcast(int root, void *data, size_t bytes);

/* Combines the `count` values at `values` of all nodes, place by place, into those of node `root`;
 * the other nodes' values are undefined afterwards. */
void narthex_reduce(int root, void *values, size_t count, enum narthex_type type,
                    enum narthex_operation operation);

/* The same, into the values of every node. */
void narthex_all_reduce(void *values, size_t count, enum narthex_type type,
                        enum narthex_operation operation);

/* Node n sends the `bytes` bytes at `outgoing + m * bytes` to node m, where they come to
 * `incoming + n * bytes`. The two do not overlap. */
void narthex_all_to_all(const void *outgoing, void *incoming, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
