"""What each interface gives a host on any machine, measured by the programs that come along.

    logp         one way                                 (guest/programs/logp)
    bandwidth    a stream from one process to another

The page "Which interface for my host?" changes the parameters of its machines and shows these
rows; what an interface costs is the experiment modern/cni-against-today.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from narthex.batch import Batch
from narthex.fitting.measurement import BURST, taken
from narthex.programs import find
from narthex.results import Result
from narthex.running import request

NODES = 2
SEED = 1
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
        Row(
            interface,
            taken(results[interface, "logp"], size, SEED).one_way_ns,
            results[interface, "bandwidth"].value("bandwidth"),
        )
        for interface in interfaces
    ]
    return sorted(rows, key=lambda row: row.latency_ns)
