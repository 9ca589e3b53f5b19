"""What an experiment hangs on, in the terminal: parameters at other values, and what turns."""

from typing import TYPE_CHECKING

from narthex.cli.console import print_table
from narthex.cli.terminal import say

if TYPE_CHECKING:
    from narthex.validation import Outcome
    from narthex.validation.sensitivity import Varied


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
    if any(each.is_assumed for each in outcome.varied):
        _show_moves(outcome)
    if outcome.untried:
        print_table(
            "Assumed values that were not tried",
            ["parameter", "value", "reason"],
            [(each.key, each.value, each.reason) for each in outcome.untried],
        )


def _show_moves(outcome: "Outcome") -> None:
    assumed = [each for each in outcome.varied if each.is_assumed]
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


def _most(each: "Varied") -> tuple[int, float]:
    return len(each.turned), abs(each.furthest.change) if each.furthest else 0.0


def _cells(each: "Varied") -> list[str]:
    from narthex.validation import wording

    furthest = each.furthest
    counts = [str(len(some)) if some else "" for some in (each.turned, each.failures)]
    row = furthest.row if furthest else ""
    return [each.key, each.base, each.value, row, wording.change(furthest), *counts]
