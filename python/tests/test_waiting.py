"""A program that waits for a message is not at work: the ledger books its time as polling."""

from functools import cache

import polars as pl
import pytest

import narthex
from narthex import compiler, drivers

WAITING = """
#include "narthex.h"
static volatile int got;
static void come(int source, const void *payload, size_t bytes) {
    (void)source, (void)payload, (void)bytes;
    got = 1;
}
int main(void) {
    narthex_register_handler(1, come);
    narthex_barrier();
    if (narthex_node() == 0) {
        uint64_t begin = narthex_time_ns();
        while (narthex_time_ns() - begin < 100000)
            ;
        narthex_send(1, 1, &got, sizeof got);
    } else if (narthex_node() == 1) {
        narthex_region_begin("waiting");
        while (!got)
            narthex_poll();
        narthex_region_end("waiting");
    }
    narthex_barrier();
    return 0;
}
"""

PLACES = [
    *(("hpca98", name) for name in ("NI2w", "NI16w+Blkbuf", "NI16w+Udma", "CNI0Qm", "CNI4")),
    *(("hpca98", name) for name in ("CNI512Q", "CNI32Qm", "CNI32Qm+Throttle", "NI2w on register")),
    *(("isca96", name) for name in ("NI2w on io-bus", "CNI16Q on io-bus", "NI2w on cache-bus")),
    *(("edt", name) for name in ("EDT", "CCDMA-retry", "DMA-flush", "PIO")),
    *(("voyager", name) for name in ("Voyager-resident", "Voyager-nonresident", "Voyager-CNI")),
    ("sarc-prototype", "SARC"),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """One for each driver that programs are linked for."""
    folder = tmp_path_factory.mktemp("waiting")
    source = folder / "waiting.c"
    source.write_text(WAITING)

    @cache
    def linked(driver):
        like = drivers.DRIVERS_APART[driver].interfaces[0] if driver else ""
        return compiler.compile_program(source, folder / str(driver), interface=like)

    return lambda interface: linked(drivers.driver_apart(interface))


@pytest.mark.parametrize(("machine", "interface"), PLACES)
def test_less_than_a_twentieth_of_waiting_is_the_programs_own_work(programs, machine, interface):
    program = programs(interface)
    nodes = 1 if machine == "sarc-prototype" else 2
    result = narthex.run(program, machine=machine, interface=interface, nodes=nodes)
    (region,) = (each for each in result.document["regions"] if each["name"] == "waiting")
    times = pl.DataFrame(
        [(key.partition(" / ")[0], time) for key, time in region["ledger_ps"].items()],
        schema=["activity", "time_ps"],
        orient="row",
    )
    own = times.filter(pl.col("activity") == "application")["time_ps"].sum()
    assert times["time_ps"].sum() > 90_000_000
    assert own / times["time_ps"].sum() < 0.05
