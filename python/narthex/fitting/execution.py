"""Fits LogGP to interfaces: makes the runs, and puts together what came of them."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narthex import arguments
from narthex.arguments import Settings
from narthex.batch import Batch, Progress
from narthex.errors import NarthexError
from narthex.fitting.cautions import cautions
from narthex.fitting.estimator import Estimate, Residual, estimate
from narthex.fitting.measurement import (
    BURST,
    MOST_SEEDS,
    PROGRAM,
    SEEDS,
    SIZES,
    Measurement,
    checked_sizes,
    taken,
)
from narthex.fitting.model import LogGP
from narthex.options import DEFAULT_MACHINE
from narthex.programs import find
from narthex.results import Result
from narthex.running import request

NODES = 2
"""Node 0 measures and the next answers; further nodes take no part."""


@dataclass(frozen=True)
class Fit:
    """The LogGP parameters of one interface, and how well they describe it."""

    interface: str
    estimate: Estimate
    cautions: list[str]
    """Where the model does not fit."""
    measurements: list[Measurement]
    machine: dict[str, Any]
    """The machine, resolved."""
    binary_sha256: str
    """Of the program that measured."""

    @property
    def parameters(self) -> LogGP:
        """The parameters."""
        return self.estimate.parameters

    @property
    def largest_residual(self) -> Residual:
        """The worst of all series."""
        return max(self.estimate.residuals, key=lambda each: abs(each.percent))


@dataclass(frozen=True)
class _Cell:
    """One run to make."""

    interface: str
    size: int
    seed: int


def fit_logp(
    interfaces: str | Sequence[str] | None = None,
    *,
    interface: str | Sequence[str] | None = None,
    machine: str | Path = DEFAULT_MACHINE,
    nodes: int = NODES,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    sizes: Sequence[int] = SIZES,
    seeds: int = SEEDS,
    burst: int = BURST,
    jobs: int = 2,
    fresh: bool = False,
    progress: Progress = lambda _finished, _all, _left_s: None,
) -> list[Fit]:
    """Measure the LogGP parameters of `interfaces` (or `interface`), as a program sees them.

    Messages of each of `sizes` bytes are measured from the seeds 1 to `seeds`,
    with bursts of up to `burst` messages; `jobs` runs are made at a time, and those
    that were made before are not made again, unless `fresh`. `machine`,
    `nodes` and `set` are as in `run`. Returns a fit for each interface, in order.

    >>> import narthex
    >>> (fit,) = narthex.fit_logp("CNI32Qm", sizes=[8, 64, 128, 244], seeds=2)
    >>> fit.parameters.round_trip_ns(64) > fit.parameters.round_trip_ns(8)
    True

    Raises `NarthexError` when something is wrong with the arguments.
    """
    names = arguments.either(interface, interfaces) or []
    _check(names, nodes, seeds, burst)
    program = find(PROGRAM)
    jobs = arguments.whole_number("jobs", jobs)
    batch = Batch(fresh=fresh)

    def make(cell: _Cell) -> tuple[Result, float | None]:
        wanted = request(
            program,
            _arguments(cell.size, burst),
            machine=machine,
            interface=cell.interface,
            nodes=nodes,
            set=set,
            seed=cell.seed,
        )
        return batch.run(wanted, program)

    # Every interface comes in turn, so that a name that is none is found at once.
    cells = [
        _Cell(name, size, seed)
        for size in checked_sizes(list(sizes))
        for seed in range(1, seeds + 1)
        for name in names
    ]
    program.elf()  # compiled once, before the threads start
    results = batch.make_all(make, cells, lambda cell: str(cell.size), jobs, progress)
    made: dict[str, list[tuple[_Cell, Result]]] = defaultdict(list)
    for cell, result in zip(cells, results, strict=True):
        made[cell.interface].append((cell, result))
    return [_fit(made[name]) for name in names]


def _arguments(size: int, burst: int) -> list[int]:
    """Return the program's arguments: bytes, rounds, rounds to warm up, longest burst."""
    return [size, 32, 150, burst]


def _fit(made: list[tuple[_Cell, Result]]) -> Fit:
    measurements = [taken(result, cell.size, cell.seed) for cell, result in made]
    found = estimate(measurements)
    first = made[0][1]
    return Fit(
        first.interface,
        found,
        cautions(found, measurements, int(first.value("payload of a packet"))),
        measurements,
        first.document["machine"],
        first.document["binary_sha256"],
    )


def _check(names: list[str], nodes: int, seeds: int, burst: int) -> None:
    """Refuse what cannot be measured."""
    if not names:
        raise NarthexError("a fit needs at least one interface (see 'narthex list interfaces')")
    folded = [name.casefold() for name in names]
    for name in names:
        if folded.count(name.casefold()) > 1:
            raise NarthexError(f"interface '{name}' is named twice; leave one out")
    if nodes < NODES:
        raise NarthexError(
            f"a fit needs at least {NODES} nodes, one that sends and one that answers; not {nodes}"
        )
    if not 1 <= seeds <= MOST_SEEDS:
        raise NarthexError(f"seeds must be from 1 to {MOST_SEEDS:,}, not {seeds}")
    if burst < 4 or burst > 1024 or burst & (burst - 1):
        raise NarthexError(f"burst must be a power of two from 4 to 1,024, not {burst}")
