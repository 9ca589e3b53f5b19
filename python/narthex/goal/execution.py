"""The executors of a schedule: detailed nodes, LogGOPS, and some of the former within the latter.

All return an `Execution`: when each rank was through, and the last of them, the makespan. That of
the fitted model has an interval: the schedule is executed with all parameters as found, and with
all at the lower and at the upper end of their intervals. The ends are not reached together, so the
interval of the makespan is wider than 95 %.
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from narthex import _native, arguments, files
from narthex.arguments import Settings, whole_number
from narthex.errors import NarthexError, unknown
from narthex.goal.parameters import LOGGOPSIMS, Fitted, calibrated, load, of_entry
from narthex.options import default_interface

if TYPE_CHECKING:
    import polars

EXECUTORS = ("detailed", "loggops", "mixed")
Progress = Callable[[str, int, int], object]
"""Told a stage, how much of it is done, and how much there is (0: not known)."""
PROGRAM = "goal"
FILE = "schedule.goal"
MOST_DETAILED_RANKS = 4096
PS_PER_NS = 1000


class Execution:
    """What came of a schedule; `document` is exactly what `--json` writes."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def makespan_ns(self) -> float:
        """When the last rank was through."""
        return self.document["makespan_ns"]["value"]

    @property
    def interval_ns(self) -> tuple[float, float]:
        """The makespan at the ends of the parameters' intervals; twice the same if none."""
        entry = self.document["makespan_ns"]
        return entry["low"], entry["high"]

    @property
    def ranks(self) -> "polars.DataFrame":
        """When each rank was through."""
        from narthex.extras import polars as pl

        finish = self.document["finish_ns"]
        return pl.DataFrame({"rank": range(len(finish)), "finish_ns": finish})


def patterns() -> list[str]:
    """Return the names of the patterns of which schedules are generated."""
    return _native.schedule_patterns()


def show(schedule: str | Path, *, progress: Progress | None = None) -> dict[str, Any]:
    """Return what a schedule consists of: messages by size, critical paths."""
    return json.loads(_native.schedule_show(str(schedule), progress))


