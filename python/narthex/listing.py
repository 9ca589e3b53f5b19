"""What there is: interfaces, machines and their parameters, programs, experiments, lives."""

import json
import re
from typing import TYPE_CHECKING, Any, Literal, get_args

from narthex import _native, arguments
from narthex.arguments import Settings
from narthex.configuration.differences import split_source
from narthex.distinctions import brief, of_interface
from narthex.errors import unknown
from narthex.options import DEFAULT_MACHINE

if TYPE_CHECKING:
    import polars

Kind = Literal["interfaces", "machines", "programs", "experiments", "lives"]
"""What can be listed."""


def catalogue(kind: Kind) -> "polars.DataFrame":
    """Return what there is of a kind, as `narthex list`: name, summary, and `brief`.

    Interfaces have their `family` and `attachments`, the places where they can
    be. Sizes are free: CNI64Qm and CNI128Q are interfaces too.

    >>> import narthex
    >>> narthex.catalogue("machines")["name"].to_list()[:5]
    ['chip', 'cluster', 'edt', 'host-bdw', 'host-hsw']
    """
    from narthex.extras import polars as pl

    return pl.DataFrame(entries(kind))


def parameters(
    machine: arguments.Path = DEFAULT_MACHINE,
    *,
    set: Settings = (),  # noqa: A002 - the option's name on the command line
) -> "polars.DataFrame":
    """Return a machine's parameters: parameter, value, unit, meaning, origin, source.

    The origin is "stated" (the source says where), "assumed" (why) or "chosen".
    Any of them can stand in the `set` of `run`.

    >>> import narthex
    >>> narthex.parameters("isca96").filter(parameter="bus.clock")["value"].item()
    '100'
    """
    from narthex.extras import polars as pl

    shown = _native.machine_show(arguments.text("machine", machine), arguments.settings(set), True)
    rows = [
        [
            entry["key"],
            str(entry["value"]),
            entry["unit"],
            entry["meaning"],
            *split_source(entry["source"]),
        ]
        for entry in json.loads(shown)["sources"]
    ]
    columns = ("parameter", "value", "unit", "meaning", "origin", "source")
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def entries(kind: str) -> list[dict[str, Any]]:
    """Return name and summary of everything of a kind, and what distinguishes it: `brief`."""
    found = _entries(kind)
    for entry in found:
        if kind == "interfaces":
            entry["brief"] = of_interface(entry["name"], entry["summary"])
        else:
            entry.setdefault("brief", brief(entry["summary"]))
    return found


def chosen(kind: str, word: str) -> list[dict[str, Any]]:
    """Return the entries of a kind that a word names: a name, a family, or their first letters.

    Raises `NarthexError` where there is none.
    """
    every = entries(kind)
    folded = word.casefold()
    exact = [entry for entry in every if entry["name"].casefold() == folded]
    found = exact or [
        entry
        for entry in every
        if entry["name"].casefold().startswith(folded)
        or entry.get("family", "").casefold() == folded
    ]
    if not found:
        raise unknown(kind.removesuffix("s"), word, [each["name"] for each in every])
    return found


def family(kind: str, entry: dict[str, Any]) -> str:
    """Return under what an entry is folded: a family of interfaces, or how its name begins."""
    if kind == "interfaces":
        return str(entry["family"])
    name = str(entry["name"])
    return name if kind in ("machines", "lives") else re.split("(?<=[/-])", name)[0]


def _entries(kind: str) -> list[dict[str, Any]]:
    match kind:
        case "programs":
            from narthex import programs

            return [
                {"name": name, "summary": programs.summary(name)} for name in programs.shipped()
            ]
        case "experiments":
            from narthex import validation

            loaded = [validation.load(name) for name in validation.names()]
            return [
                {
                    "name": each.name,
                    "summary": f"{each.title} ({each.source})",
                    "brief": each.title,
                }
                for each in loaded
            ]
        case "lives":
            from narthex.explanation import SUBJECTS

            return [
                {
                    "name": of,
                    "summary": f"{about.one}, {about.span}; over {about.where}",
                    "brief": f"{about.one}, over {about.where}",
                }
                for of, about in SUBJECTS.items()
            ]
        case "interfaces" | "machines":
            found: list[dict[str, Any]] = json.loads(_native.list(kind))
            return found
    raise unknown("kind of thing to list", str(kind), get_args(Kind))
