"""Which layer of the simulator the host's instructions go to, for a miss, an access, a message.

Valgrind's callgrind counts instructions by line of source, also of what the compiler has put
into another function. A line belongs to the layer of its file; a line of Rust's library to the
layer of the line before it, which uses it. Two runs of different length are subtracted, so that
start-up is left out.
"""

import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.building import ROOT
from benchmarks.measure import Group, LeftOutError, Measure, of_rounds
from benchmarks.simulator import Run, Simulator
from narthex.errors import NarthexError

GROUP = Group("host instructions by layer", "host instructions", "a miss: all")
TOTAL = "all"
HOST = "host's libraries"
"""The layer of what is no source of the simulator: allocation, copies."""
LAYERS = {
    "processor": ("cores/",),
    "caches and port": ("memory/src/processor_memory", "memory/src/cache", "memory/src/p"),
    "main memory": ("memory/src/main_memory", "memory/src/home_memory", "memory/src/third_level"),
    "interconnect": ("memory/",),
    "node": ("machine/",),
    "interface": ("interfaces/",),
    "flow control and network": ("fabrics/",),
    "events and windows": ("kernel/",),
}
"""The layers, by what the paths of their files begin with: the first that fits."""

MISS_TURNS = (16, 24)
"""Turns of a short and a long run of `misses`, behind those in which the cache is empty and it is
often looked whether the program works."""
MISSES_OF_A_TURN = (4 << 20) // 64
"""Each turn misses once for each block of the program's array."""

_NAME = re.compile(r"\((\d+)\)(?: (.*))?")
_COST = re.compile(r"[\d+*-]")


@dataclass(frozen=True)
class Case:
    """What is counted: a short run, a longer one, and how much more that one does."""

    name: str
    run: Run
    short: Sequence[int | str]
    long: Sequence[int | str]
    more: int
    firmware: str = ""


def stream(interface: str) -> Case:
    """Return a stream of messages of 64 bytes between two nodes of hpca98."""
    name = f"a message, {interface}"
    return Case(name, Run("bandwidth", interface=interface), (64, 400), (64, 900), 500)


def cases() -> list[Case]:
    """Return all cases, in the order of the table."""
    alone = Run("misses", nodes=1)
    uncached = Run("uncached", interface="NI2w", nodes=1)
    edt = Run("via-latency", interface="EDT", machine="edt")
    voyager = Run("voyager-latency", interface="Voyager-resident", machine="voyager")
    sarc = Run("sarc-remote-store", interface="SARC", machine="sarc-chip", nodes=1)
    kinds = ("resident", "resident", 64)
    short, long = MISS_TURNS
    return [
        Case("a miss", alone, (short,), (long,), (long - short) * MISSES_OF_A_TURN),
        Case("an uncached load", uncached, (1_000,), (11_000,), 10_000),
        stream("NI2w"),
        stream("CNI32Qm"),
        # A round trip has two messages.
        Case("a message, EDT", edt, (64, 50, 10), (64, 300, 10), 500, "via"),
        Case("a message, Voyager", voyager, (*kinds, 50, 10), (*kinds, 300, 10), 500, "voyager"),
        Case("a remote store, SARC", sarc, ("store", 1, 100), ("store", 1, 600), 1_000),
    ]


def measure(simulator: Simulator, firmware: dict[str, Path], case: Case) -> dict[str, float]:
    """Return the host instructions of each layer for one of what a case has more."""
    given = firmware.get(case.firmware)
    own = {"FIRMWARE": f"{case.firmware}={given}"} if given else {}
    counted = []
    for args in (case.short, case.long):
        command = simulator.command(replace(case.run, args=tuple(args)))
        counted.append(by_layer(_callgrind(command, os.environ | own)))
    short, long = counted
    each = {layer: (long[layer] - short[layer]) / case.more for layer in (*LAYERS, HOST)}
    return {TOTAL: sum(each.values()), **each}


def measures(costs: dict[str, dict[str, float]]) -> list[Measure]:
    """Return one measure for each layer of each case."""
    values = {
        f"{case}: {layer}": [value] for case, each in costs.items() for layer, value in each.items()
    }
    return of_rounds(GROUP, values)


def layer_of(path: str) -> str | None:
    """Return the layer of a file; none if it is none of the simulator's."""
    inside = path.removeprefix(f"{ROOT}/")
    if inside == path and path.startswith("/"):
        return None
    found = (layer for layer, paths in LAYERS.items() if inside.startswith(paths))
    return next(found, None)


def by_layer(lines: Iterable[str]) -> Counter[str]:
    """Sum the costs of what callgrind wrote, without those of calls, by layer."""
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    layer, is_call = HOST, False
    for line in lines:
        key, equals, rest = line.partition("=")
        if _COST.match(line):
            words = line.split()
            if not is_call and len(words) > 1:
                costs[layer] += int(words[1])
            is_call = False
        elif equals and key in ("fl", "fi", "fe", "cfi", "cfl"):
            found = _NAME.match(rest)
            path = rest
            if found:
                names[found[1]] = path = found[2] or names[found[1]]
            if key in ("fl", "fi", "fe"):
                is_rust = "/library/" in path and path.startswith("/rustc/")
                known = layer_of(path)
                layer = known or (layer if is_rust and key != "fl" else HOST)
        elif key == "calls":
            is_call = True
    return costs


def _callgrind(command: Sequence[str], environment: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "callgrind.out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file}"]
        try:
            done = subprocess.run(
                [*valgrind, *command],
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise LeftOutError("there is no valgrind to count instructions with") from error
        if done.returncode != 0:
            raise NarthexError(f"'{' '.join(command)}' failed: {done.stderr.strip()}")
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
