/* Self-checking: transfers of random lengths over channels between random pairs of nodes.
 *
 *     channels [COUNT [LARGEST]]  by default 40 rounds of transfers of up to 6000 bytes
 *     channels number|peer|limit|twice|longer|unopened|shorter|release|end|receive|handler
 *                                 the error of a wrong call
 *
 * Every node opens CHANNELS channels to others and itself, at distances that are the same for all.
 * In a round each node sends on all of them and receives on some, one transfer later than it could
 * at most; ordinary messages go in between. */
#include <stdbool.h>
#include <stdio.h>

#include "../arguments.h"
#include "../pattern.h"
#include "messaging/channels.h"

enum { CHANNELS = 5, DATA = 1, WHERE = 7 };

static struct narthex_channel *outgoing[CHANNELS], *incoming[CHANNELS];
static int sources[CHANNELS];
static long largest = 500, messages;
static char *buffer;

/* What goes over a channel of a node in a round. */
static uint64_t key_of(long round, int node, int channel) {
    return ((uint64_t)round * 64 + (uint64_t)node) * CHANNELS + (uint64_t)channel;
}

static size_t bytes_of(uint64_t key) {
    return pattern_word(key, 1) % ((uint64_t)largest + 1);
}

static void on_data(int source, const void *payload, size_t bytes) {
    pattern_check(payload, bytes, (uint64_t)source);
    messages += 1;
}

static void open_channels(void) {
    int node = narthex_node(), nodes = narthex_nodes();
    for (int channel = 0; channel < CHANNELS; channel++) {
        int distance = (int)(pattern_word(7, (size_t)channel) % (uint64_t)nodes);
        sources[channel] = (node - distance + nodes) % nodes;
        /* Numbers belong to pairs: the same one may lead to two nodes. */
        int number = channel * 60;
        outgoing[channel] = narthex_channel_to((node + distance) % nodes, number, (size_t)largest);
        incoming[channel] = narthex_channel_from(sources[channel], number, (size_t)largest);
    }
}

static void send(long round, int channel) {
    uint64_t key = key_of(round, narthex_node(), channel);
    pattern_fill(buffer, bytes_of(key), key);
    narthex_channel_send(outgoing[channel], buffer, bytes_of(key));
}

static void receive(long round, int channel) {
    uint64_t key = key_of(round, sources[channel], channel);
    size_t bytes;
    const void *data = narthex_channel_receive(incoming[channel], &bytes);
    narthex_check((uintptr_t)data % 16 == 0, "a transfer's data are at %p", data);
    narthex_check(bytes == bytes_of(key), "node %d received %zu bytes on channel %d, not %zu",
                  narthex_node(), bytes, channel, bytes_of(key));
    pattern_check(data, bytes, key);
    if (channel % 4 == 0)
        narthex_channel_release_later(incoming[channel]);
    else
        narthex_channel_release(incoming[channel]);
}

/* Channels with an odd number are received one round late, every second one of the others is
 * released two transfers at a time. */
static void exchange(long round, long rounds) {
    int node = narthex_node();
    for (int channel = 0; channel < CHANNELS && round < rounds; channel++) {
        send(round, channel);
        pattern_fill(buffer, 500, (uint64_t)node);
        narthex_send((node + 1) % narthex_nodes(), DATA, buffer, 500);
    }
    if (pattern_word((uint64_t)round, (size_t)node) % 4 == 0)
        narthex_pause(10000);
    for (int channel = 0; channel < CHANNELS; channel++) {
        long expected = round - channel % 2;
        if (expected >= 0 && expected < rounds)
            receive(expected, channel);
    }
}

static void in_handler(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    narthex_channel_release(incoming[0]);
}

static void send_to_self(struct narthex_channel *to, size_t bytes) {
    narthex_channel_send(to, buffer, bytes);
    for (;;)
        narthex_poll();
}

static void do_wrong(const char *what) {
    int node = narthex_node();
    if (strcmp(what, "number") == 0)
        narthex_channel_to(node, NARTHEX_CHANNELS, 8);
    if (strcmp(what, "peer") == 0)
        narthex_channel_from(narthex_nodes(), WHERE, 8);
    if (strcmp(what, "limit") == 0)
        narthex_channel_to(node, WHERE, narthex_payload_limit() + 1);
    struct narthex_channel *to = narthex_channel_to(node, WHERE, 1000);
    if (strcmp(what, "twice") == 0)
        narthex_channel_to(node, WHERE, 1000);
    if (strcmp(what, "longer") == 0)
        narthex_channel_send(to, buffer, 1001);
    if (strcmp(what, "unopened") == 0)
        send_to_self(to, 8);
    struct narthex_channel *from = narthex_channel_from(node, WHERE, 500);
    if (strcmp(what, "shorter") == 0)
        send_to_self(to, 501);
    if (strcmp(what, "release") == 0)
        narthex_channel_release(from);
    if (strcmp(what, "end") == 0)
        narthex_channel_send(from, buffer, 8);
    if (strcmp(what, "receive") == 0) {
        narthex_channel_send(to, buffer, 8);
        narthex_channel_receive(from, NULL);
        narthex_channel_receive(from, NULL);
    }
    if (strcmp(what, "handler") == 0) {
        narthex_register_handler(2, in_handler);
        narthex_send(node, 2, "", 0);
        for (;;)
            narthex_poll();
    }
}

int main(int count, char **values) {
    buffer = malloc(100001);
    narthex_check(buffer, "node %d has no memory for transfers", narthex_node());
    narthex_register_handler(DATA, on_data);
    if (count > 1)
        do_wrong(values[1]);
    long rounds = argument(count, values, 1, "count", 0, 1000000, 40);
    largest = argument(count, values, 2, "largest", 0, 100000, 6000);
    open_channels();
    narthex_barrier();
    for (long round = 0; round <= rounds; round++)
        exchange(round, rounds);
    while (messages < rounds * CHANNELS)
        narthex_poll();
    narthex_barrier();
    if (narthex_node() == 0)
        printf("%ld transfers on each of %d nodes\n", rounds * CHANNELS, narthex_nodes());
    return 0;
}
