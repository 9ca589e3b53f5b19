"""A sweep's file: what is the same in all runs, and what varies.

    program = "bandwidth"                    above: the same in every run;
    args = "{bytes} 2000"                    {NAME} stands for a parameter's value
    interface = "CNI{blocks}Q"

    [parameters]                             every value with every other:
    bytes = [64, 256, 4096]                    a list,
    blocks = { from = 16, to = 512, step = 2, scale = "log" }
    bus.clock = ["125MHz", "250MHz"]           a range; a parameter of the machine

    [[zip]]                                  vary together, value by value
    nodes = [2, 4]
    memory.access_time = { values = [100, 120], unit = "ns" }

    [sample]                                 some of the points instead of all
    method = "latin-hypercube"
    points = 20

A parameter that is called like a key above (`program`, `args`, `machine`,
`interface`, `nodes`, `seed`) takes its place. One whose name has a dot is a key
of the machine. Every other must stand in braces somewhere. The file is read by
`loading`; `planning` makes its runs.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from narthex.options import DEFAULT_MACHINE, Caches
from narthex.sweeps import naming

NUMBERS = ("nodes", "threads", "seed")
"""Keys that are whole numbers, with ranges (`arguments.RANGES`)."""

Value = bool | int | float | str
"""What a parameter can be."""

SURROUNDINGS = ("env", "input", "files", "directories")
"""Keys for what programs find around them."""

RUN_KEYS = ("program", "args", "machine", "interface", "nodes", "seed")
"""Keys that a parameter may take the place of."""


@dataclass(frozen=True)
class Axis:
    """One parameter and all that it can be."""

    name: str
    """As the file calls it."""
    values: tuple[Value, ...] = ()
    """In their order; empty if it is a range without steps, which only a sample can have."""
    low: float = 0
    """Where such a range begins,"""
    high: float = 0
    """and ends."""
    log: bool = False
    """Whether such a range is divided by ratio."""
    unit: str = ""
    """What the run's value has behind it: 100 with "ns" is "100ns"."""

    @property
    def column(self) -> str:
        """What its column is called; the unit stands last."""
        return naming.column(self.name, self.unit)

    @property
    def label(self) -> str:
        """What a chart calls it: as the file does, and its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def told(self) -> list[Value]:
        """Its values, or its ends."""
        return list(self.values) or [self.low, self.high, "log" if self.log else "linear"]

    def at(self, fraction: float) -> Value:
        """Return the value at a place between 0 and 1, 1 left out."""
        if self.values:
            return self.values[int(fraction * len(self.values))]
        if isinstance(self.low, int) and isinstance(self.high, int):
            # Half a number more at both ends: they are as wide as every other.
            value = round(self._between(self.low - 0.5, self.high + 0.5, fraction))
            return min(max(value, self.low), self.high)
        return float(f"{self._between(self.low, self.high, fraction):.12g}")

    def _between(self, low: float, high: float, fraction: float) -> float:
        return low * (high / low) ** fraction if self.log else low + (high - low) * fraction


@dataclass(frozen=True)
class Sample:
    """Some points of the parameters instead of all."""

    points: int
    """How many; those that fall together are run once."""
    method: Literal["random", "latin-hypercube"] = "latin-hypercube"
    """`random`: each parameter by itself; `latin-hypercube`: each parameter's
    values are used equally often."""
    seed: int = 1
    """Where the random numbers begin; the same seed gives the same points."""
    over: list[str] = field(default_factory=list)
    """Which parameters; all if empty. The others are crossed with the points."""


@dataclass(frozen=True)
class Slurm:
    """The jobs in which a Slurm cluster makes the runs."""

    jobs: int
    """How many."""
    cores: int
    """Of each; this many runs at a time."""
    memory: str
    """Of each: "16GB"."""
    walltime: str = "01:00:00"
    """After which Slurm ends them; the runs that are left go into other jobs."""
    queue: str | None = None
    """The partition."""
    account: str | None = None
    prologue: list[str] = field(default_factory=list)
    """Lines of shell before a job's work: "module load python"."""
    directives: list[str] = field(default_factory=list)
    """Further words for #SBATCH: "--exclusive"."""


@dataclass(frozen=True)
class Definition:
    """A whole sweep."""

    name: str
    """The results are in results/NAME; the file's name, if it does not say otherwise."""
    title: str = ""
    program: str = ""
    """One that comes with Narthex, or a file: `./mine.c` is beside the sweep's."""
    args: str = ""
    """The program's arguments, as on the command line."""
    jobs: list[str] = field(default_factory=list)
    """Programs beside it, as `--job` takes them; the first is the program, if none is named."""
    machine: str = DEFAULT_MACHINE
    """A preset, or a file, from where the sweep's is."""
    interface: str = ""
    """The machine's if missing."""
    nodes: int | None = None
    """The machine's if missing."""
    seed: int | None = None
    """The machine's if missing."""
    set: list[str] = field(default_factory=list)
    """Differences from the machine, as `--set` takes them."""
    firmware: list[str] = field(default_factory=list)
    """Files for the machine's firmware, as `--firmware` takes them, from where the sweep's is."""
    env: list[str] = field(default_factory=list)
    """Variables that the program finds, as `--env` takes them."""
    input: str | None = None
    """The file that is its standard input, from where the sweep's is."""
    files: list[str] = field(default_factory=list)
    """Files that it can open, as `--file` takes them, from where the sweep's is."""
    directories: list[str] = field(default_factory=list)
    """Folders that it can open, as `--directory` takes them, from where the sweep's is."""
    start_from: str | None = None
    """The warm checkpoint from which the runs go on, from where the sweep's is."""
    caches: Caches = "filled"
    """What caches hold then."""
    until: str | None = None
    """The simulated time at which a run stops that has not ended; it has failed then."""
    timeout: str | None = None
    """This computer's time after which a run stops; it has failed then."""
    threads: int = 1
    """Of the host, for one run."""
    parameters: list[Axis] = field(default_factory=list)
    zip: list[list[Axis]] = field(default_factory=list)
    """Parameters that vary together; each list's axes have as many values."""
    sample: Sample | None = None
    slurm: Slurm | None = None

    @property
    def axes(self) -> list[Axis]:
        """Every parameter."""
        return [*self.parameters, *(axis for group in self.zip for axis in group)]

    @property
    def decisive(self) -> dict[str, Any]:
        """What decides which runs there are: not how they are called, or where they are made."""
        every = asdict(self)
        left_out = {"name", "title", "threads", "slurm", "parameters", "zip", "timeout"}
        left_out |= {
            key
            for key in (*SURROUNDINGS, "firmware", "start_from", "jobs", "until")
            if not every[key]
        }
        left_out |= {"caches"} if self.caches == "filled" else set()
        axes = {"parameters": [self.parameters], "zip": self.zip}
        return {key: every[key] for key in every.keys() - left_out} | {
            key: [{axis.column: axis.told for axis in group} for group in groups]
            for key, groups in axes.items()
        }
