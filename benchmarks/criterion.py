"""Runs the Rust benches and reads what criterion has measured.

Criterion keeps a folder for each benchmark: `new/benchmark.json` says what it is
and how many elements one turn handles, `new/estimates.json` how long a turn took,
`new/sample.json` the single samples.
"""

import json
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Group, Measure
from narthex.errors import NarthexError

NS_PER_S = 1e9
QUICK = ("--warm-up-time", "0.05", "--measurement-time", "0.1", "--sample-size", "10")
RESAMPLES = ("--nresamples", "10000")


@dataclass(frozen=True)
class Timing:
    """How long one turn of a benchmark takes: the median, and its interval, in nanoseconds."""

    group: str
    name: str
    elements: int | None
    median_ns: float
    low_ns: float
    high_ns: float
    samples: int


def measure(bench: Path, groups: Sequence[Group], *, quick: bool) -> list[Measure]:
    """Run a bench and return the measures of its groups."""
    with TemporaryDirectory(prefix="narthex-bench-") as folder:
        command = [str(bench), "--bench", "--noplot", *RESAMPLES, *(QUICK if quick else ())]
        environment = os.environ | {"CRITERION_HOME": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NarthexError(f"the bench {bench} failed: {done.stderr.strip()}")
        timings = read(Path(folder))
    return [each for group in groups for each in of_timings(group, timings)]


def read(folder: Path) -> list[Timing]:
    """Read all results in a folder of criterion's."""
    files = sorted(folder.rglob("new/benchmark.json"))
    if not files:
        raise NarthexError(f"there are no results of criterion in '{folder}'")
    return [_timing(file) for file in files]


def _timing(benchmark: Path) -> Timing:
    what = _load(benchmark)
    estimates = _load(benchmark.with_name("estimates.json"))
    sample = _load(benchmark.with_name("sample.json"))
    try:
        interval = estimates["median"]["confidence_interval"]
        return Timing(
            group=what["group_id"],
            name=" ".join(part for part in (what["function_id"], what["value_str"]) if part),
            elements=(what["throughput"] or {}).get("Elements"),
            median_ns=float(estimates["median"]["point_estimate"]),
            low_ns=float(interval["lower_bound"]),
            high_ns=float(interval["upper_bound"]),
            samples=len(sample["times"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NarthexError(
            f"the results in '{benchmark.parent}' are not as criterion 0.8 writes them: {error!r}"
        ) from error


def _load(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise NarthexError(f"cannot read '{file}': {error.strerror}") from error
    except ValueError as error:
        raise NarthexError(f"'{file}' is not JSON: {error}") from error


def of_timings(group: Group, timings: Sequence[Timing]) -> list[Measure]:
    """Return the measures of one group: a rate where turns have elements, else seconds."""
    mine = {each.name: each for each in timings if each.group == group.name}
    if group.baseline not in mine:
        there = ", ".join(mine) or "nothing"
        raise NarthexError(
            f"the group '{group.name}' has no baseline '{group.baseline}'; it has {there}"
        )
    base = _value(mine[group.baseline], mine[group.baseline].median_ns)
    # The baseline stands first; numbers in names are sorted as numbers.
    names = sorted(mine, key=lambda name: (name != group.baseline, _natural(name)))
    return [_measure(group, mine[name], base) for name in names]


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _measure(group: Group, timing: Timing, base: float) -> Measure:
    value = _value(timing, timing.median_ns)
    low, high = sorted(_value(timing, ns) for ns in (timing.low_ns, timing.high_ns))
    return Measure(group.name, timing.name, value, group.unit, low, high, timing.samples,
                   value / base, group.baseline)  # fmt: skip


def _value(timing: Timing, turn_ns: float) -> float:
    if timing.elements is None:
        return turn_ns / NS_PER_S
    return timing.elements * NS_PER_S / turn_ns if turn_ns else float("inf")
