"""The groups that are made of runs of the simulator: messages, programs, threads, growth."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.measure import Group, LeftOutError, Measure, of_rounds
from benchmarks.simulator import Cost, Run, Simulator
from narthex.comparison import interfaces_of
from narthex.drivers import driver_apart

Say = Callable[[str], object]
"""Told what is being measured."""


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    rounds: int
    """How often each case is run."""
    messages: int
    """Messages of a stream."""
    programs: Mapping[str, Run]
    """The macrobenchmarks; the first one is the baseline."""
    threaded: Mapping[str, Run]
    """What runs on several threads: programs whose nodes all work most of the time."""
    nodes: Sequence[int]
    """Sizes of the machine, the smallest first."""
    counted: Mapping[str, tuple[Run, Run]] = field(default_factory=dict)
    """Programs whose work is counted window by window: a run, and one with more iterations."""


_DEFAULT_SIZE = {name: Run(name, nodes=16) for name in ("em3d", "spsolve", "gauss")}
_UNSTRUCTURED = Run("unstructured", nodes=16)


def _lengths(program: str, *lengths: Sequence[int]) -> tuple[Run, Run]:
    short, long = (Run(program, args, nodes=16) for args in lengths)
    return short, long


FULL = Scale(
    rounds=6,
    messages=5000,
    programs=_DEFAULT_SIZE,
    threaded={
        "unstructured": _UNSTRUCTURED,
        "unstructured on isca96": replace(_UNSTRUCTURED, machine="isca96", interface="CNI512Q"),
        "dsmc": Run("dsmc", nodes=16),
    },
    counted={
        "em3d": _lengths("em3d", (1024, 3), (1024, 23)),
        "moldyn": _lengths("moldyn", (500, 4, 4), (500, 8, 4)),
        "spsolve": _lengths("spsolve", (600, 3), (600, 6)),
    },
    nodes=(16, 64, 256, 1024),
)
QUICK = Scale(
    rounds=2,
    messages=2000,
    programs={
        "em3d": replace(_DEFAULT_SIZE["em3d"], args=(1024, 5)),
        "gauss": replace(_DEFAULT_SIZE["gauss"], args=(65,)),
    },
    threaded={"unstructured": replace(_UNSTRUCTURED, args=(3, 9, 9, 24))},
    counted={"em3d": _lengths("em3d", (256, 2), (256, 6))},
    nodes=(16, 128),
)

Costs = Mapping[str, Sequence[Cost]]
"""What the runs of each case cost, by its name, in the order of the rounds."""

FEW_MESSAGES = 400
"""Messages of the short stream that is taken from the long one: start-up, and warming up."""
BASE_INTERFACE = "NI2w"
STREAMER = "bandwidth"
STREAM = Group("stream of 64 bytes", "messages/s", BASE_INTERFACE)


@dataclass(frozen=True)
class Exchange:
    """A program in which every node sends messages of 64 bytes, again and again."""

    program: str
    size: int
    """Its first argument; the second is how often."""
    messages: Callable[[int], int]
    """How many messages all nodes send in a step, by the number of nodes."""
    more_steps: Callable[[int], int]
    """Steps that the long run has more than the short one, by the number of nodes."""
    most_nodes: int

    def run(self, nodes: int, steps: int) -> Run:
        """Return a run of this many nodes."""
        return Run(self.program, (self.size, steps), nodes=nodes)


FEW_STEPS = 2
# As many steps on each machine: later ones take longer.
NEIGHBOURS = Exchange("neighbours", 8, lambda nodes: 4 * nodes, lambda _: 40, 1024)
ALL_TO_ALL = Exchange(
    "all-to-all", 64, lambda nodes: nodes * (nodes - 1), lambda nodes: max(2, 2_048 // nodes), 256
)
EXCHANGES = (NEIGHBOURS, ALL_TO_ALL)


KERNELS = {"records": 1_000_000, "embedded": 4_000, "product": 60, "bodies": 40_000}
"""Kernels of programs, in `kernels/`, each with turns that take a second or less."""


def kernel_run(name: str, turns: int) -> Run:
    """Return a run of this many turns of a kernel, on one node."""
    return Run(name, (max(turns, 1),), nodes=1)


def kernels(simulator: Simulator, scale: Scale, say: Say) -> list[Measure]:
    """Guest instructions a second of kernels of programs, on a node alone."""
    rates: dict[str, list[float]] = {name: [] for name in KERNELS}
    for turn in range(scale.rounds):
        for name, measured in rates.items():
            say(f"{name}, round {turn + 1} of {scale.rounds}")
            parts = (20, 1)
            runs = (kernel_run(name, KERNELS[name] // part) for part in parts)
            short, long = (simulator.cost(run) for run in runs)
            grown = long.instructions - short.instructions
            measured.append(grown / extra_seconds(short, long))
    return of_rounds(Group("kernels of programs", "instructions/s", next(iter(KERNELS))), rates)


def turns(simulator: Simulator, cases: Mapping[str, Run], rounds: int, say: Say) -> Costs:
    """Run the cases by turns, every one of them once a round."""
    costs: dict[str, list[Cost]] = {name: [] for name in cases}
    for turn in range(rounds):
        for name, run in cases.items():
            say(f"{name}, round {turn + 1} of {rounds}")
            costs[name].append(simulator.cost(run))
    return costs


def values(costs: Costs, value: Callable[[Cost], float]) -> dict[str, list[float]]:
    """Return one value of each run's cost."""
    return {name: [value(cost) for cost in each] for name, each in costs.items()}


