"""All groups of measures, in the order of the table, and what each is measured with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import criterion, layers, programs
from benchmarks.building import KERNELS
from benchmarks.counting import Counter
from benchmarks.measure import Group, LeftOutError, Measure, of_rounds
from benchmarks.programs import Say, Scale
from benchmarks.simulator import Run, Simulator

GUESTS = ("bandwidth", *(exchange.program for exchange in programs.EXCHANGES))
"""Programs that are measured beside those of a scale."""

CRITERION = {
    "kernels": [Group("processor", "instructions/s", "functional integer")],
    "events": [Group("event queue", "events/s", "waiting 1")],
    "windows": [Group("window", "windows/s", "one of 16 nodes has an event")],
    "messages": [
        Group("ping-pong of 64 bytes", "messages/s", "NI2w"),
        Group("busy window of 40 ns", "windows/s", "nodes 2"),
        Group("start-up of 16 nodes", "s", "NI2w"),
    ],
}
"""The groups of each Rust bench."""

KERNEL_INSTRUCTIONS = (200_000, 1_200_000)
"""Guest instructions of a short and of a long run of a kernel."""
WALKS = ("near", "far", "far-stores")
"""Walks over what the first level holds, and over what only the second one does."""
WALK_INSTRUCTIONS = 3
"""Guest instructions of a turn, of which one accesses memory."""
COUNTED_INTERFACES = ("NI2w", "CNI512Q", "CNI32Qm")
COUNTED_MESSAGES = 500

MISSES = "misses"
MISSES_SOURCE = Path(__file__).with_name("misses.c")

OWN_SOURCES = {
    MISSES: MISSES_SOURCE,
    "uncached": MISSES_SOURCE.with_name("uncached.c"),
    **{name: MISSES_SOURCE.parent / "kernels" / f"{name}.c" for name in programs.KERNELS},
}
"""The guests of the benches' own."""


@dataclass(frozen=True)
class Bench:
    """Everything that measuring needs."""

    executables: Mapping[str, Path]
    simulator: Simulator
    scale: Scale
    quick: bool
    counter: Counter | None
    say: Say
    firmware: Mapping[str, Path] = field(default_factory=dict)
    """The firmware of machines that need some, by its name."""

    def saying(self, say: Say) -> "Bench":
        """Return the same bench with another observer."""
        return replace(self, say=say)


@dataclass(frozen=True)
class Step:
    """A part of the bench that can be asked for by its name."""

    name: str
    measure: Callable[[Bench], list[Measure]]


def steps() -> list[Step]:
    """Return all steps, in the order of the table."""
    return [
        Step("processor", lambda bench: _criterion(bench, "kernels")),
        Step("instructions", _instructions),
        Step("layers", _layers),
        Step("kernels", _of_programs(programs.kernels)),
        Step("events", lambda bench: _criterion(bench, "events")),
        Step("windows", lambda bench: _criterion(bench, "windows")),
        Step("ping-pong", lambda bench: _criterion(bench, "messages")),
        Step("stream", _of_programs(programs.stream)),
        Step("programs", _of_programs(programs.macrobenchmarks)),
        Step("wait-loops", _of_programs(programs.wait_loops)),
        Step("threads", _of_programs(programs.threads)),
        Step("balance", _of_programs(programs.balance)),
        Step("growth", _of_programs(programs.growth)),
    ]


def _criterion(bench: Bench, name: str) -> list[Measure]:
    bench.say(name)
    return criterion.measure(bench.executables[name], CRITERION[name], quick=bench.quick)


def _of_programs(
    measure: Callable[[Simulator, Scale, Say], list[Measure]],
) -> Callable[[Bench], list[Measure]]:
    return lambda bench: measure(bench.simulator, bench.scale, bench.say)


def _instructions(bench: Bench) -> list[Measure]:
    if bench.counter is None:
        raise LeftOutError("neither perf nor valgrind counts instructions on this machine")
    return [
        *_kernel_instructions(bench),
        *_level_instructions(bench),
        *_miss_instructions(bench),
        *_message_instructions(bench),
        *_program_instructions(bench),
    ]


