"""Runs one program on one simulated machine."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from narthex import _native
from narthex.programs import Program, find
from narthex.results import Result

Observer = Callable[[int], bool]
"""Called several times a second with the simulated time in picoseconds; a
false value interrupts the run."""

Output = Callable[[int, int, str, bytes], object]
"""Called with what the program writes: node, process on it, "stdout" or "stderr", bytes."""

DEFAULT_MACHINE = "hpca98"
DEFAULT_INTERFACE = "CNI32Qm"


def run(
    program: str | Program,
    *args: object,
    machine: str = DEFAULT_MACHINE,
    interface: str = DEFAULT_INTERFACE,
    nodes: int | None = None,
    set: Sequence[str] = (),  # noqa: A002 - the option's name on the command line
    threads: int = 1,
    seed: int | None = None,
    observer: Observer | None = None,
    output: Output | None = None,
) -> Result:
    """Run a program and return what it reported and where the time went.

    `program` is the name of a program that comes with Narthex, an ELF file, or
    a C or C++ source file; `args` are its arguments. `machine` is a preset or
    a file, `interface` a name of the taxonomy in any case, with its place where
    that is not the memory bus ("NI2w on io-bus"); `nodes` replaces the machine's
    number of nodes, and each of `set` one of its parameters
    ("bus.clock=125MHz"); `seed` starts the random streams. The same arguments
    give the same bits, whatever the number of `threads`.

    >>> narthex.run("roundtrip", 64, 1000, interface="NI2w").reports  # doctest: +SKIP

    Raises `NarthexError` when the program fails, makes no progress, or
    something is wrong with the arguments.
    """
    guest = find(program) if isinstance(program, str) else program
    wanted = request(
        guest,
        args,
        machine=machine,
        interface=interface,
        nodes=nodes,
        set=set,
        threads=threads,
        seed=seed,
    )
    return simulate(wanted, guest, observer, output)


def request(
    program: Program,
    args: Sequence[object],
    *,
    machine: str,
    interface: str,
    nodes: int | None,
    set: Sequence[str],  # noqa: A002 - the option's name on the command line
    threads: int = 1,
    seed: int | None,
) -> dict[str, Any]:
    """Describe a run, as the simulator reads it (machine/src/request.rs)."""
    return {
        "program": program.name,
        "args": [str(argument) for argument in args],
        "machine": machine,
        "interface": interface,
        "nodes": nodes,
        "set": list(set),
        "threads": threads,
        "seed": seed,
    }


def simulate(
    wanted: dict[str, Any],
    program: Program,
    observer: Observer | None = None,
    output: Output | None = None,
) -> Result:
    """Make the run that a request describes."""
    return Result(json.loads(_native.run(json.dumps(wanted), program.elf(), observer, output)))
