"""What each interface gives a host and what it costs it, measured by the programs that come along.

    logp         one way, and what the processor spends on either side     (guest/programs/logp)
    bandwidth    a stream from one process to another
    open-loop    under more load than can be carried, so that no poll is idle: what a message
                 moves over the host's interconnect and over a link

The page "Which interface for my host?" is made of these rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from narthex.batch import Batch
from narthex.fitting.measurement import BURST, Measurement, taken
from narthex.programs import find
from narthex.results import Result
from narthex.running import request

NODES = 2
SEED = 1
OVERLOAD = 1_000_000
"""Thousands of requests a second: all are due at about the same time."""
REQUESTS, REQUESTS_BEFORE = 300, 100
ROUNDS, ROUNDS_BEFORE = 32, 150
STREAMED_BYTES = 400 * 4096
"""Of a stream, about; half as much goes before."""
MOST_STREAMED = 1500
"""Messages of a stream."""
JOBS = 2


@dataclass(frozen=True)
class Row:
    """An interface with messages of one size."""

    interface: str
    latency_ns: float
    """One way, half a round trip."""
    bandwidth_mb_s: float
    send_ns: float
    """The processor is engaged in sending a message,"""
    receive_ns: float
    """and in receiving one, the poll that finds it included."""
    transactions: float
    """Of a message on the interconnect of the processors."""
    link_bytes: float | None
    """Of a message on a link to the interface, headers included; none where there is no link."""


def measure(
    machine: str,
    size: int,
    interfaces: Sequence[str],
    set: Sequence[str] = (),  # noqa: A002 - the option's name on the command line
) -> list[Row]:
    """Return a row for each interface, the shortest latency first.

    Runs that were made before are not made again. Raises `NarthexError` where one fails.
    """
    streamed = min(MOST_STREAMED, STREAMED_BYTES // size)
    work = {
        "logp": [size, ROUNDS, ROUNDS_BEFORE, BURST],
        "bandwidth": [size, streamed, streamed // 2],
        "open-loop": [OVERLOAD, size, REQUESTS, REQUESTS_BEFORE],
    }
    programs = {name: find(name) for name in work}
    for program in programs.values():
        program.elf()  # compiled once, before the threads start
    batch = Batch(fresh=False)

    def make(cell: tuple[str, str]) -> tuple[Result, float | None]:
        interface, name = cell
        wanted = request(
            programs[name],
            work[name],
            machine=machine,
            interface=interface,
            nodes=NODES,
            set=set,
            seed=SEED,
        )
        return batch.run(wanted, programs[name])

    cells = [(interface, name) for interface in interfaces for name in work]
    made = batch.make_all(make, cells, lambda cell: cell[1], JOBS, lambda _done, _all, _left: None)
    results = dict(zip(cells, made, strict=True))
    rows = [
        _row(
            interface,
            taken(results[interface, "logp"], size, SEED),
            results[interface, "bandwidth"],
            results[interface, "open-loop"],
        )
        for interface in interfaces
    ]
    return sorted(rows, key=lambda row: row.latency_ns)


def _row(interface: str, costs: Measurement, stream: Result, load: Result) -> Row:
    messages = 2 * (REQUESTS + REQUESTS_BEFORE)  # each request and its answer
    counted = _counted(load)
    on_link = [value for name, value in counted if name.endswith(("_payload", "_overhead"))]
    return Row(
        interface,
        costs.one_way_ns,
        stream.value("bandwidth"),
        costs.send_overhead_ns,
        costs.receive_overhead_ns,
        sum(value for name, value in counted if name.endswith("_transactions")) / messages,
        sum(on_link) / messages if on_link else None,
    )


def _counted(result: Result) -> list[tuple[str, float]]:
    """Return the statistics of all nodes under the load; those counted by kind as sums."""
    return [
        (name, sum(value.values()) if isinstance(value, dict) else value)
        for region in result.document["regions"]
        if region["name"] == "main"
        for name, value in region["statistics"].items()
    ]
