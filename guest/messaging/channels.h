/* Virtual channels: bulk transfers to a fixed neighbour (the Tempest interface of cni-isca96
 * Section 4.1).
 *
 * A channel leads from one node to another. Its packets carry no handler: the library copies each
 * to its place in memory that was set aside when the channel was opened, so a long transfer pays
 * for its copy and not for calls, buffers or reassembly. Both ends open it, under the same number,
 * and meet in a barrier before the first transfer:
 *
 *     struct narthex_channel *out = narthex_channel_to(next, 1, sizeof forces);
 *     struct narthex_channel *in = narthex_channel_from(previous, 1, sizeof forces);
 *     narthex_barrier();
 *     narthex_channel_send(out, forces, sizeof forces);
 *     const double *theirs = narthex_channel_receive(in, NULL);
 *     ...
 *     narthex_channel_release(in);
 *
 * A receiver has memory for two transfers, so a sender may be one ahead of what is released.
 *
 * Errors. As in narthex.h: a wrong call ends the run. None of these may be called in a handler. */
#ifndef NARTHEX_MESSAGING_CHANNELS_H
#define NARTHEX_MESSAGING_CHANNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Channel numbers are 0 .. NARTHEX_CHANNELS-1, for each pair of nodes and direction. */
#define NARTHEX_CHANNELS 256

/* One end of a channel. */
struct narthex_channel;

/* Opens the sending end of channel `number` to node `destination`, for transfers of at most `bytes`
 * bytes. */
struct narthex_channel *narthex_channel_to(int destination, int number, size_t bytes);

/* Opens the receiving end of channel `number` from node `source`, for transfers of at most `bytes`
 * bytes; sets memory for two of them aside. */
struct narthex_channel *narthex_channel_from(int source, int number, size_t bytes);

/* Sends `bytes` bytes at `data`; returns when the interface has taken all of them. Waits, handling
 * messages, while the receiver has not released the transfer before the last. */
void narthex_channel_send(struct narthex_channel *channel, const void *data, size_t bytes);

/* Waits for the next transfer, handling messages, and returns its data, which are aligned to 16
 * bytes and stay valid until they are released. Its length goes to `*bytes` unless that is NULL. */
const void *narthex_channel_receive(struct narthex_channel *channel, size_t *bytes);

/* Gives the memory of the transfer that was received last back to the channel, and tells the
 * sender. */
void narthex_channel_release(struct narthex_channel *channel);

/* The same, but the sender is told with the channel's next release, or when both memories are given
 * back: one message for two transfers. Until then it may send one transfer less. */
void narthex_channel_release_later(struct narthex_channel *channel);

#ifdef __cplusplus
}
#endif

#endif
