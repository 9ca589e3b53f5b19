"""`narthex list`: what there is."""

from enum import StrEnum
from typing import Any

import typer

from narthex.cli.console import JSON_OPTION, JsonTarget, examples
from narthex.cli.tables import print_table
from narthex.cli.terminal import say


class Kind(StrEnum):
    """What can be listed."""

    INTERFACES = "interfaces"
    MACHINES = "machines"
    PROGRAMS = "programs"
    EXPERIMENTS = "experiments"
    LIVES = "lives"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "list",
        epilog=examples(
            "narthex list",
            "narthex list interfaces",
            "narthex list interfaces VIA",
            "narthex list programs em3d",
            "narthex list machines --json -",
            "narthex list lives",
        ),
    )(list_)


def list_(
    kind: Kind | None = typer.Argument(None, help="What to list; families of all if not given."),
    name: str | None = typer.Argument(
        None, help="Tell all of this one, of a family, or of what begins so."
    ),
    json_file: str | None = JSON_OPTION,
) -> None:
    """List interfaces, machines, programs, experiments, and of what 'explain' shows the life."""
    from narthex import listing

    target = JsonTarget(json_file)
    kinds = [kind] if kind else [each for each in Kind if each != Kind.LIVES]
    found = {
        str(each): listing.chosen(each, name) if name else listing.entries(each) for each in kinds
    }
    target.write({"schema": 1, **found})
    if target.to_stdout:
        return
    for each, entries in found.items():
        if name:
            _tell(each, entries)
        elif kind:
            rows = [(entry["name"], entry["brief"]) for entry in entries]
            print_table(each.capitalize(), COLUMNS, rows, prose=COLUMNS[1:])
        else:
            print_table(each.capitalize(), COLUMNS, _folded(each, entries), prose=COLUMNS)
    if name:
        return
    if kind is None:
        say("'narthex list KIND' has a line for each name, 'narthex list KIND NAME' all of it.")
        say("'narthex list lives' has what 'narthex explain' shows.")
    if Kind.INTERFACES in kinds:
        say("Sizes are free: CNI64Qm and CNI128Q are interfaces too. Case does not matter.")
        say("NAME on PLACE attaches an interface elsewhere than on the memory bus: NI2w on io-bus.")
        say("NAME@rtl, or NAME@./FOLDER of your own, is hardware in a model's place: NI2w@rtl.")


COLUMNS = ["name", "what it is"]


def _folded(kind: str, entries: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return a row for each family: its names, and what they have in common.

    Of names that begin alike, and are not models of interfaces, the row says how they go on.
    """
    from narthex.distinctions import brief
    from narthex.listing import family

    families: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        families.setdefault(family(kind, entry), []).append(entry)
    rows = []
    for name, members in families.items():
        names = [entry["name"] for entry in members]
        if len(names) == 1:
            rows.append((names[0], members[0]["brief"]))
        elif kind == Kind.INTERFACES:
            rows.append((", ".join(names), brief(members[0]["summary"])))
        else:
            rows.append((f"{name}...", ", ".join(each.removeprefix(name) for each in names)))
    return rows


def _tell(kind: str, entries: list[dict[str, Any]]) -> None:
    """Print all that there is of some names."""
    for entry in entries:
        say(f"{entry['name']}\n  {entry['brief']}")
        if entry["summary"] != entry["brief"]:
            say(f"  {entry['summary']}")
        if kind == Kind.INTERFACES:
            from narthex.placement import machines_with

            say(f"  places: {', '.join(entry['attachments'])}")
            say(f"  machines: {', '.join(machines_with(entry['name']))}")
