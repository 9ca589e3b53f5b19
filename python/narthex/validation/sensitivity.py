"""How far an experiment's rows and claims move with the parameters that are tried.

A row in percent moves by points, any other by percent of its value. A claim
that turns with a parameter hangs on it: it says no more than the reason for
that parameter's value does.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from narthex.validation.published import PERCENT
from narthex.validation.variations import Variation, size

if TYPE_CHECKING:
    from narthex.validation.outcome import Claim, Outcome

LEAST_CHANGE = 0.05
"""Percent or points; smaller changes would print as none."""


@dataclass(frozen=True)
class MovedRow:
    """A row that another value of a parameter moves."""

    row: str
    unit: str
    base: float
    """Its value with the machine as it is."""
    value: float
    is_published: bool
    """Whether the paper prints its value."""
    is_derived: bool = False
    """Whether it is derived from measured rows."""

    @property
    def change(self) -> float:
        """By how much it moves: points of a value in percent, or percent of any other."""
        if self.unit == PERCENT:
            return self.value - self.base
        return 100 * (self.value / self.base - 1) if self.base else 0.0

    @property
    def change_unit(self) -> str:
        """What the change is counted in."""
        return "points" if self.unit == PERCENT else "%"


@dataclass(frozen=True)
class Varied:
    """What came of one parameter at another value."""

    experiment: str
    key: str
    base: str
    """What the machine has."""
    value: str
    is_assumed: bool
    """Whether it is an assumption of the machine's file, or else of the experiment's [[sweep]]."""
    interfaces: list[str]
    """Those whose runs were made with it."""
    rows: list[MovedRow]
    """All that it moves."""
    turned: list[str]
    """The claims that hold with it and not without, or the other way round."""
    failures: list[str]
    """Why runs gave no value; what needs them is neither among the rows nor among the claims."""

    @property
    def furthest(self) -> MovedRow | None:
        """The published row that moves most, or else any that does."""
        among = [row for row in self.rows if row.is_published] or self.rows
        return max(among, key=lambda row: abs(row.change), default=None)


def varied(variation: Variation, base: "Outcome", other: "Outcome") -> Varied:
    """Set what was measured with a parameter beside what was measured without it."""
    from narthex.validation.outcome import label

    return Varied(
        variation.experiment.name,
        variation.key,
        variation.base,
        variation.value,
        variation.is_assumed,
        variation.interfaces,
        [
            MovedRow(
                label(was),
                was.unit,
                was.value,
                is_.value,
                was.published_low is not None,
                was.baseline is not None,
            )
            for was, is_ in zip(base.rows, other.rows, strict=True)
            if was.value is not None and is_.value is not None and was.value != is_.value
        ],
        [
            was.text
            for was, is_ in zip(base.claims, other.claims, strict=True)
            if was.holds != is_.holds and is_.has_values
        ],
        list(dict.fromkeys(failure.reason for failure in other.failures)),
    )


def hanging(claims: Sequence["Claim"], tried: Sequence[Varied]) -> list["Claim"]:
    """Return the claims, each with what it hangs on."""
    by_key: dict[str, list[Varied]] = defaultdict(list)
    for each in tried:
        by_key[each.key].append(each)
    return [
        replace(claim, hangs_on=[told for same in by_key.values() if (told := _turns(claim, same))])
        for claim in claims
    ]


def _turns(claim: "Claim", tried: Sequence[Varied]) -> str:
    """Say with which values of a parameter a claim turns; nothing if with none."""
    turned = {each.value: claim.text in each.turned for each in tried}
    some = [value for value, turns in turned.items() if turns]
    if not some:
        return ""
    return f"{tried[0].key} {_range(some, [tried[0].base, *turned])}"


def _range(some: list[str], every: list[str]) -> str:
    """Name values: from one on, up to one, or each of them."""
    sizes = {value: size(value) for value in every}
    if None not in sizes.values():
        order = sorted(set(every), key=lambda value: sizes[value] or 0)
        some = [value for value in order if value in some]
        if len(some) > 1 and some == order[-len(some) :]:
            return f"from {some[0]} on"
        if len(some) > 1 and some == order[: len(some)]:
            return f"up to {some[-1]}"
    return f"= {', '.join(some)}"


@dataclass(frozen=True)
class SweptRows:
    """What rows come to over the values of a [[sweep]]."""

    key: str
    values: list[str]
    """Of the parameter, the machine's own among them, in their order."""
    rows: dict[str, list[float]]
    """By row: its value at each of them."""


def sweeps(tried: Sequence[Varied]) -> list[SweptRows]:
    """Return for each [[sweep]] what moves: derived rows, or else all."""
    by_key: dict[str, list[Varied]] = defaultdict(list)
    for each in tried:
        if not each.is_assumed:
            by_key[each.key].append(each)
    return [_swept(key, same) for key, same in by_key.items()]


def _swept(key: str, tried: Sequence[Varied]) -> SweptRows:
    values = sorted(
        [tried[0].base, *(each.value for each in tried)], key=lambda value: size(value) or 0
    )
    every = [(each.value, row) for each in tried for row in each.rows]
    shown = [entry for entry in every if entry[1].is_derived] or every
    rows: dict[str, list[float]] = {}
    for value, row in shown:
        cells = rows.setdefault(f"{row.row}, {row.unit}", [row.base] * len(values))
        cells[values.index(value)] = row.value
    return SweptRows(key, values, rows)


def shown_rows(tried: Sequence[Varied]) -> list[str]:
    """Return the rows that move: the published ones, or all where none is."""
    every = [row for each in tried for row in each.rows]
    printed = [row for row in every if row.is_published]
    return list(dict.fromkeys(row.row for row in printed or every))


def most_moving(tried: Sequence[Varied], row: str, count: int) -> list[tuple[Varied, MovedRow]]:
    """Return what the `count` parameters do that move a row most, the first of them first."""
    moves = [
        (each, moved)
        for each in tried
        for moved in each.rows
        if moved.row == row and abs(moved.change) >= LEAST_CHANGE
    ]
    most: dict[str, float] = defaultdict(float)
    for each, moved in moves:
        most[each.key] = max(most[each.key], abs(moved.change))
    first = sorted(most, key=lambda key: -most[key])[:count]
    ordered = sorted(moves, key=lambda entry: -most[entry[0].key])
    return [(each, moved) for each, moved in ordered if each.key in first]