def extra_seconds(short: Cost, long: Cost) -> float:
    """Return how much longer the long run takes than the short one."""
    if long.cpu_seconds <= short.cpu_seconds:
        raise LeftOutError(
            f"this machine is too busy: a run took {short.cpu_seconds:.3f} s, and one of several "
            f"times its work only {long.cpu_seconds:.3f} s"
        )
    return long.cpu_seconds - short.cpu_seconds


def stream(simulator: Simulator, scale: Scale, say: Say) -> list[Measure]:
    """Messages of 64 bytes a second between two nodes, over each interface of the machine."""
    others = [name for name in streamed() if name != BASE_INTERFACE]
    rates: dict[str, list[float]] = {name: [] for name in (BASE_INTERFACE, *others)}
    for turn in range(scale.rounds):
        for name, measured in rates.items():
            say(f"{name}, round {turn + 1} of {scale.rounds}")
            short, long = (simulator.cost(stream_run(name, more)) for more in (0, scale.messages))
            measured.append(scale.messages / extra_seconds(short, long))
    return of_rounds(STREAM, rates)


def streamed() -> Sequence[str]:
    """Return the interfaces of the machine over which messages stream."""
    names, _ = interfaces_of(Run.machine)
    return names


def stream_run(interface: str, more: int, machine: str = Run.machine) -> Run:
    """Return a stream of this many messages more than it takes to warm up."""
    return Run(streamer(interface), (64, FEW_MESSAGES + more), interface, machine=machine)


def streamer(interface: str) -> str:
    """Return the name of the streaming guest: another file where the driver is linked apart."""
    return STREAMER if driver_apart(interface) is None else f"{STREAMER} over {interface}"


def macrobenchmarks(simulator: Simulator, scale: Scale, say: Say) -> list[Measure]:
    """Whole programs: time, and what the host does in a second of it."""
    costs = turns(simulator, scale.programs, scale.rounds, say)
    base = next(iter(scale.programs))
    units: dict[tuple[str, str], Callable[[Cost], float]] = {
        ("programs: time", "s"): lambda cost: cost.cpu_seconds,
        ("programs: executed", "instructions/s"): lambda cost: (
            cost.executed_instructions / cost.cpu_seconds
        ),
        ("programs: events", "events/s"): lambda cost: cost.events / cost.cpu_seconds,
        ("programs: windows", "windows/s"): lambda cost: cost.windows / cost.cpu_seconds,
    }
    measures = []
    for (name, unit), value in units.items():
        measures += of_rounds(Group(name, unit, base), values(costs, value))
    return measures


