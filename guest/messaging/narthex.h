/* Narthex's messaging library: active messages between the nodes of a machine.
 *
 * An active message carries, besides its payload, the number of a function to run where it arrives,
 * its handler (von Eicken et al.; the Tempest interface of cni-isca96 Section 4.1 and ni-design-
 * hpca98 Section 5.1). A node registers handlers, sends, and polls; nothing happens behind its
 * back:
 *
 *     static void greet(int source, const void *payload, size_t bytes) { ... }
 *
 *     int main(void) {
 *         narthex_register_handler(1, greet);
 *         if (narthex_node() == 0)
 *             narthex_send(1, 1, "hello", 6);
 *         narthex_barrier();
 *     }
 *
 * Every node runs the same program. Messages may overtake each other; each arrives exactly once.
 * The same binary runs over every network interface: the library finds out at start-up which one
 * the node has. Compiled natively (or under qemu) the program is a machine of one node.
 *
 * Errors. A wrong call never returns: it ends the run through narthex_fail, with a message that
 * names the node, the call, the value and what is allowed, and the handler that was running. */
#ifndef NARTHEX_H
#define NARTHEX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handler numbers are 0 .. NARTHEX_HANDLERS-1; the library keeps the rest of the byte. */
#define NARTHEX_HANDLERS 232

/* A handler: runs on the destination, inside narthex_poll. `payload` is in this process's memory
 * (copied out of the network interface), aligned to 8 bytes, and valid until the handler returns
 * unless it calls narthex_keep. A handler may send; it must not poll, nor call anything else that
 * waits for messages: handlers do not nest. */
typedef void narthex_handler(int source, const void *payload, size_t bytes);

/* This node, 0 .. narthex_nodes()-1. Where a node of the machine runs several processes, each of
 * them is a node here: the number is the process's rank, which counts the processes of the
 * machine's first node, then those of its second, and so on. */
int narthex_node(void);

/* The nodes of the machine, or rather the processes on all of them. */
int narthex_nodes(void);

/* Processes on each node of the machine. Those whose numbers are the same when divided by it run
 * on one node and have its memory in common (narthex_node_memory). */
int narthex_processes(void);

/* The run's seed, for a program's pseudo-random choices. */
uint64_t narthex_seed(void);

/* Lets messages that name handler `number` run `function` on this node. Every node registers the
 * same functions, before its first barrier (narthex_shared_start is one too): there the nodes
 * compare their tables. Fails when the number is out of range or taken, after the first barrier,
 * and, at the barrier, when another node has another function for a number. */
void narthex_register_handler(int number, narthex_handler *function);

/* The same; errors call the function `name`, a string that must stay. */
void narthex_register_named_handler(int number, narthex_handler *function, const char *name);

/* Calls name the function as the program's text does. */
#define narthex_register_handler(number, ...)                                                      \
    narthex_register_named_handler(number, __VA_ARGS__, #__VA_ARGS__)

/* The most bytes one message carries: about 8 MB, 32768 packets. */
size_t narthex_payload_limit(void);

/* Sends `bytes` bytes at `payload` to node `destination` (which may be this one), to be handled
 * there by handler `handler`. Returns when the network interface has taken all of it; the payload
 * may then change. Waits while the interface has no room. Fails when an argument is out of range.
 */
void narthex_send(int destination, int handler, const void *payload, size_t bytes);

/* Handles the messages that have arrived and returns how many; at most a few dozen packets a call,
 * so that a steady stream cannot lock the caller out. */
int narthex_poll(void);

/* Handles messages as narthex_poll does, and waits until there is one, or the time of
 * narthex_time_ns is `until_ns`; returns how many it has handled. Where the machine's interface
 * interrupts its processor (notify of `Ring` and `Virtio`), the processor sleeps meanwhile;
 * elsewhere it polls.
 */
int narthex_wait(uint64_t until_ns);

/* Spreads what arrives over the receive queues that the machine's interface has for this process
 * (receive_queues of `Ring`), in equal parts of its table; returns how many there are, 1 where the
 * interface has no further ones. Every process calls it first of all, and narthex_barrier behind
 * it: before, packets of one source might overtake each other from queue to queue. */
int narthex_use_receive_queues(void);

/* Returns after every node has called it. Handles messages while it waits. */
void narthex_barrier(void);

/* Called in a handler: its payload stays valid until narthex_release(payload). */
void narthex_keep(const void *payload);

/* Returns a kept payload's memory to the library. */
void narthex_release(const void *payload);

/* Gives the library `memory` (of `memory_bytes` bytes, aligned to 16) for payloads of up to `bytes`
 * bytes each, and returns for how many it suffices: so many can be kept without an allocation. The
 * memory is written once, so it is in the cache if it fits, and belongs to the library from then
 * on. */
size_t narthex_reserve(void *memory, size_t memory_bytes, size_t bytes);

/* Memory that the processes of a node have in common, and how many bytes it has: zero at first, at
 * the same address for each of them, and kept coherent by the node's bus. Nothing else is shared.
 */
void *narthex_node_memory(size_t *bytes);

/* Reports a result of this run, for example ("round-trip latency", 1290.0, "ns"). */
void narthex_report(const char *name, double value, const char *unit);

/* Ends the run as failed, with a message like printf's. */
#ifdef __GNUC__
__attribute__((noreturn, format(printf, 1, 2)))
#endif
void narthex_fail(const char *format, ...);

/* Fails with the message unless `condition` holds. */
#define narthex_check(condition, ...) ((condition) ? (void)0 : narthex_fail(__VA_ARGS__))

/* Begin and end of a named region of this node's time, reported on its own. */
void narthex_region_begin(const char *name);
void narthex_region_end(const char *name);

/* Simulated time since the machine started, in nanoseconds (natively: the host's clock). */
uint64_t narthex_time_ns(void);

/* This processor's cycles (natively: nanoseconds). */
uint64_t narthex_cycles(void);

/* Spends at least `cycles` processor cycles. */
void narthex_pause(uint64_t cycles);

/* A barrier of all nodes, and the place for a warm checkpoint: `narthex run --checkpoint-at call`
 * ends there with a file from which runs over any interface go on (docs/checkpoints.md). Without
 * that option it is the barrier alone. No message may be under way that a node has not polled. */
void narthex_checkpoint(void);

#ifdef __cplusplus
}
#endif

#endif
