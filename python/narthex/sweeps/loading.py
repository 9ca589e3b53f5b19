"""Reads sweeps' files, and refuses what cannot be run before anything runs.

The file is read strictly (`strict`); in `[parameters]` and `[[zip]]` the names
are the user's own, and each has to have an effect.
"""

import os
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from narthex import strict
from narthex.arguments import RANGES, words
from narthex.errors import NarthexError, shown, unknown
from narthex.guest_library import SOURCE_SUFFIXES
from narthex.programs import is_elf
from narthex.sweeps.axes import axis, is_axis
from narthex.sweeps.definition import NUMBERS, RUN_KEYS, Axis, Definition

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
"""A parameter's name in braces."""

LONGEST_NAME = 200
"""Bytes of a folder's name, beside which there is room for another: NAME.before-1."""

COLUMNS = ("key", "name", "status", "exit_code", "error", "simulated_us", "host_s")
"""Of the table of runs; no parameter can be called so."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")
_TEMPLATES = ("program", "args", "machine", "interface")


_REMEDY = 'name a TOML file, which says program = "PROGRAM" and what varies (docs/sweeps.md)'


def load(path: str | Path) -> Definition:
    """Read a sweep's file."""
    file = Path(path)
    if not os.path.isfile(file):
        what = "is a folder" if os.path.isdir(file) else "does not exist"
        raise NarthexError(f"the sweep '{file}' {what}; {_REMEDY}")
    if file.suffix in SOURCE_SUFFIXES or is_elf(file):
        raise NarthexError(f"'{file}' is a program and no sweep; {_REMEDY}")
    return parse(strict.document(file), file)


def parse(given: dict[str, Any], file: Path) -> Definition:
    """Make a sweep of what its file holds, and check what can be checked without a program."""
    place = str(file)
    plain = {key: value for key, value in given.items() if key not in ("parameters", "zip")}
    definition = replace(
        strict.table(Definition, {"name": file.stem, **plain}, place),
        parameters=_axes(given.get("parameters", {}), f"{place}: [parameters]"),
        zip=[_group(group, f"{place}: [[zip]]") for group in _zips(given, place)],
    )
    _check_name(definition.name, place)
    _check_names(definition, given, place)
    _check_use(definition, place)
    _check_sample(definition, place)
    _check_numbers(definition, place)
    return definition


def _zips(given: dict[str, Any], place: str) -> list[dict[str, Any]]:
    groups = given.get("zip", [])
    if not isinstance(groups, list):
        raise NarthexError(
            f"{place}: 'zip' must be an array of tables, [[zip]], not {shown(groups)}"
        )
    return groups


def _axes(given: object, place: str, prefix: str = "") -> list[Axis]:
    """Make the axes of a table; `bus.clock = ...` is a table in a table for TOML."""
    if not isinstance(given, dict):
        raise NarthexError(f"{place} must be a table, not {shown(given)}")
    axes = []
    for key, value in given.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and not is_axis(value):
            axes += _axes(value, place, f"{name}.")
        else:
            axes.append(axis(name, value, place))
    return axes


def _group(given: object, place: str) -> list[Axis]:
    """Make axes that vary together."""
    axes = _axes(given, place)
    if not axes:
        raise NarthexError(f"{place} needs parameters that vary together")
    lengths = {each.name: len(each.values) for each in axes}
    for name, length in lengths.items():
        if not length:
            raise NarthexError(f"{place}: '{name}' needs 'step' or 'count', to vary with others")
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
        raise NarthexError(f"{place}: what varies together must have as many values: {told}")
    return axes


def _check_name(name: str, place: str) -> None:
    """Refuse a name that a folder of results cannot have."""
    if not re.fullmatch(r"[\w. -]+", name) or name.startswith("."):
        raise NarthexError(f"{place}: 'name' must be that of a folder, not {shown(name)}")
    if len(name.encode()) > LONGEST_NAME:
        raise NarthexError(
            f"{place}: 'name' must be at most {LONGEST_NAME} bytes long, not {len(name.encode())}:"
            f" {shown(name)}"
        )