def _layers(bench: Bench) -> list[Measure]:
    """Where the host instructions of a miss, of an access and of messages go."""
    costs = {}
    for case in layers.cases()[: 1 if bench.quick else None]:
        bench.say(f"{case.name}, by callgrind")
        costs[case.name] = layers.measure(bench.simulator, bench.firmware, case)
    return layers.measures(costs)


def _kernel_instructions(bench: Bench) -> list[Measure]:
    """Host instructions for each guest instruction of the processor's kernels."""
    short, long = KERNEL_INSTRUCTIONS
    counted: dict[str, list[float]] = {}
    for timing in ("functional", "timed", "cached"):
        for kernel in ("integer",) if bench.quick else ("integer", "float", "pointers"):
            command = [str(bench.executables[KERNELS]), timing, kernel]
            grown = _grown(
                bench, f"{timing} {kernel}", *([*command, str(n)] for n in (short, long))
            )
            counted[f"{timing} {kernel}"] = [grown / (long - short)]
    group = Group("a guest instruction", "host instructions", "functional integer")
    return of_rounds(group, counted)


def _level_instructions(bench: Bench) -> list[Measure]:
    """Host instructions of a load that hits the first or the second level of caches."""
    short, long = KERNEL_INSTRUCTIONS
    counted: dict[str, list[float]] = {}
    for walk in WALKS:
        command = [str(bench.executables[KERNELS]), "levels", walk]
        grown = _grown(bench, f"levels {walk}", *([*command, str(n)] for n in (short, long)))
        counted[walk] = [grown / (long - short) * WALK_INSTRUCTIONS]
    group = Group("a turn of a walk with one access", "host instructions", "near")
    return of_rounds(group, counted)


def _miss_instructions(bench: Bench) -> list[Measure]:
    """Host instructions for each miss of a processor's cache, its write-back included."""
    counted: dict[str, list[float]] = {}
    for machine in ("hpca98",) if bench.quick else ("hpca98", "isca96"):
        runs = (Run(MISSES, (turns,), nodes=1, machine=machine) for turns in layers.MISS_TURNS)
        commands = (bench.simulator.command(run) for run in runs)
        short, long = layers.MISS_TURNS
        misses = (long - short) * layers.MISSES_OF_A_TURN
        counted[machine] = [_grown(bench, f"misses on {machine}", *commands) / misses]
    return of_rounds(Group("a miss with its write-back", "host instructions", "hpca98"), counted)


def _message_instructions(bench: Bench) -> list[Measure]:
    """Host instructions for each simulated message of a stream."""
    counted: dict[str, list[float]] = {}
    for interface in COUNTED_INTERFACES[:1] if bench.quick else COUNTED_INTERFACES:
        commands = (
            bench.simulator.command(programs.stream_run(interface, more))
            for more in (0, COUNTED_MESSAGES)
        )
        counted[interface] = [_grown(bench, interface, *commands) / COUNTED_MESSAGES]
    return of_rounds(Group("a message of 64 bytes", "host instructions", "NI2w"), counted)


def _program_instructions(bench: Bench) -> list[Measure]:
    """Host instructions for each guest instruction of kernels of programs, on a node alone."""
    counted: dict[str, list[float]] = {}
    for name, turns in programs.KERNELS.items():
        runs = [programs.kernel_run(name, turns // part) for part in (100, 20)]
        grown = _grown(bench, name, *(bench.simulator.command(run) for run in runs))
        short, long = (bench.simulator.cost(run).instructions for run in runs)
        counted[name] = [grown / (long - short)]
        if bench.quick:
            break
    group = Group("a guest instruction of a program", "host instructions", next(iter(counted)))
    return of_rounds(group, counted)


def _grown(bench: Bench, what: str, short: Sequence[str], long: Sequence[str]) -> int:
    """Return how many instructions more the long command executes."""
    assert bench.counter is not None
    bench.say(f"{what}, by {bench.counter.tool}")
    return bench.counter.count(long) - bench.counter.count(short)


def programs_of(scale: Scale) -> list[str]:
    """Return the names of all guests that a scale needs."""
    counted = (run for runs in scale.counted.values() for run in runs)
    runs = (*scale.programs.values(), *scale.threaded.values(), *counted)
    return list(dict.fromkeys([*GUESTS, *(run.program for run in runs)]))
