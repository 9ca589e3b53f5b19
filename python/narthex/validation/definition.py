"""An experiment's file, read strictly: an unknown key is an error with a suggestion."""

import tomllib
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from narthex import assets
from narthex.errors import NarthexError, unknown
from narthex.validation import claims


@dataclass(frozen=True)
class Workload:
    """One column of the table: the program's arguments for it."""

    name: str
    args: list[str]


@dataclass(frozen=True)
class ClaimDefinition:
    """A sentence of the paper and the expression that says whether it holds."""

    text: str
    source: str
    """Where the paper says so."""
    holds: str
    """See `claims` for the language."""
    workloads: list[str]
    """The claim must hold at each of them."""


@dataclass(frozen=True)
class Experiment:
    """One published table or figure."""

    name: str
    """PAPER/NAME, as on the command line and in the published values."""
    title: str
    source: str
    """Paper, and table or figure of it."""
    program: str
    machine: str
    set: list[str]
    """Differences from the machine, as `--set` takes them."""
    nodes: int
    attach: str
    """Where the interfaces sit: memory-bus, io-bus, cache-bus, register, chip."""
    report: str
    """The name under which the program reports the value."""
    spread: list[str]
    """How the value varies within a run: the name of one report that says it, or
    of several between which it lies; empty for programs that do not tell."""
    unit: str
    seeds: list[int]
    """One run for each; the value is their mean."""
    interfaces: list[str]
    workload: list[Workload]
    claim: list[ClaimDefinition]


def names() -> list[str]:
    """Return the experiments that come with Narthex, as PAPER/NAME."""
    files = assets.EXPERIMENTS.glob("*/*.toml")
    return sorted(file.relative_to(assets.EXPERIMENTS).with_suffix("").as_posix() for file in files)


def load(name: str) -> Experiment:
    """Read an experiment: one that comes with Narthex, or a file of the user's."""
    own = Path(name)
    if own.suffix == ".toml" and own.is_file():
        return parse(f"{own.resolve().parent.name}/{own.stem}", own)
    by_folded = {known.casefold(): known for known in names()}
    if name.casefold() not in by_folded:
        raise unknown("experiment", name, by_folded.values())
    known = by_folded[name.casefold()]
    return parse(known, assets.EXPERIMENTS / f"{known}.toml")


def parse(name: str, file: Path) -> Experiment:
    """Read one file and check what can be checked before anything runs."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise NarthexError(f"{file}: {error}") from error
    table = {"set": [], "seeds": [1], "nodes": 2, "claim": [], "spread": [], **table, "name": name}
    table["workload"] = [
        _typed(Workload, entry, f"{file}: workload") for entry in _list(table, "workload", file)
    ]
    workloads = [workload.name for workload in table["workload"]]
    table["claim"] = [
        _typed(ClaimDefinition, {"workloads": workloads, **entry}, f"{file}: claim")
        for entry in _list(table, "claim", file)
    ]
    experiment = _typed(Experiment, table, str(file))
    for key in ("workload", "interfaces", "seeds"):
        if not getattr(experiment, key):
            raise NarthexError(f"{file}: '{key}' must not be empty")
    for claim in experiment.claim:
        for workload in claim.workloads:
            if workload not in workloads:
                raise unknown(f"workload in {file}", workload, workloads)
        claims.check(claim.holds, experiment.interfaces, workloads, f"{file}: claim '{claim.text}'")
    return experiment


def _list(table: dict[str, Any], key: str, file: Path) -> list[dict[str, Any]]:
    """Return an array of tables, or nothing where the key is missing."""
    entries = table.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise NarthexError(f"{file}: '{key}' must be an array of tables, [[{key}]]")
    return entries


Made = TypeVar("Made", Workload, ClaimDefinition, Experiment)


def _typed(kind: type[Made], table: dict[str, Any], place: str) -> Made:
    """Make a dataclass of a table: no key too many, none too few, each of its type."""
    known = {field.name: field for field in fields(kind)}
    for key, value in table.items():
        if key not in known:
            raise unknown(f"key in {place}", key, known)
        _check_type(value, str(known[key].type), f"{place}: '{key}'")
    missing = [key for key in known if key not in table and known[key].default is MISSING]
    if missing:
        raise NarthexError(f"{place}: '{missing[0]}' is missing")
    return kind(**table)


_ELEMENT = {
    "<class 'str'>": (str, "a text"),
    "<class 'int'>": (int, "a whole number"),
    "list[str]": (str, "a list of texts"),
    "list[int]": (int, "a list of whole numbers"),
}


def _check_type(value: object, annotation: str, place: str) -> None:
    """Refuse a value of another type than its field says."""
    if annotation not in _ELEMENT:
        return
    element, words = _ELEMENT[annotation]
    values = value if annotation.startswith("list") else [value]
    fits = isinstance(values, list) and all(
        isinstance(entry, element) and not isinstance(entry, bool) for entry in values
    )
    if not fits:
        raise NarthexError(f"{place} must be {words}, not {value!r}")
