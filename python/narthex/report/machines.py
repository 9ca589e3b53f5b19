"""The section of machines: every parameter, and where its value comes from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from narthex import _native
from narthex.charts import diagram
from narthex.report.parts import Mark, Paragraph, Picture, Section, Table, columns

SOURCES = ("stated", "assumed")
LISTED = 4
"""Changes of a preset that its description names."""

CHOSEN = "chosen"
"""The source of a value that a user's file or `--set` gave without one."""

Parameters = dict[str, tuple[str, str, str]]
"""By key: value, kind of source, and its place or reason."""


@dataclass(frozen=True)
class Used:
    """A machine, and what used it."""

    user: str
    name: str
    description: str
    parameters: Parameters
    picture: Picture


def used(user: str, machine: dict[str, Any]) -> Used:
    """Take from a resolved machine what is shown of it."""
    found = dict(parameters(machine))
    return Used(user, name(machine), _description(machine, found), found, _picture(machine))


def _description(machine: dict[str, Any], found: Parameters) -> str:
    """Say what a machine is: in a preset's words only where nothing of it was changed."""
    own = str(machine["machine"].get("description", ""))
    changed = [f"{key} = {value}" for key, (value, kind, _) in found.items() if kind == CHOSEN]
    if own not in _presets() or not changed:
        return own
    more = f" and {len(changed) - LISTED} more" if changed[LISTED:] else ""
    return f"{_presets()[own]}, with {', '.join(changed[:LISTED])}{more}"


@cache
def _presets() -> dict[str, str]:
    """Return the presets' names by their descriptions."""
    machines = json.loads(_native.list("machines"))
    return {str(each["summary"]): str(each["name"]) for each in machines}


def _picture(machine: dict[str, Any]) -> Picture:
    """Draw a node."""
    return Picture(f"A node of {name(machine)}", diagram.svg(machine))


def section(machines: list[Used]) -> Section:
    """Describe machines, each with what used it.

    A machine is shown whole once; of others with the same name only what
    differs from it.
    """
    whole: dict[str, Used] = {}
    sections: dict[str, Section] = {}
    for each in machines:
        if each.name not in whole:
            whole[each.name] = each
            sections[each.name] = Section(each.name, _whole(each))
            continue
        first = whole[each.name]
        shown = each.parameters.items()
        differing = {key: of for key, of in shown if first.parameters.get(key) != of}
        if differing:
            caption = f"{each.name} for {each.user}, where it differs from that for {first.user}"
            sections[each.name].parts.append(_table(caption, differing, is_folded=True))
    return Section("Machines and their sources", [], list(sections.values()), ident="machines")


def name(machine: dict[str, Any]) -> str:
    """Return what a machine is called."""
    return machine["machine"]["name"]


def _whole(machine: Used) -> list[Any]:
    kinds = [kind for _, kind, _ in machine.parameters.values()]
    counts = [f"{kinds.count(kind)} are {kind}" for kind in (*SOURCES, CHOSEN) if kind in kinds]
    told = f"{machine.description}. Of {len(machine.parameters)} parameters"
    caption = f"Parameters of {machine.name} and their sources"
    return [
        Paragraph(f"{told} {', '.join(counts)}."),
        machine.picture,
        _table(caption, machine.parameters, is_folded=True),
    ]


def _table(caption: str, parameters: Parameters, is_folded: bool) -> Table:
    rows = [
        [key, value, Mark(kind, "good" if kind == "stated" else "plain"), text]
        for key, (value, kind, text) in parameters.items()
    ]
    names = columns("parameter", "value", "kind", "source or reason")
    return Table(caption, names, list(rows), is_folded)


def parameters(
    tree: dict[str, Any], prefix: str = ""
) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield each key with its value, kind of source, and its text."""
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if path in ("machine.name", "machine.description"):
            continue
        if not isinstance(value, dict):
            yield path, (_text(value), CHOSEN, "")
        elif "value" in value:
            kind = next((kind for kind in SOURCES if kind in value), CHOSEN)
            yield path, (_text(value["value"]), kind, str(value.get(kind, "")))
        else:
            yield from parameters(value, f"{path}.")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
