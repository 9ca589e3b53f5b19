"""All groups of measures, in the order of the table, and what each is measured with.

- processor: guest instructions a second of three kernels (a sieve, a matrix product, a linked
  list): without time, timed, timed with caches; baseline: functional, integers.
- a guest instruction: host instructions that one guest instruction takes, counted; baseline: the
  same.
- a turn of a walk with one access: host instructions of a turn of a loop that loads or stores
  once, where that hits the first level of caches (*near*) or only the second (*far*), counted;
  baseline: near.
- a miss with its write-back: host instructions that one miss takes of a processor alone on its
  bus, counted; baseline: hpca98.
- a message of 64 bytes: host instructions that one message of a stream takes, counted, over
  interfaces of 1996 and 1998 and over those of today, on a chip, on the mesh of a host and behind
  PCIe; baseline: NI2w on hpca98.
- host instructions by layer: where the host instructions of a miss, an uncached load and messages
  go, counted by line of source; in a table of its own; baseline: a miss.
- a guest instruction of a program: host instructions for a guest instruction of kernels of
  programs on a node alone, counted: records and strings, what small processors do (lists, 16-bit
  matrices, a state machine, checksums), a product of doubles, bodies that attract each other;
  baseline: records.
- kernels of programs: guest instructions a second of the same; baseline: records.
- event queue: events a second: one is taken, one goes in, while a number of them wait; baseline:
  one waits.
- window: windows a second of nodes that do nearly nothing; baseline: one of 16 nodes has an
  event.
- ping-pong of 64 bytes: messages a second between two nodes that wait for each other, in
  assembler; baseline: NI2w.
- busy window of 40 ns: windows a second of nodes that compute; baseline: 2 nodes.
- start-up of 16 nodes: time of a run whose program ends at once; baseline: NI2w.
- stream of 64 bytes: messages a second of `bandwidth`, over every interface of `narthex list
  interfaces`; baseline: NI2w.
- programs: time: whole programs on 16 nodes over CNI32Qm: `em3d` at the 1998 size, `spsolve`, and
  `gauss`, which computes most; baseline: em3d.
- programs: executed: guest instructions a second in them, those of computed wait loops left out;
  baseline: em3d.
- programs: events, programs: windows: how many the whole simulator handles a second; baseline:
  em3d.
- wait loops: the same programs with every turn of a wait loop executed, and computed; baseline:
  executed.
- threads by count, calls without an event: how much faster threads could be at most, by the
  counted work of the nodes in each window; the share of the work that is calls in which nothing
  happened but instructions; baseline: em3d, 2 threads; em3d.
- threads: `unstructured` over CNI32Qm, and over CNI512Q on `isca96`, and `dsmc` over CNI32Qm, on
  1 thread, on 2, on all cores; baseline: 1 thread.
- neighbours: time a message, all-to-all: ...: exchanges of 64 bytes on more and more nodes over
  CNI32Qm: with four neighbours on up to 1,024 nodes, all with all on up to 256; baseline: the
  smallest machine.
- neighbours: memory a node, all-to-all: ...: what each node adds to the memory of the simulator,
  its guest's touched pages aside; baseline: the smallest machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import criterion, layers, programs
from benchmarks.building import KERNELS
from benchmarks.counting import Counter
from benchmarks.measure import Group, LeftOutError, Measure, of_rounds
from benchmarks.programs import Say, Scale
from benchmarks.simulator import Run, Simulator

GUESTS = (programs.STREAMER, *(exchange.program for exchange in programs.EXCHANGES))
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
TODAYS = ("CNI0Qm", "CNI32Qm", "CoherentRing", "CxlNic", "CxlNic2", "PioCoherent", "RegisterFile")
BEHIND_A_LINK = ("Ring", "Verbs", "Virtio")
COUNTED_INTERFACES = {
    "hpca98": ("NI2w", "CNI512Q", "CNI32Qm"),
    "chip": (*TODAYS, *BEHIND_A_LINK),
    "server": (*TODAYS, *BEHIND_A_LINK),
    "host-snb": ("CNI0Qm", *BEHIND_A_LINK),
}
"""By machine; that of the last one is behind PCIe."""
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
    cases = [(interface, each) for each, named in COUNTED_INTERFACES.items() for interface in named]
    for interface, machine in cases[:1] if bench.quick else cases:
        commands = (
            bench.simulator.command(programs.stream_run(interface, more, machine))
            for more in (0, COUNTED_MESSAGES)
        )
        name = f"{interface} on {machine}"
        counted[name] = [_grown(bench, name, *commands) / COUNTED_MESSAGES]
    group = Group("a message of 64 bytes", "host instructions", "NI2w on hpca98")
    return of_rounds(group, counted)


def streamers() -> dict[str, str]:
    """Return the guests that stream, by name, each with an interface that it is linked for."""
    counted = (each for named in COUNTED_INTERFACES.values() for each in named)
    return {programs.streamer(each): each for each in (*programs.streamed(), *counted)}


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
