"""What an experiment is tried with besides the machine as it is.

    experiment's file: [[sweep]] key, values ────────────────────────┐
    machine's file: assumed, with alternatives ── those              ├──► variations
                    assumed, a number          ── half and double ───┤
                    what the machine refuses, or cannot be tried ────┴──► untried, and why

A variation is one parameter at one other value. It concerns the interfaces for
which the simulator does not say that the parameter changes nothing
(machine/src/config/without_effect.rs); the runs of all others are those of the
machine as it is, and are not made again.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from narthex import _native
from narthex.errors import NarthexError, unknown
from narthex.validation.definition import Experiment, Interface
from narthex.validation.loading import only

QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
"""A number with its unit, as machines' files have it."""

SCALES = {
    "ps": -12, "ns": -9, "us": -6, "ms": -3, "s": 0, "Hz": 0, "kHz": 3, "MHz": 6, "GHz": 9,
    "KB": 3, "MB": 6, "GB": 9,
}  # fmt: skip
"""Powers of ten of units; what is not here counts as one."""

BINARY_SCALES = {"KiB": 10, "MiB": 20, "GiB": 30}

SAME = "its half and its double are the same"
NO_ALTERNATIVE = "the machine's file has no other value that makes sense"
NOT_A_NUMBER = "it is no number, and the machine's file states no alternatives"


@dataclass(frozen=True)
class Variation:
    """One parameter at one other value."""

    experiment: Experiment
    """What is measured with it: the experiment, or the part of it that a [[sweep]] names."""
    key: str
    base: str
    """What the machine has."""
    value: str
    is_assumed: bool
    """Whether the parameter is an assumption of the machine's file, or else of a [[sweep]]."""
    interfaces: list[str]
    """The experiment's interfaces whose runs it may change."""

    @property
    def setting(self) -> str:
        """As `--set` takes it."""
        return f"{self.key}={self.value}"


@dataclass(frozen=True)
class Untried:
    """An assumed value, or an alternative to it, that cannot be tried."""

    experiment: str
    key: str
    value: str
    """What was to be tried; the machine's own value where there is nothing to try."""
    reason: str


@dataclass(frozen=True)
class _Assumed:
    """An assumed parameter, and the interfaces for which it stands as the machine has it."""

    key: str
    value: Any
    alternatives: list[str] | None
    interfaces: list[Interface]


def size(value: str) -> Decimal | None:
    """Return a quantity in its unit without prefix, so that values can be put in order."""
    found = QUANTITY.fullmatch(value)
    number, unit = (found[1], found[2]) if found else (value, "")
    if not re.fullmatch(r"\d+(\.\d+)?", number):
        return None
    return Decimal(number).scaleb(SCALES.get(unit, 0)) * 2 ** BINARY_SCALES.get(unit, 0)


def swept(definition: Experiment, settings: Sequence[str]) -> list[Variation]:
    """Return what the experiment's file has tried each time; refuses what cannot be."""
    found = []
    for sweep in definition.sweep:
        part = only(definition, sweep.interfaces, sweep.workloads)
        shown = _shown(part, part.interfaces[0], settings)
        try:
            base = parameter_value(shown["machine"], sweep.key)
        except KeyError as error:
            problem = f"sweep of '{sweep.key}': {definition.machine} does not state it"
            raise NarthexError(f"{definition.name}: {problem}") from error
        for value in sweep.values:
            interfaces = _concerned(part, part.interfaces, settings, sweep.key, value)
            if interfaces and value != _text(base):
                found.append(Variation(part, sweep.key, _text(base), value, False, interfaces))
    return found


def assumed(
    definition: Experiment, settings: Sequence[str], parameters: Sequence[str] = ()
) -> tuple[list[Variation], list[Untried]]:
    """Return every assumed parameter at its other values, and what cannot be tried.

    `parameters` are keys, or tables of them; all if there are none.
    """
    found: list[Variation] = []
    untried: list[Untried] = []
    for each in _chosen(_assumptions(definition, settings), parameters, definition):
        base = _text(each.value)
        values, reason = _others(each)
        if not values:
            untried.append(Untried(definition.name, each.key, base, reason))
        for value in values:
            try:
                names = _concerned(definition, each.interfaces, settings, each.key, value)
            except NarthexError as error:
                untried.append(Untried(definition.name, each.key, value, f"refused: {error}"))
                continue
            if names:
                found.append(Variation(definition, each.key, base, value, True, names))
            else:
                told = "changes nothing with these interfaces"
                untried.append(Untried(definition.name, each.key, value, told))
    return found, untried


def _assumptions(definition: Experiment, settings: Sequence[str]) -> list[_Assumed]:
    """Return what the machine's file assumes, and neither the experiment nor the user sets."""
    found: dict[str, _Assumed] = {}
    for interface in definition.interfaces:
        shown = _shown(definition, interface, settings)
        for entry in shown["sources"]:
            if "assumed" not in entry["source"]:
                continue
            key = entry["key"]
            if key not in found:
                value = parameter_value(shown["machine"], key)
                found[key] = _Assumed(key, value, entry.get("alternatives"), [])
            found[key].interfaces.append(interface)
    return list(found.values())


def _chosen(
    every: list[_Assumed], parameters: Sequence[str], definition: Experiment
) -> Iterator[_Assumed]:
    keys = [each.key for each in every]
    for name in parameters:
        if not any(_is_at_or_below(key, name) for key in keys):
            command = f"narthex machine show {definition.machine} --sources"
            raise unknown(f"assumed parameter of {definition.machine}", name, keys, command)
    for each in every:
        if not parameters or any(_is_at_or_below(each.key, name) for name in parameters):
            yield each


def _is_at_or_below(key: str, around: str) -> bool:
    return key == around or key.startswith(f"{around}.")


def _others(each: _Assumed) -> tuple[list[str], str]:
    """Return the values to be tried, or why there are none."""
    if each.alternatives is not None:
        return each.alternatives, NO_ALTERNATIVE
    if isinstance(each.value, bool):
        return [_text(not each.value)], ""
    if isinstance(each.value, int):
        return ([str(each.value // 2), str(each.value * 2)] if each.value else ["1"]), ""
    quantity = QUANTITY.fullmatch(each.value) if isinstance(each.value, str) else None
    if not quantity:
        return [], NOT_A_NUMBER
    number, unit = Decimal(quantity[1]), quantity[2]
    if not number:
        return [], SAME
    return [f"{number / 2:f}{unit}", f"{number * 2:f}{unit}"], ""


def _concerned(
    definition: Experiment,
    interfaces: Sequence[Interface],
    settings: Sequence[str],
    key: str,
    value: str,
) -> list[str]:
    """Return the interfaces that a value may change something for; refuses a wrong value."""
    found = []
    for each in interfaces:
        changes = [*definition.set, *each.set, *settings, f"{key}={value}"]
        told = json.loads(_native.machine_settings(definition.machine, changes, each.spelt))
        if all(warning["key"] != key for warning in told["warnings"]):
            found.append(each.name)
    return found


def _shown(definition: Experiment, interface: Interface, settings: Sequence[str]) -> dict[str, Any]:
    """Return a machine with its sources, as an interface of the experiment has it."""
    changes = [*definition.set, *interface.set, *settings]
    return json.loads(_native.machine_show(definition.machine, changes, True))


def parameter_value(machine: dict[str, Any], key: str) -> Any:  # noqa: ANN401 - JSON
    """Return a parameter's value, without its source."""
    found: Any = machine
    for part in key.split("."):
        found = found[part]
    return found["value"] if isinstance(found, dict) else found


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    return value if isinstance(value, str) else json.dumps(value)
