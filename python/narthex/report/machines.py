"""The section of machines: every parameter, and where its value comes from."""

from collections.abc import Iterator
from typing import Any

from narthex.report.parts import Mark, Paragraph, Section, Table, columns

SOURCES = ("stated", "assumed")
CHOSEN = "chosen"
"""The source of a value that a user's file or `--set` gave without one."""

Parameters = dict[str, tuple[str, str, str]]
"""By key: value, kind of source, and its place or reason."""


def section(used: list[tuple[str, dict[str, Any]]]) -> Section:
    """Describe resolved machines, each with what used it.

    A machine is shown whole once; of others with the same name only what
    differs from it.
    """
    whole: dict[str, tuple[str, Parameters]] = {}
    sections: dict[str, Section] = {}
    for user, machine in used:
        title, parameters = name(machine), dict(_parameters(machine))
        if title not in whole:
            whole[title] = user, parameters
            sections[title] = Section(title, _whole(machine, parameters))
            continue
        first_user, first = whole[title]
        differing = {key: of for key, of in parameters.items() if first.get(key) != of}
        if differing:
            caption = f"{title} for {user}, where it differs from that for {first_user}"
            sections[title].parts.append(_table(caption, differing, is_folded=True))
    return Section("Machines and their sources", [], list(sections.values()), ident="machines")


def name(machine: dict[str, Any]) -> str:
    """Return what a machine is called."""
    return machine["machine"]["name"]


def _whole(machine: dict[str, Any], parameters: Parameters) -> list[Any]:
    kinds = [kind for _, kind, _ in parameters.values()]
    counts = [f"{kinds.count(kind)} are {kind}" for kind in (*SOURCES, CHOSEN) if kind in kinds]
    told = f"{machine['machine'].get('description', '')}. Of {len(parameters)} parameters"
    caption = f"Parameters of {name(machine)} and their sources"
    return [
        Paragraph(f"{told} {', '.join(counts)}."),
        _table(caption, parameters, is_folded=True),
    ]


def _table(caption: str, parameters: Parameters, is_folded: bool) -> Table:
    rows = [
        [key, value, Mark(kind, "good" if kind == "stated" else "plain"), text]
        for key, (value, kind, text) in parameters.items()
    ]
    names = columns("parameter", "value", "kind", "source or reason")
    return Table(caption, names, list(rows), is_folded)


def _parameters(
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
            yield from _parameters(value, f"{path}.")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
