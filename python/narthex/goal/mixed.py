"""Detailed nodes within the model: some ranks of a schedule are nodes, the others the model's.

The nodes' program is `goal-mixed`, which is `goal` but for who says when a run begins. The ranks of
the model have ends of the network that speak the nodes' flow control and the messaging library's
packets (schedules/src/within). What such an end needs beyond LogGP is when a packet departs from
an interface, which is measured here: of a short message and of one that fills a packet, with a
line between the two.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from narthex import _native, arguments, running
from narthex.arguments import Settings, whole_number
from narthex.errors import NarthexError
from narthex.explanation import explain
from narthex.goal.execution import (
    FILE,
    PS_PER_NS,
    Execution,
    Progress,
    check_detailed,
    convert,
    document_of,
    on_nodes,
)
from narthex.goal.parameters import Fitted
from narthex.programs import find

PROGRAM = "goal-mixed"
LEAST_BYTES = 8
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def read_ranks(text: str, count: int) -> list[int]:
    """Read "0-3,17": ranks of a schedule that has `count`."""
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last:
            raise NarthexError(f"--detailed '{text}': expected ranks such as 3, 0-3 or 0-3,17")
        if last >= count:
            raise NarthexError(f"--detailed '{text}': the schedule has the ranks 0 to {count - 1}")
        found.update(range(first, last + 1))
    return sorted(found)


def departure(machine: str | Path, interface: str, settings: Settings) -> dict[str, float]:
    """Measure how long after the begin of a send its packet departs, as a line over its size."""
    full_bytes = _native.payload_beside_model(str(machine), arguments.settings(settings), interface)
    short, full = (
        _departure_ns(machine, interface, settings, size) for size in (LEAST_BYTES, full_bytes)
    )
    per_byte = (full - short) / (full_bytes - LEAST_BYTES)
    return {"first_ns": short - (LEAST_BYTES - 1) * per_byte, "per_byte_ns": per_byte}


def _departure_ns(machine: str | Path, interface: str, settings: Settings, size: int) -> float:
    instants = explain(interface, size, machine=machine, set=settings).document["instants"]
    return next(each["time_ps"] for each in instants if each["name"] == "injected") / PS_PER_NS


def execute(
    schedule: str | Path,
    detailed: str,
    parameters: Fitted,
    program_ns: float,
    *,
    machine: str | Path,
    interface: str,
    settings: Settings,
    seed: int | None,
    threads: int,
    runs: int,
    progress: Progress | None,
) -> Execution:
    """Execute a schedule on nodes and on the model; `program_ns` is in the model's overheads."""
    whole_number("runs", runs)
    model = parameters.requests(1.0, None)[0]
    with tempfile.TemporaryDirectory(prefix="narthex-") as folder:
        file = Path(folder) / FILE
        facts = convert(schedule, file, progress=progress)
        check_detailed(schedule, facts)
        ranks = read_ranks(detailed, facts["ranks"])
        # The model alone: what never ends is told before anything is simulated.
        request = {"schedule": str(file), "parameters": [model]}
        alone = json.loads(_native.schedule_run(json.dumps(request), progress))["runs"][0]
        if len(ranks) == facts["ranks"]:
            found = on_nodes(schedule, machine, interface, settings, seed, threads, runs, progress)
        else:
            line = departure(machine, interface, settings)
            line["first_ns"] += program_ns / 2
            wanted = running.request(
                find(PROGRAM),
                (FILE, runs, min(set(range(facts["ranks"])) - set(ranks))),
                machine=machine,
                interface=interface,
                nodes=facts["ranks"],
                set=settings,
                files={FILE: file},
                threads=threads,
                seed=seed,
            )
            wanted["model"] = {
                "schedule": str(file),
                "detailed": ranks,
                "parameters": model,
                "departure": line,
                "runs": runs,
            }
            found = _run(schedule, facts, wanted, progress)
            found.document["departure"] = line
    found.document |= {
        "goal": "mixed",
        "detailed": ranks,
        "parameters": {"value": model},
        "model_makespan_ns": max(alone["finish_ps"]) / PS_PER_NS,
    }
    return found


def _run(
    schedule: str | Path, facts: dict[str, Any], wanted: dict[str, Any], progress: Progress | None
) -> Execution:
    observer = None if progress is None else lambda ps: bool(progress("simulated", ps, 0))
    result = running.simulate(wanted, find(PROGRAM), observer)
    model = result.document["model"]
    finish = [0.0] * facts["ranks"]
    for rank, time_ps in zip(model["ranks"], model["finish_ps"], strict=True):
        finish[rank] = time_ps / PS_PER_NS
    for each in result.reported("finish"):
        finish[wanted["model"]["detailed"][each["node"]]] = each["value"]
    return Execution(
        {
            **document_of("mixed", schedule, facts),
            "interface": result.interface,
            "makespan_ns": dict.fromkeys(("value", "low", "high"), max(finish)),
            "finish_ns": finish,
            "events": model["events"],
            "flow_control": model["flow_control"],
            "simulated_ps": result.document["simulated_ps"],
        }
    )