def wait_loops(simulator: Simulator, scale: Scale, say: Say) -> list[Measure]:
    """Programs whose wait loops are computed, against the same with every turn executed."""
    measures = []
    for name, run in list(scale.programs.items())[:2]:
        executed = replace(run, environment={"WAIT_LOOPS": "execute"})
        cases = {f"{name}, executed": executed, f"{name}, computed": run}
        costs = turns(simulator, cases, scale.rounds, say)
        group = Group("wait loops", "s", f"{name}, executed")
        measures += of_rounds(group, values(costs, lambda cost: cost.cpu_seconds))
    return measures


def threads(simulator: Simulator, scale: Scale, say: Say) -> list[Measure]:
    """Time of programs on 1 thread, on 2, and on as many as the machine has cores."""
    counts = sorted({1, 2, os.cpu_count() or 1})
    measures = []
    for name, run in scale.threaded.items():
        cases = {_threads(name, count): replace(run, threads=count) for count in counts}
        costs = turns(simulator, cases, scale.rounds, say)
        group = Group("threads", "s", _threads(name, 1))
        measures += of_rounds(group, values(costs, lambda cost: cost.seconds))
    return measures


def _threads(name: str, count: int) -> str:
    return f"{name}, {count} thread{'s' if count > 1 else ''}"


def balance(simulator: Simulator, scale: Scale, say: Say) -> list[Measure]:
    """How much faster threads could be at most, by the counted work of the nodes."""
    speeds: dict[str, list[float]] = {}
    shares: dict[str, list[float]] = {}
    for name, runs in scale.counted.items():
        say(name)
        short, long = (simulator.windows(run) for run in runs)
        counts = long.since(short)
        shares[name] = [counts.eventless_work / counts.work]
        for threads, (fixed, anew) in counts.paths.items():
            speeds[_threads(name, threads)] = [counts.work / fixed]
            speeds[f"{_threads(name, threads)}, divided anew"] = [counts.work / anew]
    return [
        *of_rounds(Group("threads by count", "times as fast", next(iter(speeds))), speeds),
        *of_rounds(Group("calls without an event", "of the work", next(iter(shares))), shares),
    ]


def growth(simulator: Simulator, scale: Scale, say: Say) -> list[Measure]:
    """Memory of a node, and time of a message, on machines of more and more nodes."""
    return [
        measure for exchange in EXCHANGES for measure in _grown(simulator, scale, say, exchange)
    ]


def _grown(simulator: Simulator, scale: Scale, say: Say, exchange: Exchange) -> list[Measure]:
    own = simulator.cost(exchange.run(1, FEW_STEPS))
    times: dict[str, list[float]] = {}
    memory: dict[str, list[float]] = {}
    rounds = 1 + scale.rounds // 3
    for turn in range(rounds):
        for nodes in scale.nodes:
            if nodes > exchange.most_nodes:
                continue
            name = f"{nodes} nodes"
            say(f"{exchange.program}, {name}, round {turn + 1} of {rounds}")
            more = exchange.more_steps(nodes)
            short = simulator.cost(exchange.run(nodes, FEW_STEPS))
            long = simulator.cost(exchange.run(nodes, FEW_STEPS + more))
            messages = exchange.messages(nodes) * more
            times.setdefault(name, []).append(extra_seconds(short, long) / messages)
            memory.setdefault(name, []).append(node_memory(own, long, nodes))
    base = f"{scale.nodes[0]} nodes"
    return [
        *of_rounds(Group(f"{exchange.program}: time a message", "s", base), times),
        *of_rounds(Group(f"{exchange.program}: memory a node", "B", base), memory),
    ]


def node_memory(own: Cost, cost: Cost, nodes: int) -> float:
    """Return what each node beyond the first keeps of the host's memory, its guest's pages aside.

    `own` is what a machine of one node costs: the simulator itself, the program's file.
    """
    if cost.peak_memory_bytes is None or own.peak_memory_bytes is None:
        raise LeftOutError("the system does not say how much memory a process has had")
    grown = cost.peak_memory_bytes - own.peak_memory_bytes
    guest = cost.touched_bytes - own.touched_bytes
    if grown <= guest:
        raise LeftOutError(f"{nodes} nodes need no more memory than their guests touch")
    return (grown - guest) / (nodes - 1)