def convert(
    schedule: str | Path,
    output: str | Path,
    *,
    as_text: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a schedule, a file or a pattern, in the binary format or as text."""
    files.check_writable(Path(output), "choose another place")
    return json.loads(_native.schedule_convert(str(schedule), str(output), as_text, progress))


def run(
    schedule: str | Path,
    *,
    executor: str = "detailed",
    detailed: str | None = None,
    machine: str | Path = "hpca98",
    interface: str | None = None,
    parameters: Fitted | str | Path | None = None,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    seed: int | None = None,
    threads: int = 1,
    runs: int = 2,
    eager_bytes: int | None = None,
    fidelity: str | Path | None = None,
    calculation_scale: float = 1.0,
    network: bool = False,
    timeline: bool = False,
    progress: Progress | None = None,
) -> Execution:
    """Execute a schedule: a file in GOAL's text or binary format, or a pattern's name.

    On "detailed" nodes, each of which is a rank with this interface; of `runs` the last is
    measured.
    Or on the fitted model "loggops", with `parameters` of a file or, without, those of a fit of
    the interface; messages of more than `eager_bytes` wait for their receivers, and
    calculations take `calculation_scale` times as long. With `fidelity`, a document of `narthex
    goal fidelity`, the overheads have the program's part, and the makespan has the interval
    of what the schedules of that document were off with this interface. With `network`, messages
    meet in the machine's network, which has a rank on each node; with `timeline`, the document has
    the times of each operation.

    Or "mixed": the ranks `detailed` ("0-3,17") are nodes as in the first case, and all others are
    executed by the model (`narthex.goal.mixed`). The makespan has no interval.
    """
    if executor not in EXECUTORS:
        raise unknown("executor", executor, EXECUTORS)
    if (executor == "mixed") != (detailed is not None):
        raise NarthexError(
            "--executor mixed has the ranks that are nodes: --detailed 0-3"
            if detailed is None
            else f"--detailed {detailed} is of --executor mixed, not of {executor}"
        )
    over = interface or default_interface(machine, set)
    if executor == "detailed":
        given = (parameters, eager_bytes, fidelity)
        if any(each is not None for each in given) or calculation_scale != 1 or network or timeline:
            raise NarthexError(
                "parameters, the eager limit, fidelity, the scale of calculations, --network and"
                " --plot are those of the fitted model: --executor loggops"
            )
        return on_nodes(schedule, machine, over, set, seed, threads, runs, progress)
    if detailed is not None:
        # Refuses before anything is fitted.
        _native.payload_beside_model(str(machine), arguments.settings(set), over)
    if not isinstance(parameters, Fitted):
        parameters = (
            fitted([over], machine, set)[0] if parameters is None else load(parameters, interface)
        )
    if calculation_scale < 0 or not calculation_scale < float("inf"):
        raise NarthexError(f"a scale of calculations of {calculation_scale}: expected 0 or more")
    calibration = None if fidelity is None else calibrated(fidelity, parameters.interface)
    if calibration is not None:
        parameters = parameters.with_program(calibration.program_ns)
    if detailed is not None:
        from narthex.goal import mixed

        if eager_bytes is not None or calculation_scale != 1 or network or timeline:
            raise NarthexError(
                "the eager limit, the scale of calculations, --network and --plot are those of the"
                " fitted model alone: --executor loggops"
            )
        if interface is None and parameters.interface == LOGGOPSIMS:
            raise NarthexError("LogGOPSim's arguments name no interface for the nodes: -i CNI32Qm")
        return mixed.execute(
            schedule,
            detailed,
            parameters,
            0.0 if calibration is None else calibration.program_ns,
            machine=machine,
            interface=interface or parameters.interface,
            settings=set,
            seed=seed,
            threads=threads,
            runs=runs,
            progress=progress,
        )
    choice = {"machine": str(machine), "set": arguments.settings(set)} if network else None
    request = {
        "schedule": str(schedule),
        "parameters": parameters.requests(calculation_scale, eager_bytes),
        "network": choice,
        "timeline": timeline,
    }
    found = _fitted(request, parameters, progress)
    if calibration is not None:
        span_ns = found.makespan_ns
        found.document["makespan_ns"] |= {
            "low": span_ns * calibration.low,
            "high": span_ns * calibration.high,
        }
        found.document["fidelity"] = vars(calibration)
    return found


def fitted(
    interfaces: Sequence[str],
    machine: str | Path,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
    sizes: Sequence[int] | None = None,
) -> list[Fitted]:
    """Fit the model to interfaces; fits that were made before are kept."""
    from narthex.fitting import fit_logp
    from narthex.fitting.measurement import SIZES
    from narthex.fitting.output import document

    fits = fit_logp(interfaces, machine=machine, set=set, sizes=sizes or SIZES)
    return [of_entry(entry) for entry in document(fits)["fits"]]


def document_of(executor: str, schedule: str | Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what every execution's document begins with."""
    return {
        "schema": 1,
        "version": _native.__version__,
        "goal": executor,
        "schedule": {"name": str(schedule), **facts},
    }


def _fitted(request: dict[str, Any], parameters: Fitted, progress: Progress | None) -> Execution:
    made = json.loads(_native.schedule_run(json.dumps(request), progress))
    first = made["runs"][0]
    spans = [max(each["finish_ps"]) / PS_PER_NS for each in made["runs"]]
    document = {
        **document_of("loggops", request["schedule"], made["schedule"]),
        "interface": parameters.interface,
        "parameters": dict(zip(("value", "low", "high"), request["parameters"], strict=False)),
        "makespan_ns": {"value": spans[0], "low": min(spans), "high": max(spans)},
        "events": sum(each["events"] for each in made["runs"]),
        "finish_ns": [time_ps / PS_PER_NS for time_ps in first["finish_ps"]],
    }
    if request["network"] is not None:
        document["network"] = request["network"]
    if request["timeline"]:
        document["operations"] = made["operations"]
    return Execution(document)


def on_nodes(
    schedule: str | Path,
    machine: str | Path,
    interface: str,
    settings: Settings,
    seed: int | None,
    threads: int,
    runs: int,
    progress: Progress | None,
) -> Execution:
    """Execute a schedule on as many nodes as it has ranks."""
    from narthex import running

    whole_number("runs", runs)
    with tempfile.TemporaryDirectory(prefix="narthex-") as folder:
        file = Path(folder) / FILE
        facts = convert(schedule, file, progress=progress)
        check_detailed(schedule, facts)
        result = running.run(
            PROGRAM,
            FILE,
            runs,
            machine=machine,
            interface=interface,
            nodes=facts["ranks"],
            set=settings,
            seed=seed,
            threads=threads,
            files={FILE: file},
            observer=None if progress is None else lambda ps: bool(progress("simulated", ps, 0)),
        )
    finish = {each["node"]: each["value"] for each in result.reported("finish")}
    span = max(finish.values())
    return Execution(
        {
            **document_of("detailed", schedule, facts),
            "interface": result.interface,
            "makespan_ns": {"value": span, "low": span, "high": span},
            "finish_ns": [finish[rank] for rank in range(facts["ranks"])],
            "simulated_ps": result.document["simulated_ps"],
        }
    )


def check_detailed(schedule: str | Path, facts: dict[str, Any]) -> None:
    """Refuse what nodes cannot execute: each has one processor and one interface for its rank."""
    for key, what in (("cpus", "processors"), ("nics", "interfaces")):
        if facts[key] > 1:
            raise NarthexError(
                f"'{schedule}' has {facts[key]} {what} a rank; a detailed node executes its rank on"
                " one: --executor loggops has several"
            )
    if facts["ranks"] > MOST_DETAILED_RANKS:
        raise NarthexError(
            f"'{schedule}' has {facts['ranks']} ranks; detailed nodes are at most"
            f" {MOST_DETAILED_RANKS}: --executor loggops takes more"
        )