def _check_names(definition: Definition, given: dict[str, Any], place: str) -> None:
    """Refuse a parameter with two meanings, or with a name that is no name."""
    names = Counter(axis.name for axis in definition.axes)
    for name, times in names.items():
        if times > 1:
            raise NarthexError(f"{place}: parameter '{name}' stands there {times} times")
        if name in RUN_KEYS and name in given:
            raise NarthexError(
                f"{place}: '{name}' is a parameter, and '{name} = {shown(given[name])}' the same"
                " in all runs; leave one of them out"
            )
        if not _NAME.fullmatch(name):
            raise NarthexError(
                f"{place}: '{name}' cannot be a parameter's name: letters, digits, - and _, and"
                " dots in keys of the machine"
            )
    columns = Counter(axis.column for axis in definition.axes)
    for axis_ in definition.axes:
        if axis_.column in COLUMNS or columns[axis_.column] > 1 or axis_.column in RUN_KEYS:
            if axis_.column == axis_.name and axis_.name in RUN_KEYS:
                continue
            raise NarthexError(
                f"{place}: parameter '{axis_.name}' would be the column '{axis_.column}', which"
                f" the results have already; call it otherwise (taken: {', '.join(COLUMNS)})"
            )


def _check_use(definition: Definition, place: str) -> None:
    """Refuse a parameter without an effect, and braces around something else."""
    known = [axis.name for axis in definition.axes]
    texts = [getattr(definition, key) for key in _TEMPLATES]
    texts += [*definition.set, *definition.jobs]
    texts += [
        *definition.env,
        *definition.files,
        *definition.directories,
        definition.input or "",
        definition.start_from or "",
    ]
    for axis_ in definition.axes:
        if axis_.name in _TEMPLATES:
            texts += map(str, axis_.values)
    used = {name for text in texts for name in PLACEHOLDER.findall(text)}
    for name in used - set(known):
        raise unknown(f"parameter in {place}", name, known)
    for name in known:
        if name not in used and name not in RUN_KEYS and "." not in name:
            raise NarthexError(
                f"{place}: parameter '{name}' changes nothing: write {{{name}}} where its value"
                f" goes (in args, jobs, interface, program, machine, set, env, input or files), or"
                " name a key of the machine with its table (bus.clock), or one of"
                f" {', '.join(RUN_KEYS)}"
            )
    if not definition.program and "program" not in known and not definition.jobs:
        raise NarthexError(f"{place}: 'program' is missing, and there are no 'jobs'")
    if definition.jobs and not definition.program and (definition.args or "args" in known):
        raise NarthexError(f"{place}: 'args' are of 'program', which is missing")


def _check_sample(definition: Definition, place: str) -> None:
    """Refuse a sample of nothing, and a range without steps where there is no sample."""
    known = [axis.name for axis in definition.axes]
    sampled = definition.sample.over or known if definition.sample else []
    for name in sampled:
        if name not in known:
            raise unknown(f"parameter in {place}: [sample] over", name, known)
    for axis_ in definition.axes:
        if not axis_.values and axis_.name not in sampled:
            raise NarthexError(
                f"{place}: '{axis_.name}' needs 'step' or 'count', or a [sample] over it"
            )
    if definition.sample and definition.sample.points < 1:
        raise NarthexError(
            f"{place}: [sample] 'points' must be 1 or more, not {definition.sample.points}"
        )
    if definition.sample and not known:
        raise NarthexError(f"{place}: [sample] needs parameters to choose from")


def _check_numbers(definition: Definition, place: str) -> None:
    """Refuse numbers that cannot be."""
    for key in NUMBERS:
        value = getattr(definition, key)
        if value is not None and value not in RANGES[key]:
            raise NarthexError(f"{place}: '{key}' must be {words(RANGES[key])}, not {value}")
    for axis_ in definition.axes:
        for value in axis_.values if axis_.name in NUMBERS else ():
            if type(value) is not int or value not in RANGES[axis_.name]:
                raise NarthexError(
                    f"{place}: '{axis_.name}' must be whole numbers"
                    f" {words(RANGES[axis_.name])}, not {shown(value)}"
                )
    slurm = definition.slurm
    for key in ("jobs", "cores") if slurm else ():
        if getattr(slurm, key) < 1:
            raise NarthexError(
                f"{place}: [slurm] '{key}' must be 1 or more, not {getattr(slurm, key)}"
            )
