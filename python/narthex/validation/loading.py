"""Reads experiments' files, and refuses what cannot be measured before anything runs.

The file is read strictly (`strict`): an unknown key is an error with a
suggestion, and so is a name in a claim or comparison that is not measured.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

from narthex import arguments, assets, loads, strict
from narthex.assets import experiment_names as names
from narthex.errors import NarthexError, unknown
from narthex.synthesis.targets import TARGETS
from narthex.validation import claims
from narthex.validation.definition import (
    BreakEven,
    Comparison,
    Derived,
    Experiment,
    Interface,
    Workload,
)

VALUES = ("report", "statistic", "ledger", "message_sizes", "load", "hardware")
"""The keys that say what is measured: one of them."""

OWN_VALUES = ("report", "statistic", "ledger")
"""Those of them that a workload may have of its own."""

CURVES = [["{curve}", "{x}"], ["{curve}", "{panel}", "{x}"]]
"""What `curves` finds in the names of workloads, sorted: without panels or with them."""


def load(name: str, machine: arguments.Path = "") -> Experiment:
    """Read an experiment, one that comes with Narthex or a file of the user's, for its machine.

    Or for `machine`, if one is given.
    """
    found = _read(name)
    given = arguments.text("machine", machine)
    return replace(found, machine=given) if given else found


def _read(name: str) -> Experiment:
    own = Path(arguments.text("name", name))
    name = str(own)
    if own.suffix == ".toml" and os.path.isfile(own):
        return parse(f"{own.resolve().parent.name}/{own.stem}", own)
    by_folded = {known.casefold(): known for known in names()}
    if name.casefold() not in by_folded:
        raise unknown("experiment", name, by_folded.values())
    known = by_folded[name.casefold()]
    return parse(known, assets.EXPERIMENTS / f"{known}.toml")


def only(
    experiment: Experiment, interfaces: Sequence[str], workloads: Sequence[str] = ()
) -> Experiment:
    """Return the part of an experiment that needs no other interfaces and workloads than these.

    Empty lists leave it whole. Interfaces may stand in one text with commas
    between them. A claim is looked at where it still can be; a derived row needs
    all of its workloads, or it would be another.
    """
    if not interfaces and not workloads:
        return experiment
    known = experiment.interface_names
    kept = _kept("interface", experiment, arguments.separated(interfaces, known), known)
    at = _kept("workload", experiment, workloads, experiment.workload_names)
    part = replace(
        experiment,
        interfaces=[
            replace(each, workloads=[name for name in each.workloads if name in at])
            for each in experiment.interfaces
            if each.name in kept and (not each.workloads or not at.isdisjoint(each.workloads))
        ],
        workload=[each for each in experiment.workload if each.name in at],
        exception=[e for e in experiment.exception if e.interface in kept and e.workload in at],
        normalise=experiment.normalise if experiment.normalise in kept else "",
    )
    return _with_what_it_can_answer(part, experiment.workload_names)


def _kept(kind: str, experiment: Experiment, names: Sequence[str], known: list[str]) -> set[str]:
    """Return the names as the experiment spells them; all if none are asked for."""
    by_folded = {name.casefold(): name for name in known}
    for name in names:
        if name.casefold() not in by_folded:
            raise unknown(f"{kind} in {experiment.name}", name, known)
    return {by_folded[name.casefold()] for name in names} or set(known)


def _with_what_it_can_answer(part: Experiment, every_workload: list[str]) -> Experiment:
    """Leave out what needs a cell that a part of an experiment does not measure."""
    measured = part.measured

    def answered(expression: str, workloads: Sequence[str]) -> list[str]:
        places = [claims.At(each, workloads) for each in workloads]
        return [at.workload for at in places if claims.cells(expression, at) <= measured]

    def has(expression: str, workloads: list[str]) -> bool:
        return answered(expression, workloads) == workloads

    def compares(each: Comparison | BreakEven, workloads: list[str]) -> bool:
        return measured.issuperset(product(each.compared, workloads))

    looked_at = [
        replace(each, workloads=answered(each.holds, each.workloads)) for each in part.claim
    ]
    return replace(
        part,
        comparison=[each for each in part.comparison if compares(each, each.workloads)],
        break_even=[each for each in part.break_even if compares(each, every_workload)],
        derived=[
            each
            for each in part.derived
            if all(has(value, each.workloads) for value in each.values)
        ],
        threshold=[
            each
            for each in part.threshold
            if all(has(each.at(number), [each.workload]) for number in each.along)
        ],
        claim=[each for each in looked_at if each.workloads],
        sweep=[
            each
            for each in part.sweep
            if {*each.interfaces} <= {*part.interface_names}
            and {*each.workloads} <= {*part.workload_names}
        ],
    )


def parse(name: str, file: Path) -> Experiment:
    """Read one file and check what can be checked before anything runs."""
    experiment = strict.table(Experiment, {**strict.document(file), "name": name}, str(file))
    for key in ("workload", "interfaces", "seeds"):
        if not getattr(experiment, key):
            raise NarthexError(f"{file}: '{key}' must not be empty")
    every = experiment.workload_names
    experiment = replace(
        experiment,
        published=experiment.published or name,
        interfaces=[
            replace(
                each,
                workloads=list(_matching(each.workloads, every)),
                set=[*_placed(each, experiment, file), *each.set],
            )
            for each in experiment.interfaces
        ],
        claim=[replace(each, workloads=each.workloads or every) for each in experiment.claim],
        comparison=[replace(each, workloads=_over(each, every)) for each in experiment.comparison],
        derived=[replace(each, workloads=_over(each, every)) for each in experiment.derived],
    )
    _check_value(experiment, file)
    _check_names(experiment, file)
    _check_derived(experiment, file)
    return experiment


def _matching(patterns: list[str], every: list[str]) -> Iterator[str]:
    """Yield the workloads that an interface names; what fits none stays, to be refused."""
    for pattern in patterns:
        yield from [name for name in every if fnmatchcase(name, pattern)] or [pattern]


def _placed(interface: Interface, experiment: Experiment, file: Path) -> Iterator[str]:
    """Yield the settings of the places that an interface names."""
    known = {place.name: place.set for place in experiment.places}
    for name in interface.where:
        if name not in known:
            raise unknown(f"place in {file}", name, known)
        yield from known[name]


def _over(each: Comparison | Derived, every: list[str]) -> list[str]:
    """Return the workloads that a derived row is about."""
    named = [each.workload] if each.workload in every else every
    return each.workloads or named


def _check_value(experiment: Experiment, file: Path) -> None:
    """Refuse an experiment that measures nothing, or several things, or no program."""
    given = [key for key in VALUES if getattr(experiment, key)]
    if len(given) != 1:
        found = f"not {' and '.join(given)}" if given else "and none is there"
        raise NarthexError(f"{file}: one of {', '.join(VALUES)} says what is measured, {found}")
    if experiment.share_of and not (experiment.statistic and experiment.unit == "percent"):
        raise NarthexError(f"{file}: 'share_of' needs 'statistic' and the unit percent")
    if experiment.over and not (experiment.curves and experiment.report):
        raise NarthexError(f"{file}: 'over' needs 'curves' and 'report': it is what they are over")
    for workload in experiment.workload:
        if experiment.load:
            is_latency = experiment.load == "latency"
            place = f"{file}: workload '{workload.name}'"
            loads.check_workload(workload.args, place, has_load=is_latency)
        elif experiment.hardware:
            _check_target(workload, file)
        elif not experiment.program_of(workload):
            raise NarthexError(
                f"{file}: workload '{workload.name}' has no 'program', and neither has the file"
            )
        own = [key for key in OWN_VALUES if getattr(workload, key)]
        if len(own) > 1 or (own and given[0] not in OWN_VALUES):
            raise NarthexError(
                f"{file}: workload '{workload.name}' has {' and '.join(map(repr, own))}: one of"
                f" {', '.join(OWN_VALUES)} stands in the place of the experiment's, if that is"
                f" one of them, and it is '{given[0]}'"
            )
        if not workload.per > 0:
            raise NarthexError(
                f"{file}: workload '{workload.name}': per = {workload.per:g}; it divides the"
                " value, so allowed is what is above 0"
            )
        if workload.firmware_of is not None and not experiment.whole_run:
            raise NarthexError(
                f"{file}: workload '{workload.name}' has 'firmware_of', which needs"
                " whole_run = true: the time of firmware is in no region"
            )
        if bool(workload.sizes) != experiment.message_sizes:
            lacks = "needs 'sizes'" if experiment.message_sizes else "has 'sizes'"
            raise NarthexError(
                f"{file}: workload '{workload.name}' {lacks}: they go with message_sizes = true"
            )


def _check_target(workload: Workload, file: Path) -> None:
    """Refuse a workload of hardware that does not name the target alone."""
    if len(workload.args) != 1:
        raise NarthexError(f"{file}: workload '{workload.name}': 'args' names one target")
    if workload.args[0] not in TARGETS:
        raise unknown(
            f"target (of workload '{workload.name}' in {file})", workload.args[0], TARGETS
        )


def _check_names(experiment: Experiment, file: Path) -> None:
    """Refuse a name that is measured twice or not at all."""
    interfaces, workloads = experiment.interface_names, experiment.workload_names
    for kind, measured in (("interface", interfaces), ("workload", workloads)):
        twice = [name for name in measured if measured.count(name) > 1]
        if twice:
            raise NarthexError(f"{file}: {kind} '{twice[0]}' stands there twice")
    over = (*experiment.claim, *experiment.comparison, *experiment.derived, *experiment.interfaces)
    for each in over:
        _all_known("workload", each.workloads, workloads, file)
    for threshold in experiment.threshold:
        _all_known("workload", [threshold.workload], workloads, file)
    for sweep in experiment.sweep:
        _all_known("interface", sweep.interfaces, interfaces, file)
        _all_known("workload", sweep.workloads, workloads, file)
    for each in (*experiment.comparison, *experiment.break_even):
        _all_known("interface", each.compared, interfaces, file)
    for exception in experiment.exception:
        _all_known("interface", [exception.interface], interfaces, file)
        _all_known("workload", [exception.workload], workloads, file)
    if experiment.curves and sorted(re.findall(r"\{.*?\}", experiment.curves)) not in CURVES:
        raise NarthexError(
            f"{file}: curves = '{experiment.curves}': expected {{curve}}, {{x}} and, if"
            f" there are panels, {{panel}}, once each"
        )
    if experiment.normalise:
        _all_known("interface", [experiment.normalise], interfaces, file)


def _check_derived(experiment: Experiment, file: Path) -> None:
    """Refuse an expression that is wrong, or needs a cell that is not measured."""
    cells = experiment.measured
    for claim in experiment.claim:
        place = f"{file}: claim '{claim.text}'"
        claims.check(claim.holds, cells, claim.workloads, place)
    for derived in experiment.derived:
        for value in derived.values:
            place = f"{file}: derived '{derived.interface}'"
            claims.check_value(value, cells, derived.workloads, place)
    for threshold in experiment.threshold:
        if not threshold.along or threshold.along != sorted(set(threshold.along)):
            raise NarthexError(f"{file}: 'along' must be numbers that rise")
        for number in threshold.along:
            place = f"{file}: threshold '{threshold.interface}'"
            claims.check(threshold.at(number), cells, [threshold.workload], place)
    for comparison in experiment.comparison:
        for interface in comparison.compared:
            for workload in comparison.workloads:
                if (interface, workload) not in cells:
                    raise NarthexError(f"{file}: '{interface}' is not measured at '{workload}'")
    if experiment.break_even:
        sizes = [each.bytes for each in experiment.workload if each.bytes is not None]
        if len(sizes) != len(experiment.workload) or sizes != sorted(sizes):
            raise NarthexError(f"{file}: 'break_even' needs 'bytes' in each workload, rising")


def _all_known(kind: str, used: Iterable[str], measured: list[str], file: Path) -> None:
    for name in used:
        if name not in measured:
            raise unknown(f"{kind} in {file}", name, measured)
