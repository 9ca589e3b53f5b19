#include "mpi/puts.h"

#include "messaging/long_puts.h"
#include "messaging/narthex.h"
#include "mpi/transport.h"
#include "runtime/information.h"

const struct put_way *mpi_put_way;

/* StarT-Voyager: block transfers, by the channels of long messages. */
static void voyager_start(void) {
    set_handler(HANDLER_MPI_PUT, put_arrives_as_message, "MPI's, of puts");
}

static bool voyager_offer(int source, void *memory, size_t bytes, uint32_t slot,
                          struct put_place *place) {
    struct long_grant grant;
    uint64_t message = slot;
    if (!long_offer(source, HANDLER_MPI_PUT, &message, sizeof message, memory, bytes, &grant))
        return false;
    *place = (struct put_place){grant.address, grant.channel};
    return true;
}

static void voyager_put(int rank, const void *memory, size_t bytes, const struct put_place *place,
                        uint32_t slot) {
    (void)slot;
    long_put(rank, &(struct long_grant){place->address, place->key}, memory, bytes);
}

const struct put_way mpi_puts_of_voyager = {
    .least_bytes = 1200,
    .start = voyager_start,
    .may_leave = long_may_leave,
    .offer = voyager_offer,
    .put = voyager_put,
};

static const struct {
    uint64_t driver;
    const struct put_way *way;
} ways[] = {{DRIVER_VIA, &mpi_puts_of_via}, {DRIVER_VOYAGER, &mpi_puts_of_voyager}};

/* Programmed I/O has no RDMA. Where software flushes caches, nobody flushes the blocks that a put
 * writes, and that the receiver's program may have loaded meanwhile. */
static bool is_there(const struct put_way *way, const struct narthex_information *machine) {
    return way == &mpi_puts_of_via ? machine->via_scheme < VIA_SCHEME_DMA_FLUSH
                                   : long_puts_are_there();
}

void puts_start(void) {
    const struct narthex_information *machine = narthex_information();
    for (size_t index = 0; index < sizeof ways / sizeof *ways; index++)
        if (ways[index].driver == machine->send_driver && is_there(ways[index].way, machine))
            mpi_put_way = ways[index].way;
    if (mpi_put_way)
        mpi_put_way->start();
}
