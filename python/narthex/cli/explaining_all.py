"""`narthex explain` with several interfaces: one message over each, side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from narthex import explanation, files
from narthex.cli.comparing import show_unranked
from narthex.cli.console import Waiting, compile_program, keeping
from narthex.cli.tables import print_table
from narthex.errors import USAGE, NarthexError
from narthex.programs import find

if TYPE_CHECKING:
    from narthex.side_by_side import SideBySide


def refuse(given: dict[str, object]) -> None:
    """Refuse what is for one interface alone: options by their names, with what was given."""
    if wrong := [name for name, value in given.items() if value is not None]:
        raise NarthexError(f"{' and '.join(wrong)} needs one interface, not several", USAGE)


def explain_all(
    names: Sequence[str],
    bytes_: int | None,
    diagram: Path | None,
    *,
    machine: str,
    set: list[str],  # noqa: A002 - the option's name
    firmware: list[str],
    seed: int | None,
) -> None:
    """Explain a message over each interface; print its parts, and draw them together."""
    from narthex import side_by_side

    compile_program(find(explanation.named(explanation.MESSAGE).program))
    with Waiting("Explaining") as waiting:
        found = side_by_side.explain_all(
            names,
            bytes_,
            observer=lambda name: (
                lambda time_ps: waiting.update(f"{name}, {time_ps / 1e9:.3f} ms simulated")
            ),
            machine=machine,
            set=set,
            firmware=firmware,
            seed=seed,
        )
    if diagram:
        documents = [life.document for life in found.lives]
        with keeping(documents, diagram):
            files.write(diagram, found.svg().encode())
    _show(found)


def _show(found: "SideBySide") -> None:
    """Print a row an interface: the latency, and by whose work it is."""
    from narthex.side_by_side import OWNERS, by_owner

    lives = [(life, by_owner(life)) for life in found.lives]
    owners = [owner for owner in OWNERS if any(times[owner] for _, times in lives)]
    rows = [
        (rank, life.document["interface"], _ns(life.latency_ps), *(_ns(t[each]) for each in owners))
        for rank, (life, t) in enumerate(lives, start=1)
    ]
    first = found.lives[0].document
    machine = first["machine"]["machine"]["name"]
    columns = ["rank", "interface", "latency", *owners]
    title = f"{explanation.what(first)} on {machine}, ns by whose work they are"
    print_table(title, columns, rows, ["rank", *columns[2:]])
    show_unranked(found.unranked)


def _ns(time_ps: int) -> str:
    return f"{time_ps / 1000:,.1f}"
