"""What an experiment hangs on, in the terminal: parameters at other values, and what turns."""

from typing import TYPE_CHECKING

from narthex.cli.tables import print_table
from narthex.cli.terminal import say

if TYPE_CHECKING:
    from narthex.validation import Outcome
    from narthex.validation.sensitivity import Varied

SHOWN_PARAMETERS = 3
"""Of each row: those that move it most; the page and JSON have more."""


def show(outcome: "Outcome") -> None:
    """Print what moves with each parameter that was tried, and what could not be tried."""
    from narthex.validation import wording
    from narthex.validation.sensitivity import sweeps

    for swept in sweeps(outcome.varied):
        print_table(
            f"With other values of {swept.key}",
            ["row", *swept.values],
            [[row, *map(wording.three_digits, values)] for row, values in swept.rows.items()],
            swept.values,
        )
    assumed = [each for each in outcome.varied if each.is_assumed]
    if assumed:
        _show_moves(assumed)
        _show_rows(assumed)
    if outcome.untried:
        print_table(
            "Assumed values that were not tried",
            ["parameter", "value", "reason"],
            [(each.key, each.value, each.reason) for each in outcome.untried],
            prose=["reason"],
        )


def _show_moves(assumed: "list[Varied]") -> None:
    moving = [each for each in assumed if each.rows or each.turned or each.failures]
    moving.sort(key=_most, reverse=True)
    print_table(
        "What moves with other values of the machine's parameters",
        ["parameter", "machine", "tried", "moves most", "change", "claims", "failed"],
        [_cells(each) for each in moving],
        ["machine", "tried", "change", "claims", "failed"],
    )
    tried = len(assumed)
    say(f"{tried} values were tried; {tried - len(moving)} of them move nothing")


def _show_rows(assumed: "list[Varied]") -> None:
    """Print for each published row the parameters that move it most, one below the other."""
    from narthex.validation import wording
    from narthex.validation.sensitivity import most_moving, shown_rows

    rows = []
    for row in shown_rows(assumed):
        changes: dict[str, list[str]] = {}
        for each, moved in most_moving(assumed, row, SHOWN_PARAMETERS):
            told = f"{each.value}: {wording.change(moved)}"
            changes.setdefault(f"{each.key} {each.base}", []).append(told)
        names = [row, *[""] * len(changes)]
        rows += [
            (name, parameter, "; ".join(told))
            for name, (parameter, told) in zip(names, changes.items(), strict=False)
        ]
    print_table(
        "What moves each row most",
        ["row", "parameter", "at other values"],
        rows,
        prose=["at other values"],
    )


def _most(each: "Varied") -> tuple[int, float]:
    return len(each.turned), abs(each.furthest.change) if each.furthest else 0.0


def _cells(each: "Varied") -> list[str]:
    from narthex.validation import wording

    furthest = each.furthest
    counts = [str(len(some)) if some else "" for some in (each.turned, each.failures)]
    row = furthest.row if furthest else ""
    return [each.key, each.base, each.value, row, wording.change(furthest), *counts]
