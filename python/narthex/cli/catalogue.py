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


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "list",
        epilog=examples(
            "narthex list", "narthex list interfaces", "narthex list machines --json -"
        ),
    )(list_)


def list_(
    kind: Kind | None = typer.Argument(None, help="What to list; everything if not given."),
    json_file: str | None = JSON_OPTION,
) -> None:
    """List interfaces, machines, programs and experiments."""
    from narthex import listing

    target = JsonTarget(json_file)
    kinds = [kind] if kind else list(Kind)
    found = {str(kind): listing.entries(kind) for kind in kinds}
    target.write({"schema": 1, **found})
    if target.to_stdout:
        return
    for name, entries in found.items():
        rows = [(entry["name"], _what_it_is(entry)) for entry in entries]
        print_table(name.capitalize(), ["name", "what it is"], rows, prose=["what it is"])
    if Kind.INTERFACES in kinds:
        say("Sizes are free: CNI64Qm and CNI128Q are interfaces too. Case does not matter.")
        say("NAME on PLACE attaches an interface elsewhere than on the memory bus: NI2w on io-bus.")


def _what_it_is(entry: dict[str, Any]) -> str:
    """Return the summary, and for an interface the places where it can be."""
    places = entry.get("attachments")
    return f"{entry['summary']}; {', '.join(places)}" if places else entry["summary"]
